// The search page lists the places (sections, terms, works) that contain every word of the query, the best one first.

import { t } from "../../src/qkv/widgets/js/words.js";

(() => {
  const LIMIT = 40;
  const AROUND = 90; // letters shown on each side of a match
  const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ";
  const LETTERS = "0123456789aehijklmnoprstuvx";
  const PAIR = /^[\u3400-\u9fff]{3,}$/; // Chinese words without a space between them
  const PAGE = 60; // points for a word in the heading of a place and in its page's title
  const HEADING = 30; // points for a word in the heading alone

  /** @typedef {{ title: string, heading: string, text: string }} Folded in lower case, as `fold` returns it */
  /** @typedef {{ href: string, name: string, text: string, folded: Folded }} Place */

  /** Return a text in lower case. Each letter keeps its position, so that a match has the same position in both texts.
   * @param {string} text */
  const fold = (text) => text.toLowerCase().replaceAll("ᵀ", "t");

  /** The index's form of each character that a reader may type in the other Chinese script: 隨 for 随.
   * @type {Map<string, string>} */
  const variants = new Map(
    [...(window.qkvVariants ?? "").matchAll(/(.)(.)/gu)].map(([, typed, kept]) => [typed, kept]),
  );

  /** Return a query as the index spells it: d_k for dₖ, √d_k for sqrt(d_k), QKᵀ for QK^T and QK⊤.
   * @param {string} query */
  const canonical = (query) =>
    fold([...query].map((sign) => variants.get(sign) ?? sign).join(""))
      .replace(/[₀-₉ₐ-ₜᵢᵣᵤᵥⱼ]/g, (sign) => `_${LETTERS[SUBSCRIPTS.indexOf(sign)] ?? ""}`)
      .replace(/\\?(?:sqrt|√)\s*[({]([^)}]*)[)}]/g, "√$1")
      .replace(/\s*\^\s*\{?\\?(?:top|t)\}?|⊤/g, "t")
      .replace(/[\\{}$"“”]/g, "");

  /** @param {string} word */
  const stem = (word) => (word.length > 4 ? word.replace(/ies$/, "y").replace(/(?:([sxh])es|([^s])s)$/, "$1$2") : word);

  /** Yield the positions of a word in a text: a Latin word has to begin there, symbols and Chinese may stand anywhere.
   * @param {string} text
   * @param {string} word */
  function* found(text, word) {
    const latin = /^[a-z0-9]/.test(word);
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      if (!latin || at === 0 || !/[\p{L}\p{N}_]/u.test(text[at - 1])) yield at;
    }
  }

  /** @type {Place[]} */
  const places = window.qkvIndex.flatMap(({ page, title, places }) =>
    places.map(([anchor, heading, text]) => ({
      href: `${page}.html${anchor && `#${anchor}`}`,
      name: anchor ? `${title} › ${heading}` : title,
      text,
      folded: { title: fold(title), heading: fold(heading), text: fold(text) },
    })),
  );

  /** Return the points of a place for the words of a query, 0 if it lacks one of them.
   * @param {Place} place
   * @param {string[]} words
   * @param {string} whole the query with all its words */
  function score({ folded }, words, whole) {
    let points = folded.heading.split(/[,;()] ?/).includes(whole) ? 200 : 0;
    for (const word of words) {
      const [title, heading, text] = [folded.title, folded.heading, folded.text].map(
        (part) => [...found(part, word)].length,
      );
      if (title + heading + text === 0) return 0;
      points += (heading && HEADING) + (title && heading && PAGE - HEADING) + Math.min(text, 8) + (title && 4);
    }
    return points;
  }

  /** Return the pairs of neighbouring characters of Chinese words. Chinese has no spaces, so a question is one word, which
   * no place contains; the places with most of its pairs answer it.
   * @param {string[]} words */
  const pairs = (words) =>
    words.flatMap((word) => (PAIR.test(word) ? [...word.slice(1)].map((sign, i) => word[i] + sign) : [word]));

  /** Return the points of a place that has most of these words, 0 for other places.
   * @param {Place} place
   * @param {string[]} words */
  function scoreOfMost(place, words) {
    const points = words.map((word) => score(place, [word], word)).filter(Boolean);
    return points.length * 2 > words.length ? points.reduce((sum, each) => sum + each, 0) : 0;
  }

  /** Return a paragraph with the text around the first match, in which every match is marked.
   * @param {Place} place
   * @param {string[]} words */
  function excerpt({ text, folded }, words) {
    const hits = words.flatMap((word) => [...found(folded.text, word)].map((at) => [at, at + word.length]));
    hits.sort(([a], [b]) => a - b);
    const near = Math.max(0, (hits[0]?.[0] ?? 0) - AROUND);
    const ends = (/** @type {number} */ at) => text.slice(at).search(/[\s，。；：？！、]/);
    const from = near && near + ends(near) + 1; // the beginning of a word, or in Chinese of a clause
    const end = ends(from + 2 * AROUND); // the end of one
    const to = end < 0 ? text.length : from + 2 * AROUND + end;
    const line = document.createElement("p");
    let done = from;
    if (from > 0) line.append("…");
    for (const [start, stop] of hits.filter(([start, stop]) => start >= from && stop <= to)) {
      if (start < done) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(start, stop);
      line.append(text.slice(done, start), mark);
      done = stop;
    }
    line.append(text.slice(done, to), to < text.length ? "…" : "");
    return line;
  }

  /** Yield the parts of a title; d_k is set as mathematics, as on the page itself.
   * @param {string} name */
  function* setTitle(name) {
    for (const [i, text] of name.split("d_k").entries()) {
      if (i) {
        const lower = document.createElement("sub");
        lower.textContent = "k";
        const letter = document.createElement("i");
        letter.textContent = "d";
        yield letter;
        yield lower;
      }
      yield text;
    }
  }

  /** @param {Place} place
   * @param {string[]} words */
  function shown(place, words) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = place.href;
    link.append(...setTitle(place.name));
    item.append(link, excerpt(place, words));
    return item;
  }

  /** @param {string} id */
  const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const box = /** @type {HTMLInputElement} */ (element("qkv-query-text"));
  const status = element("search-status");
  const results = element("search-results");

  /** Say in how many places the words are.
   * @param {number} count */
  function foundIn(count) {
    if (count === 0) return t`Not found in the course.`;
    if (count === 1) return t`Found in 1 place.`;
    return count > LIMIT ? t`Found in ${count} places, the best ${LIMIT} below.` : t`Found in ${count} places.`;
  }

  function search() {
    const whole = canonical(box.value).trim();
    const words = [...new Set(whole.split(/\s+/).filter(Boolean).map(stem))];
    const rank = (/** @type {(place: Place) => number} */ points) =>
      places.map((place) => ({ place, points: points(place) })).filter((each) => each.points);
    const exact = words.length ? rank((place) => score(place, words, whole)) : [];
    const some = pairs(words);
    const ranked = exact.length || some.length === words.length ? exact : rank((place) => scoreOfMost(place, some));
    ranked.sort((a, b) => b.points - a.points);
    results.replaceChildren(...ranked.slice(0, LIMIT).map(({ place }) => shown(place, exact.length ? words : some)));
    status.textContent = words.length ? foundIn(ranked.length) : "";
  }

  box.addEventListener("input", search);
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  search();
})();

// The search page lists the places (sections, terms, works) that contain every word of the query, the best one first.

(() => {
  const LIMIT = 40;
  const AROUND = 90; // letters shown on each side of a match
  const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ";
  const LETTERS = "0123456789aehijklmnoprstuvx";
  const PAGE = 60; // points for a word in the heading of a place and in its page's title
  const HEADING = 30; // points for a word in the heading alone

  /** @typedef {{ title: string, heading: string, text: string }} Folded in lower case, as `fold` returns it */
  /** @typedef {{ href: string, name: string, text: string, folded: Folded }} Place */

  /** Return a text in lower case. Each letter keeps its position, so that a match has the same position in both texts.
   * @param {string} text */
  const fold = (text) => text.toLowerCase().replaceAll("ᵀ", "t");

  /** Return a query as the index spells it: d_k for dₖ, √d_k for sqrt(d_k), QKᵀ for QK^T and QK⊤.
   * @param {string} query */
  const canonical = (query) =>
    fold(query)
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

  /** Return a paragraph with the text around the first match, in which every match is marked.
   * @param {Place} place
   * @param {string[]} words */
  function excerpt({ text, folded }, words) {
    const hits = words.flatMap((word) => [...found(folded.text, word)].map((at) => [at, at + word.length]));
    hits.sort(([a], [b]) => a - b);
    const near = Math.max(0, (hits[0]?.[0] ?? 0) - AROUND);
    const from = near && text.indexOf(" ", near) + 1; // the beginning of a word
    const end = text.indexOf(" ", from + 2 * AROUND); // the end of a word
    const to = end < 0 ? text.length : end;
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

  function search() {
    const whole = canonical(box.value).trim();
    const words = [...new Set(whole.split(/\s+/).filter(Boolean).map(stem))];
    const ranked = words.length
      ? places.map((place) => ({ place, points: score(place, words, whole) })).filter(({ points }) => points)
      : [];
    ranked.sort((a, b) => b.points - a.points);
    results.replaceChildren(...ranked.slice(0, LIMIT).map(({ place }) => shown(place, words)));
    const count = ranked.length === 1 ? "1 place" : `${ranked.length} places`;
    const first = ranked.length > LIMIT ? `, the best ${LIMIT} below` : "";
    status.textContent = words.length
      ? ranked.length
        ? `Found in ${count}${first}.`
        : "Not found in the course."
      : "";
  }

  box.addEventListener("input", search);
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  search();
})();

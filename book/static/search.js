// The search page: every word of the query must stand in a place (a section, a term, a work), the best place first.

(() => {
  const LIMIT = 40;
  const AROUND = 90; // letters shown on each side of what was found
  const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ";
  const LETTERS = "0123456789aehijklmnoprstuvx";
  const PAGE = 60; // points for a word of the page's own title
  const HEADING = 30;

  /** Letter for letter, so that what is found in the folded text stands at the same place in the text. */
  const fold = (text) => text.toLowerCase().replaceAll("ᵀ", "t");

  /** What the reader typed, in the letters of the index: dₖ is d_k, sqrt(d_k) is √d_k, QK^T and QK⊤ are QKᵀ. */
  const canonical = (query) =>
    fold(query)
      .replace(/[₀-₉ₐ-ₜᵢᵣᵤᵥⱼ]/g, (sign) => `_${LETTERS[SUBSCRIPTS.indexOf(sign)] ?? ""}`)
      .replace(/\\?(?:sqrt|√)\s*[({]([^)}]*)[)}]/g, "√$1")
      .replace(/\s*\^\s*\{?\\?(?:top|t)\}?|⊤/g, "t")
      .replace(/[\\{}$"“”]/g, "");

  const stem = (word) => (word.length > 4 ? word.replace(/ies$/, "y").replace(/(?:([sxh])es|([^s])s)$/, "$1$2") : word);

  /** Where a word stands: Latin words from their beginning, symbols and Chinese anywhere. */
  function* found(text, word) {
    const latin = /^[a-z0-9]/.test(word);
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      if (!latin || at === 0 || !/[\p{L}\p{N}_]/u.test(text[at - 1])) yield at;
    }
  }

  const places = window.qkvIndex.flatMap(({ page, title, places }) =>
    places.map(([anchor, heading, text]) => ({
      href: `${page}.html${anchor && `#${anchor}`}`,
      name: anchor ? `${title} › ${heading}` : title,
      text,
      folded: { title: fold(title), heading: fold(heading), text: fold(text) },
    })),
  );

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

  /** The text around the first word that was found, with every found word marked. */
  function excerpt({ text, folded }, words) {
    const hits = words.flatMap((word) => [...found(folded.text, word)].map((at) => [at, at + word.length]));
    hits.sort(([a], [b]) => a - b);
    const near = Math.max(0, (hits[0]?.[0] ?? 0) - AROUND);
    const from = near && text.indexOf(" ", near) + 1; // at a word
    const end = text.indexOf(" ", from + 2 * AROUND); // and up to the end of one
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

  /** A title whose d_k is mathematics, as on its page. */
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

  function shown(place, words) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = place.href;
    link.append(...setTitle(place.name));
    item.append(link, excerpt(place, words));
    return item;
  }

  const box = document.getElementById("qkv-query-text");
  const status = document.getElementById("search-status");
  const results = document.getElementById("search-results");

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

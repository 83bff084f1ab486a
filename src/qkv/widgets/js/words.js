/* Texts in the reader's language: t`scores ${way}: mean ${x}` is looked up as "scores {0}: mean {1}". A text without a
 * translation stays as it is written. On the site, the page has the translations of its own texts; in a notebook, each
 * widget has those of its texts, and says so before it draws (`speak`). */

/** @typedef {Record<string, string>} Words translations by the English text */

/** @type {Words | undefined} */
let words;
/** @type {Words | undefined} */
let ofPage;

/** Choose the translations of the texts that follow.
 * @param {Words | undefined} next nothing, or none: those of the page */
export const speak = (next) => {
  words = next && Object.keys(next).length ? next : undefined;
};

/** Return the translations that the page has; none on an English page, and in node.
 * @returns {Words} */
function wordsOfPage() {
  const place = globalThis.document?.getElementById("qkv-words");
  return place ? JSON.parse(place.textContent ?? "") : {};
}

/** Return a text in the reader's language: a string, or a list for lit if one of the values is a template.
 * @param {TemplateStringsArray} strings
 * @param {...unknown} values
 * @returns {any} */
export function t(strings, ...values) {
  ofPage ??= wordsOfPage();
  const text = strings.reduce((all, part, i) => `${all}{${i - 1}}${part}`);
  const parts = ((words ?? ofPage)[text] ?? text).split(/\{(\d)\}/);
  const pieces = parts.map((piece, i) => (i % 2 ? values[Number(piece)] : piece));
  const isPlain = values.every((value) => !value || typeof value !== "object");
  return isPlain ? pieces.join("") : pieces.filter((piece) => piece !== "");
}

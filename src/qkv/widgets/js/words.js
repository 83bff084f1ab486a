/* Texts in the reader's language: t`scores ${way}: mean ${x}` is looked up as "scores {0}: mean {1}". A text without a
 * translation stays as it is written. On a translated site, a script of the language has set `qkvWords` before; in a
 * notebook, each widget has the translations of its texts, and says so before it draws (`speak`). */

/** @typedef {Record<string, string>} Words translations by the English text */

/** @type {Words | undefined} */
let words;

/** Choose the translations of the texts that follow.
 * @param {Words | undefined} next nothing, or none: those of the site */
export const speak = (next) => {
  words = next && Object.keys(next).length ? next : undefined;
};

/** Return a text in the reader's language: a string, or a list for lit if one of the values is a template.
 * @param {TemplateStringsArray} strings
 * @param {...unknown} values
 * @returns {any} */
export function t(strings, ...values) {
  const text = strings.reduce((all, part, i) => `${all}{${i - 1}}${part}`);
  const parts = ((words ?? globalThis.qkvWords)?.[text] ?? text).split(/\{(\d)\}/);
  const pieces = parts.map((piece, i) => (i % 2 ? values[Number(piece)] : piece));
  const isPlain = values.every((value) => !value || typeof value !== "object");
  return isPlain ? pieces.join("") : pieces.filter((piece) => piece !== "");
}

/* A sentence while it is typed: its words, the words that may follow, and known words that fit for an unknown one. */

/** @import { Grammar } from "./grammar.js" */
/** @typedef {{ words: string[], unfinished?: undefined, unknown?: undefined, nearest?: undefined }} Known */
/** @typedef {{ words?: undefined, unfinished: string, unknown?: undefined, nearest?: undefined }} Unfinished */
/** @typedef {{ words?: undefined, unfinished?: undefined, unknown: string[], nearest: string[] }} Unknown */

const OFFERED = 18; // words that are offered: the nouns, and one more
const INSTEAD = 6; // words that are offered for an unknown one
const LONGEST = 300; // characters that are read: the model has a limit of words, and the search for unknown ones has none
const LATIN = /^[\0-\x7f]*$/;

/** Read a text. Return { words } if all are known, or { unfinished } if only the last one is not and may still
 * become a known word. Else return { unknown, nearest }: the unknown words, and the known ones that fit best in the
 * place of the first of them.
 * @param {Grammar} grammar
 * @param {string} written
 * @returns {Known | Unfinished | Unknown} */
export function readText(grammar, written) {
  const text = written.slice(0, LONGEST);
  const { words } = grammar.split(text);
  if (words) return { words };
  const unknown = text.split(/\s+/).flatMap((piece) => unknownIn(grammar, piece));
  const last = /** @type {string} */ (unknown.at(-1)).toLowerCase();
  const begun = grammar.words.some((word) => word.toLowerCase().startsWith(last));
  const unfinished = text.toLowerCase().endsWith(last) && begun ? unknown.pop() : undefined;
  if (!unknown.length) return { unfinished: /** @type {string} */ (unfinished) };
  return { unknown: [...new Set(unknown)], nearest: nearest(grammar, unknown[0], knownStart(grammar, text)) };
}

/** Return the unknown words of a piece of text without spaces, which can contain several Chinese words.
 * @param {Grammar} grammar
 * @param {string} piece
 * @returns {string[]} */
function unknownIn(grammar, piece) {
  const { unknown } = grammar.split(piece);
  if (!unknown) return [];
  const end = piece.toLowerCase().indexOf(unknown.toLowerCase()) + unknown.length;
  return [unknown, ...unknownIn(grammar, piece.slice(end))];
}

/** Return a text in which another word replaces an unknown one, but not a part of a longer word.
 * @param {string} text
 * @param {string} unknown
 * @param {string} word */
export function mended(text, unknown, word) {
  const literal = unknown.replace(/[^\p{L}\p{N}]/gu, "\\$&");
  const whole = LATIN.test(unknown) ? `(?<![a-z])${literal}(?![a-z])` : literal;
  return text.replace(new RegExp(whole, "iu"), () => word);
}

/** Return { start, words }: the words that may come next, or complete the last letters, and the text before them.
 * @param {Grammar} grammar
 * @param {string} written */
export function completions(grammar, written) {
  const text = written.slice(0, LONGEST);
  for (let end = text.length; end >= 0; end--) {
    const { words } = grammar.split(text.slice(0, end));
    const rest = text.slice(end).trimStart().toLowerCase();
    if (!words || cutsAWord(text, end)) continue;
    const found = grammar.next(words).filter((word) => word.toLowerCase().startsWith(rest) && word !== rest);
    if (found.length) return { start: text.slice(0, end), words: found.slice(0, OFFERED) };
  }
  return { start: text, words: [] };
}

/** Check whether a text has Latin letters on both sides of an index.
 * @param {string} text
 * @param {number} end */
const cutsAWord = (text, end) => /[a-z]$/i.test(text.slice(0, end)) && /^[a-z]/i.test(text.slice(end));

/** Return the words before the first unknown word of a text.
 * @param {Grammar} grammar
 * @param {string} text */
function knownStart(grammar, text) {
  let end = text.length;
  while (!grammar.split(text.slice(0, end)).words || cutsAWord(text, end)) end -= 1;
  return /** @type {string[]} */ (grammar.split(text.slice(0, end)).words);
}

/** Return a text with one more word. There are spaces between Latin words, and none between Chinese ones.
 * @param {string} start
 * @param {string} word */
export function withWord(start, word) {
  if (!LATIN.test(word)) return `${start.trimEnd()}${word}`;
  return `${start.trimEnd()} ${word} `.trimStart();
}

/** Return known words of the same script for an unknown one: those that may follow the words before it, or else all;
 * first those that are spelled most like it.
 * @param {Grammar} grammar
 * @param {string} unknown
 * @param {string[]} before */
export function nearest(grammar, unknown, before) {
  const wanted = unknown.toLowerCase();
  const unlike = (/** @type {string} */ word) =>
    editDistance(wanted, word.toLowerCase()) / Math.max(wanted.length, word.length);
  const sameScript = (/** @type {string} */ word) => LATIN.test(word) === LATIN.test(unknown);
  const fitting = grammar.next(before).filter(sameScript);
  const all = fitting.length ? fitting : grammar.words.filter(sameScript);
  return [...new Set(all)].sort((a, b) => unlike(a) - unlike(b)).slice(0, INSTEAD);
}

/** Return the edit distance: how many letters have to be inserted, removed or replaced (Levenshtein, 1966).
 * @param {string} a
 * @param {string} b */
export function editDistance(a, b) {
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      row[j] = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    above = row;
  }
  return above[b.length];
}

/* A sentence while it is typed: its words, the words that may follow, and known words spelled like an unknown one. */

const OFFERED = 18; // words that are offered: the nouns, and one more
const LATIN = /^[\0-\x7f]*$/;

/** Read a text. Return { words } if all are known, or { unfinished } if only the last one is not and may still
 * become a known word. Else return { unknown, nearest }: the unknown words, and the known ones spelled most like
 * the first of them. */
export function readText(grammar, text) {
  const { words } = grammar.split(text);
  if (words) return { words };
  const unknown = text.split(/\s+/).flatMap((piece) => unknownIn(grammar, piece));
  const last = unknown.at(-1).toLowerCase();
  const begun = grammar.words.some((word) => word.toLowerCase().startsWith(last));
  const unfinished = text.toLowerCase().endsWith(last) && begun ? unknown.pop() : undefined;
  return unknown.length ? { unknown: [...new Set(unknown)], nearest: nearest(grammar, unknown[0]) } : { unfinished };
}

/** Return the unknown words of a piece of text without spaces, which can contain several Chinese words. */
function unknownIn(grammar, piece) {
  const { unknown } = grammar.split(piece);
  if (!unknown) return [];
  const end = piece.toLowerCase().indexOf(unknown.toLowerCase()) + unknown.length;
  return [unknown, ...unknownIn(grammar, piece.slice(end))];
}

/** Return a text in which another word replaces an unknown one, but not a part of a longer word. */
export function mended(text, unknown, word) {
  const literal = unknown.replace(/[^\p{L}\p{N}]/gu, "\\$&");
  const whole = LATIN.test(unknown) ? `(?<![a-z])${literal}(?![a-z])` : literal;
  return text.replace(new RegExp(whole, "iu"), () => word);
}

/** Return { start, words }: the words that may come next, or complete the last letters, and the text before them. */
export function completions(grammar, text) {
  for (let end = text.length; end >= 0; end--) {
    const { words } = grammar.split(text.slice(0, end));
    const rest = text.slice(end).trimStart().toLowerCase();
    const cutsAWord = rest && /[a-z]/i.test(text[end - 1] ?? "") && /[a-z]/.test(rest[0]);
    if (!words || cutsAWord) continue;
    const found = grammar.next(words).filter((word) => word.toLowerCase().startsWith(rest) && word !== rest);
    if (found.length) return { start: text.slice(0, end), words: found.slice(0, OFFERED) };
  }
  return { start: text, words: [] };
}

/** Return a text with one more word. There are spaces between Latin words, and none between Chinese ones. */
export function withWord(start, word) {
  if (!LATIN.test(word)) return `${start.trimEnd()}${word}`;
  return `${start.trimEnd()} ${word} `.trimStart();
}

/** Return the three known words of the same script that are spelled most like an unknown one. */
export function nearest(grammar, unknown) {
  const wanted = unknown.toLowerCase();
  const unlike = (word) => editDistance(wanted, word.toLowerCase()) / Math.max(wanted.length, word.length);
  const sameScript = grammar.words.filter((word) => LATIN.test(word) === LATIN.test(unknown));
  return [...new Set(sameScript)].sort((a, b) => unlike(a) - unlike(b)).slice(0, 3);
}

/** Return the edit distance: how many letters have to be inserted, removed or replaced (Levenshtein, 1966). */
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

/* A sentence while it is typed: the words so far, the words that may follow, and the known words spelled most like an unknown one. */

const OFFERED = 18; // the nouns, and one word more
const LATIN = /^[\0-\x7f]*$/;

/** { words } of a text whose words are all known; else { unknown, nearest }: the words that are not, and the known ones spelled
 * most like the first; or { unfinished } while its last word is being typed. */
export function readText(grammar, text) {
  const { words } = grammar.split(text);
  if (words) return { words };
  const unknown = text.split(/\s+/).flatMap((piece) => unknownIn(grammar, piece));
  const last = unknown.at(-1).toLowerCase();
  const begun = grammar.words.some((word) => word.toLowerCase().startsWith(last));
  const unfinished = text.toLowerCase().endsWith(last) && begun ? unknown.pop() : undefined;
  return unknown.length ? { unknown: [...new Set(unknown)], nearest: nearest(grammar, unknown[0]) } : { unfinished };
}

/** The unknown words of a piece of text without spaces: Chinese words stand in one. */
function unknownIn(grammar, piece) {
  const { unknown } = grammar.split(piece);
  if (!unknown) return [];
  const end = piece.toLowerCase().indexOf(unknown.toLowerCase()) + unknown.length;
  return [unknown, ...unknownIn(grammar, piece.slice(end))];
}

/** A text with another word in the place of an unknown one; no part of a longer word is replaced. */
export function mended(text, unknown, word) {
  const literal = unknown.replace(/[^\p{L}\p{N}]/gu, "\\$&");
  const whole = LATIN.test(unknown) ? `(?<![a-z])${literal}(?![a-z])` : literal;
  return text.replace(new RegExp(whole, "iu"), () => word);
}

/** The words that may stand next, or end what the last letters begin: { start, words }, with the text before them. */
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

/** A text with one more word: Latin words are set apart, Chinese ones follow each other. */
export function withWord(start, word) {
  if (!LATIN.test(word)) return `${start.trimEnd()}${word}`;
  return `${start.trimEnd()} ${word} `.trimStart();
}

/** The three known words of the same script that look most like this one. */
export function nearest(grammar, unknown) {
  const wanted = unknown.toLowerCase();
  const unlike = (word) => editDistance(wanted, word.toLowerCase()) / Math.max(wanted.length, word.length);
  const sameScript = grammar.words.filter((word) => LATIN.test(word) === LATIN.test(unknown));
  return [...new Set(sameScript)].sort((a, b) => unlike(a) - unlike(b)).slice(0, 3);
}

/** How many letters have to be put in, taken out or changed (Levenshtein, 1966). */
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

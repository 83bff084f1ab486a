/* A sentence while it is typed: the words so far, the words that may follow, and the known words nearest to an unknown one. */

const OFFERED = 18; // the nouns, and one word more
const LATIN = /^[\0-\x7f]*$/;

/** { words } of a text whose words are all known; else { unknown, nearest }, or { unfinished } while its last word is being typed. */
export function readText(grammar, text) {
  const { words, unknown } = grammar.split(text);
  if (words) return { words };
  const isLast = text.toLowerCase().endsWith(unknown.toLowerCase());
  const begun = grammar.words.some((word) => word.toLowerCase().startsWith(unknown.toLowerCase()));
  return isLast && begun ? { unfinished: unknown } : { unknown, nearest: nearest(grammar, unknown) };
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

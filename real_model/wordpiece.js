/* The tokenizer of BERT: a text is cut at spaces and punctuation, and each word into the longest word pieces of the
 * vocabulary, from the left [Wu et al., 2016; Devlin et al., 2019]. A piece that does not begin a word begins with ##. */

const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu;
const PUNCTUATION = /([!-/:-@[-`{-~]|\p{P})/u;
const LONGEST = 100; // characters of a word; a longer one is unknown

/** Return a function that cuts a text into ids, [CLS] and [SEP] included.
 * @param {string[]} words the vocabulary, in the order of the ids
 * @returns {(text: string) => number[]} */
export function tokenizer(words) {
  const ids = new Map(words.map((word, id) => [word, id]));
  const id = (/** @type {string} */ word) => /** @type {number} */ (ids.get(word));
  /** @param {string} word */
  const pieces = (word) => {
    const letters = [...word];
    if (letters.length > LONGEST) return [id("[UNK]")];
    const found = [];
    for (let start = 0; start < letters.length; ) {
      let end = letters.length;
      const piece = () => (start ? "##" : "") + letters.slice(start, end).join("");
      while (end > start && !ids.has(piece())) end--;
      if (end === start) return [id("[UNK]")];
      found.push(id(piece()));
      start = end;
    }
    return found;
  };
  return (text) => [
    id("[CLS]"),
    ...text.split(SPECIAL).flatMap((part, i) => (i % 2 ? [id(part)] : wordsOf(part).flatMap(pieces))),
    id("[SEP]"),
  ];
}

/** Return the words and punctuation marks of a text: in small letters, without accents.
 * @param {string} text */
function wordsOf(text) {
  const clean = text
    .replace(/[\t\n\r]/g, " ")
    .replace(/[\0\uFFFD]|\p{C}/gu, "")
    .replace(CHINESE, " $& ")
    .normalize("NFD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase();
  return clean.split(/\s+/u).flatMap((word) => word.split(PUNCTUATION).filter(Boolean));
}

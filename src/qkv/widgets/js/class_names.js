/* The classes of words, as the tagger names them, in the reader's language. */

import { t } from "./words.js";

/** @param {string} kind */
export function className(kind) {
  const names = {
    determiner: t`determiner`,
    adjective: t`adjective`,
    noun: t`noun`,
    verb: t`verb`,
    conjunction: t`conjunction`,
    pronoun: t`pronoun`,
  };
  return names[/** @type {keyof typeof names} */ (kind)] ?? kind;
}

/* Rules of a reader's own: lists of the adjectives that are turned round, "hungry" after every verb and "chased hungry"
 * after one (qkv.models.grammar.turned). */

import data from "../../models/grammar.json";

/** @import { Adjectives, Language } from "./grammar.js" */

/** Return each verb's adjectives.
 * @param {Language} language
 * @returns {Record<string, Adjectives>} */
export const adjectivesOf = (language) => data[language].acts;

/** Check whether a rule turns an adjective round after a verb.
 * @param {readonly string[]} rule
 * @param {string | undefined} act
 * @param {string} adjective */
export const isTurned = (rule, act, adjective) => rule.includes(adjective) || rule.includes(`${act} ${adjective}`);

/** Return the rule in which an adjective is turned the other way, after one verb or (null) after all of its verbs.
 * @param {readonly string[]} rule
 * @param {Language} language
 * @param {string | null} act
 * @param {string} adjective */
export function flipped(rule, language, act, adjective) {
  const acts = Object.keys(adjectivesOf(language)).filter((verb) => {
    const { actor, other } = adjectivesOf(language)[verb];
    return [...actor, ...other].includes(adjective);
  });
  const turned = acts.filter((verb) => isTurned(rule, verb, adjective));
  const others = rule.filter((name) => name !== adjective && !name.endsWith(` ${adjective}`));
  const now =
    act === null ? (turned.length ? [] : acts) : acts.filter((verb) => (verb === act) !== turned.includes(verb));
  const isWhole = now.length === acts.length;
  return [...others, ...(isWhole ? [adjective] : now.map((verb) => `${verb} ${adjective}`))];
}

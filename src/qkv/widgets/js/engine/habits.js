/* What a model does that has not learned its task: a simpler rule that gives most of its answers. */

import { largestIn } from "./tasks.js";

/** @import { Answer, RepeaterResults } from "./tasks.js" */
/** @typedef {{ side: number, right: boolean, adjective: string, verb: string }} Case an answer: which noun of the sentence it
 *   is (0 or 1, −1 for none), and the words that may have decided it */

const MOST = 0.9; // of the answers, which a rule has to give

/** @typedef {"right" | "first" | "second" | "adjective" | "verb" | "either" | "others"} Habit */

/** Return the simplest rule that gives almost all answers of a tagger, and its share.
 *
 * right: the right noun; first, second: always that noun of the sentence; adjective, verb: this word alone decides;
 * either: one of the two nouns, by no rule of these (the share is that of the first noun); others: often nouns that the
 * sentence does not have (their share).
 * @param {Answer[]} answers
 * @returns {{ kind: Habit, share: number }} */
export function habitOf(answers) {
  const cases = answers.map(({ sentence: { words, nounsAt, noun, act }, said }) => ({
    side: nounsAt.findIndex((i) => words[i] === said),
    right: said === words[/** @type {number} */ (noun)],
    adjective: words[words.length - 1],
    verb: act,
  }));
  const share = (/** @type {(one: Case) => boolean} */ of) => cases.filter(of).length / cases.length;
  const [first, second] = [0, 1].map((side) => share((one) => one.side === side));
  /** @type {[Habit, number][]} */
  const rules = [
    ["right", share(({ right }) => right)],
    ["first", first],
    ["second", second],
    ["adjective", decidedBy(cases, ({ adjective }) => adjective)],
    ["verb", decidedBy(cases, ({ verb }) => verb)],
  ];
  const rule = rules.find(([, found]) => found >= MOST);
  if (rule) return { kind: rule[0], share: rule[1] };
  return first + second >= MOST ? { kind: "either", share: first } : { kind: "others", share: 1 - first - second };
}

/** Return the share of answers that are the most frequent side for their word.
 * @param {Case[]} cases
 * @param {(one: Case) => string} wordOf */
function decidedBy(cases, wordOf) {
  /** @type {Map<string, number[]>} */
  const counts = new Map();
  for (const one of cases) {
    const word = wordOf(one);
    if (!counts.has(word)) counts.set(word, [0, 0]);
    if (one.side >= 0) /** @type {number[]} */ (counts.get(word))[one.side] += 1;
  }
  return [...counts.values()].reduce((sum, sides) => sum + Math.max(...sides), 0) / cases.length;
}

/** Return what a repeater does when symbols come again: the share of its probability on symbols that it has seen.
 *
 * right: it predicts the next symbol (surprise below 1 nat); seen: it predicts symbols that were there before, but not
 * the one that comes next; leak: it has only learned to read the next symbol; guess: it guesses.
 * @param {RepeaterResults} results
 * @param {number} repeated the mean surprise at symbols that come again
 * @param {number} lossInTraining */
export function habitOfRepeater({ batch, next }, repeated, lossInTraining) {
  const { ids, n, periods } = batch;
  let [sum, count] = [0, 0];
  batch.asked.forEach((row, i) => {
    const start = row - (row % n);
    if ((row % n) + 1 < periods[start / n]) return;
    const chances = softmax(next.value.row(i));
    sum += [...new Set(ids.slice(start, row + 1))].reduce((total, id) => total + chances[id], 0);
    count += 1;
  });
  const seen = sum / count;
  if (repeated < 1) return { kind: "right", share: seen };
  if (lossInTraining < 0.5) return { kind: "leak", share: seen };
  return { kind: seen > 0.75 ? "seen" : "guess", share: seen };
}

/** Return the softmax of scores.
 * @param {ArrayLike<number>} logits */
export function softmax(logits) {
  const top = logits[largestIn(logits)];
  const powers = Array.from(logits, (x) => Math.exp(x - top));
  const total = powers.reduce((sum, x) => sum + x, 0);
  return powers.map((x) => x / total);
}

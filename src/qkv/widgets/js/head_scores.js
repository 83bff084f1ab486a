/* The scores of heads, as src/qkv/looking/scores.py defines them; the tests compare the two. */

import { SCORES } from "./atlas.js";

/** Return a list over all heads for each of SCORES.
 * @param {ArrayLike<number>} weights (heads, n, n)
 * @param {string[]} tokens n tokens
 * @param {Set<string>} separators
 * @returns {number[][]} */
export function headScores(weights, tokens, separators) {
  const n = tokens.length;
  const heads = weights.length / (n * n);
  const after = tokens.map((token, i) => tokens.lastIndexOf(token, i - 1) + 1).map((at, i) => (i === 0 ? 0 : at));
  const among = [...tokens.keys()].filter((i) => separators.has(tokens[i]));
  const others = [...tokens.keys()].filter((i) => !separators.has(tokens[i]));
  const all = [...tokens.keys()];
  /** @type {Record<string, (at: (i: number, j: number) => number) => number>} */
  const score = {
    previous: (at) => mean(all.slice(1), (i) => at(i, i - 1)),
    next: (at) => mean(all.slice(0, -1), (i) => at(i, i + 1)),
    same: (at) => mean(all, (i) => at(i, i)),
    first: (at) => mean(all.slice(1), (i) => at(i, 0)),
    separator: (at) => mean(others, (i) => among.reduce((sum, j) => sum + at(i, j), 0)),
    induction: (at) =>
      mean(
        all.filter((i) => after[i] > 0),
        (i) => at(i, after[i]),
      ),
    uniform: (at) =>
      mean(
        all.map((i) => all.map((j) => at(i, j)).filter((weight) => weight > 0)).filter((row) => row.length > 1),
        evenness,
      ),
  };
  return Object.keys(SCORES).map((name) =>
    Array.from({ length: heads }, (_, head) => score[name]((i, j) => weights[(head * n + i) * n + j])),
  );
}

/** Return the entropy of weights after they are divided by their sum, as a share of the largest possible.
 * @param {number[]} row */
function evenness(row) {
  const total = row.reduce((sum, weight) => sum + weight, 0);
  const entropy = row.reduce((sum, weight) => sum - (weight / total) * Math.log(weight / total), 0);
  return entropy / Math.log(row.length);
}

/** @template Item
 * @param {Item[]} items
 * @param {(item: Item) => number} of */
const mean = (items, of) => (items.length ? items.reduce((sum, item) => sum + of(item), 0) / items.length : 0);

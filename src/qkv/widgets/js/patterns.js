/* Patterns of attention: their masks, what a token knows of after several layers, and the errors of the output. */

import { normals, softmax } from "./maths.js";
import { remember } from "./remember.js";

const GLOBAL = 2; // tokens that see all tokens and are seen by all
const STEP = 3; // a dilated window has every third token
const WIDTH = 16; // features of a query and of a key

/** @typedef {"random" | "local" | "needle"} Kind a kind of input */
/** @typedef {boolean[][]} Mask a row for each query, true = may attend */

/** Functions that check whether query i may see key j in a pattern, before a causal mask.
 * @type {Record<string, (i: number, j: number, window: number) => boolean>} */
const PATTERNS = {
  full: () => true,
  window: (i, j, window) => Math.abs(i - j) < window,
  "window and global": (i, j, window) => Math.abs(i - j) < window || Math.min(i, j) < GLOBAL,
  dilated: (i, j, window) => (i - j) % STEP === 0 && Math.abs(i - j) < STEP * window,
  strided: (i, j, window) => Math.abs(i - j) < window || (i - j) % window === 0,
};

/** Return the mask of a pattern: a row for each query, true = may attend.
 * @param {string} pattern
 * @param {{ n: number, window: number, causal: boolean }} shape
 * @returns {boolean[][]} */
export const patternMask = (pattern, { n, window, causal }) =>
  Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (!causal || j <= i) && PATTERNS[pattern](i, j, window)),
  );

/** Return which tokens each token knows of after some layers: each layer passes on what earlier layers have seen.
 * @param {boolean[][]} mask
 * @param {number} layers
 * @returns {boolean[][]} */
export function seenThrough(mask, layers) {
  let seen = mask;
  for (let layer = 1; layer < layers; layer++) {
    const before = seen;
    seen = mask.map((row) => row.map((_, j) => row.some((may, through) => may && before[through][j])));
  }
  return seen;
}

/** Return the index of the key that the last query asks for in the inputs with a needle.
 * @param {number} n */
export const needleOf = (n) => Math.floor(n / 8);

/** Return queries, keys and values of one kind of input: random, local (neighbours matter), or needle (the last
 * query asks for one key).
 * @param {Kind} kind
 * @param {number} n
 * @param {number} seed */
function inputs(kind, n, seed) {
  const draws = normals(4 * n * WIDTH, seed);
  const rows = (/** @type {number} */ part) =>
    Array.from({ length: n }, (_, i) => [...draws.subarray((part * n + i) * WIDTH, (part * n + i + 1) * WIDTH)]);
  let [q, k, v] = [rows(0), rows(1), rows(2)];
  if (kind === "local") {
    const speeds = rows(3)[0].map((speed) => speed / 2);
    const phases = rows(3)[1].map((phase) => 2 * Math.PI * phase);
    k = k.map((row, i) => row.map((_, f) => Math.SQRT2 * Math.cos(i * speeds[f] + phases[f])));
    q = k.map((row) => row.map((x) => 2 * x));
  }
  if (kind === "needle") q[n - 1] = k[needleOf(n)].map((x) => 4 * x);
  return { q, k, v };
}

/** Return the scores and the values of one kind of input, which do not depend on the mask.
 * @type {(kind: Kind, n: number, seed: number) => { scores: number[][], v: number[][] }} */
const scored = remember((kind, n, seed) => {
  const { q, k, v } = inputs(kind, n, seed);
  return { scores: q.map((query) => k.map((key) => dot(query, key) / Math.sqrt(WIDTH))), v };
}, 3);

/** Return the outputs that count: all of them, or for the needle only the last token's.
 * @type {(kind: Kind, mask: Mask, seed: number) => number[][]} */
const outputs = (kind, mask, seed) => {
  const { scores, v } = scored(kind, mask.length, seed);
  const queries = [...mask.keys()].slice(kind === "needle" ? -1 : 0);
  return queries.map((i) => attended(scores[i], mask[i], v));
};

/** Return the output of one query. Hidden keys are skipped: multiplying zeros would make sliders slow.
 * @param {number[]} scores
 * @param {boolean[]} row
 * @param {number[][]} v
 * @returns {number[]} */
function attended(scores, row, v) {
  const seen = row.flatMap((may, j) => (may ? [j] : []));
  const weights = softmax(seen.map((j) => scores[j]));
  const out = Array(WIDTH).fill(0);
  seen.forEach((j, i) => {
    for (let f = 0; f < WIDTH; f++) out[f] += weights[i] * v[j][f];
  });
  return out;
}

const fullOutputs = remember(outputs, 3);

const dot = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a.reduce((total, x, i) => total + x * b[i], 0);
const norm = (/** @type {number[][]} */ rows) => Math.sqrt(rows.reduce((total, row) => total + dot(row, row), 0));

/** Return the error |out − full| / |full| of a mask on each kind of input; for the needle, of the last token only. Full
 * attention sees what `all` allows.
 * @param {Mask} mask
 * @param {Mask} all
 * @param {number} seed
 * @returns {{ random: number, local: number, needle: number }} */
export function patternErrors(mask, all, seed) {
  const of = (/** @type {Kind} */ kind) => {
    const full = fullOutputs(kind, all, seed);
    return norm(outputs(kind, mask, seed).map((row, i) => row.map((x, f) => x - full[i][f]))) / norm(full);
  };
  return { random: of("random"), local: of("local"), needle: of("needle") };
}

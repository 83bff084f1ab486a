/* Patterns of attention: who may see whom, how far that reaches through layers, and how wrong the output becomes. */

import { normals, softmax } from "./maths.js";
import { remember } from "./remember.js";

const GLOBAL = 2; // tokens that see all and are seen by all
const STEP = 3; // of a dilated window
const WIDTH = 16; // features of a query and of a key

/** Whether query i may see key j in a pattern, before the future is hidden. */
const PATTERNS = {
  full: () => true,
  window: (i, j, window) => Math.abs(i - j) < window,
  "window and global": (i, j, window) => Math.abs(i - j) < window || Math.min(i, j) < GLOBAL,
  dilated: (i, j, window) => (i - j) % STEP === 0 && Math.abs(i - j) < STEP * window,
  strided: (i, j, window) => Math.abs(i - j) < window || (i - j) % window === 0,
};

/** The mask of a pattern: a row for each query, true = may attend.
 * @param {keyof typeof PATTERNS} pattern
 * @param {{ n: number, window: number, causal: boolean }} shape
 * @returns {boolean[][]} */
export const patternMask = (pattern, { n, window, causal }) =>
  Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (!causal || j <= i) && PATTERNS[pattern](i, j, window)),
  );

/** Who knows of whom after so many layers: through tokens that themselves have looked.
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

/** Which key the last query asks for on the inputs with a needle.
 * @param {number} n */
export const needleOf = (n) => Math.floor(n / 8);

/** Queries, keys and values of one kind: random, local (neighbours matter) or needle (the last query asks for one key). */
function inputs(kind, n, seed) {
  const draws = normals(4 * n * WIDTH, seed);
  const rows = (part) =>
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

/** What no mask changes: the scores and the values of one kind of input. */
const scored = remember((kind, n, seed) => {
  const { q, k, v } = inputs(kind, n, seed);
  return { scores: q.map((query) => k.map((key) => dot(query, key) / Math.sqrt(WIDTH))), v };
}, 3);

/** The outputs that count: all of them, of the needle the last token's alone. */
function outputs(kind, mask, seed) {
  const { scores, v } = scored(kind, mask.length, seed);
  const queries = [...mask.keys()].slice(kind === "needle" ? -1 : 0);
  return queries.map((i) => attended(scores[i], mask[i], v));
}

/** One output. What is hidden is left out at once: with most keys hidden, a step of a slider has no time for their zeros. */
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

const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);
const norm = (rows) => Math.sqrt(rows.reduce((total, row) => total + dot(row, row), 0));

/** |out − full| / |full| of a mask on each kind of input; of the needle, the last token counts alone. Full attention sees
 * what `all` allows.
 * @param {boolean[][]} mask
 * @param {boolean[][]} all
 * @param {number} seed
 * @returns {{ random: number, local: number, needle: number }} */
export function patternErrors(mask, all, seed) {
  const of = (kind) => {
    const full = fullOutputs(kind, all, seed);
    return norm(outputs(kind, mask, seed).map((row, i) => row.map((x, f) => x - full[i][f]))) / norm(full);
  };
  return { random: of("random"), local: of("local"), needle: of("needle") };
}

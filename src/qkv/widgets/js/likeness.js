/* Attention without learned weights: tokens look at what is like them. What a token is, and who is near, is all that differs. */

import { bandEnergies, dot, frameSignal, maskedWeights, mean } from "./maths.js";

/** @typedef {number[][]} Rows a token a row */
/** @typedef {boolean[][]} Mask a query a row, true = may see */

/** Each row with mean 0 and variance 1 over its features (layer norm with gain 1 and bias 0).
 * @param {Rows} rows */
export const normed = (rows) =>
  rows.map((row) => {
    const centre = mean(row);
    const spread = Math.sqrt(mean(row.map((x) => (x - centre) ** 2)) + 1e-5);
    return row.map((x) => (x - centre) / spread);
  });

/** The weights of token i, softmax(q kᵀ / √d / T), where q and k are the normed tokens; 0 for what the mask hides.
 * @param {Rows} rows the normed tokens
 * @param {number} i
 * @param {boolean[]} may */
export function likeness(rows, i, may, temperature = 1) {
  const divisor = Math.sqrt(rows[0].length) * temperature;
  return maskedWeights(
    rows.map((key) => dot(rows[i], key) / divisor),
    may,
  );
}

/* ---- who is near */

/** Each token sees all tokens.
 * @param {number} n
 * @returns {Mask} */
export const everyone = (n) => Array.from({ length: n }, () => Array(n).fill(true));

/** Each patch of a square sees itself and the patches that touch it.
 * @param {number} across
 * @returns {Mask} */
export const touching = (across) => {
  const places = Array.from({ length: across ** 2 }, (_, i) => [Math.floor(i / across), i % across]);
  return places.map(([y, x]) => places.map((other) => Math.max(Math.abs(y - other[0]), Math.abs(x - other[1])) <= 1));
};

/** Each frame sees those at most `reach` frames before or after it.
 * @param {number} n
 * @param {number} reach
 * @returns {Mask} */
export const inReach = (n, reach) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Math.abs(i - j) <= reach));

/** Each node sees itself and its neighbours.
 * @param {number[][]} edges
 * @param {number} n
 * @returns {Mask} */
export function bound(edges, n) {
  const mask = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => i === j));
  for (const [a, b] of edges) {
    mask[a][b] = true;
    mask[b][a] = true;
  }
  return mask;
}

/* ---- a sound */

export const RATE = 8000; // samples a second
const NOTE = 480; // samples
const NOTES = [700, 1500, 700, 2700, 1500, 700]; // Hz

/** Six notes of 60 ms each; three of them come again. */
export const melody = () =>
  NOTES.flatMap((pitch) =>
    Array.from({ length: NOTE }, (_, i) => Math.sin((Math.PI * i) / NOTE) * Math.sin((2 * Math.PI * pitch * i) / RATE)),
  );

/** Windows of 25 ms, one every 10 ms, each as the loudness of 20 bands.
 * @param {number[]} signal
 * @returns {Rows} */
export const frames = (signal) =>
  frameSignal(signal, 0.025 * RATE, 0.01 * RATE).map((frame) => bandEnergies(frame, 20));

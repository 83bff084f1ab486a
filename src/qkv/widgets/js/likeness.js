/* Attention without learned weights: each token attends to tokens that are similar to it. Kinds of data differ only in
 * their tokens and in their masks. */

import { bandEnergies, dot, frameSignal, maskedWeights, mean } from "./maths.js";

/** @typedef {number[][]} Rows one row for each token */
/** @typedef {boolean[][]} Mask one row for each query, true = may attend */

/** Return the rows with mean 0 and variance 1 over the features of each (layer norm with gain 1 and bias 0).
 * @param {Rows} rows */
export const normed = (rows) =>
  rows.map((row) => {
    const centre = mean(row);
    const spread = Math.sqrt(mean(row.map((x) => (x - centre) ** 2)) + 1e-5);
    return row.map((x) => (x - centre) / spread);
  });

/** Return the weights of token i: softmax(q kᵀ / √d), where q and k are the normed tokens. Hidden keys get 0.
 * @param {Rows} rows the normed tokens
 * @param {number} i
 * @param {boolean[]} may */
export function likeness(rows, i, may) {
  const divisor = Math.sqrt(rows[0].length);
  return maskedWeights(
    rows.map((key) => dot(rows[i], key) / divisor),
    may,
  );
}

/* ---- masks by nearness */

/** Return a mask in which each token sees all tokens.
 * @param {number} n
 * @returns {Mask} */
export const everyone = (n) => Array.from({ length: n }, () => Array(n).fill(true));

/** Return a mask in which each patch of a square image sees itself and the patches that touch it.
 * @param {number} across
 * @returns {Mask} */
export const touching = (across) => {
  const places = Array.from({ length: across ** 2 }, (_, i) => [Math.floor(i / across), i % across]);
  return places.map(([y, x]) => places.map((other) => Math.max(Math.abs(y - other[0]), Math.abs(x - other[1])) <= 1));
};

/** Return a mask in which each frame sees the frames at most `reach` before or after it.
 * @param {number} n
 * @param {number} reach
 * @returns {Mask} */
export const inReach = (n, reach) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Math.abs(i - j) <= reach));

/** Return a mask in which each node of a graph sees itself and its neighbours.
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
const NOTE = 480; // samples of a note
const NOTES = [700, 1500, 700, 2700, 1500, 700]; // Hz

/** Return the samples of six notes of 60 ms each, of which three repeat an earlier pitch. */
export const melody = () =>
  NOTES.flatMap((pitch) =>
    Array.from({ length: NOTE }, (_, i) => Math.sin((Math.PI * i) / NOTE) * Math.sin((2 * Math.PI * pitch * i) / RATE)),
  );

/** Return the loudness of 20 bands in each frame of a signal: frames of 25 ms, one every 10 ms.
 * @param {number[]} signal
 * @returns {Rows} */
export const frames = (signal) =>
  frameSignal(signal, 0.025 * RATE, 0.01 * RATE).map((frame) => bandEnergies(frame, 20));

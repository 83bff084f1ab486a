/* Patterns of attention: their masks, and the tokens that reach a token after several layers. */

const GLOBAL = 2; // tokens that see all tokens and are seen by all
const STEP = 3; // a dilated window has every third token

/** Functions that check whether query i may see key j in a pattern, before a causal mask.
 * @type {Record<string, (i: number, j: number, window: number) => boolean>} */
const PATTERNS = {
  full: () => true,
  window: (i, j, window) => Math.abs(i - j) < window,
  "window and global": (i, j, window) => Math.abs(i - j) < window || Math.min(i, j) < GLOBAL,
  dilated: (i, j, window) => (i - j) % STEP === 0 && Math.abs(i - j) < STEP * window,
  strided: (i, j, window) => Math.abs(i - j) < window || (i - j) % window === 0,
};

/** Return how far apart two neighbours in a pattern's window are, in tokens.
 * @param {string} pattern */
export const stepOf = (pattern) => (pattern === "dilated" ? STEP : 1);

/** Return the mask of a pattern: a row for each query, true = may attend.
 * @param {string} pattern
 * @param {{ n: number, window: number, causal: boolean }} shape
 * @returns {boolean[][]} */
export const patternMask = (pattern, { n, window, causal }) =>
  Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (!causal || j <= i) && PATTERNS[pattern](i, j, window)),
  );

/** Return the cone below a token: for each layer from the input (0) to the last, which tokens it depends on there.
 * @param {boolean[][]} mask
 * @param {number} layers
 * @param {number} token
 * @returns {boolean[][]} */
export function coneBelow(mask, layers, token) {
  const cone = [mask.map((_, i) => i === token)];
  for (let layer = layers; layer > 0; layer--) {
    cone.unshift(mask.map((_, j) => cone[0].some((inCone, i) => inCone && mask[i][j])));
  }
  return cone;
}

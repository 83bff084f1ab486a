/* All mathematics of the widgets: pure functions in float64, each tested against torch or against 50 digits. */

export const sum = (xs) => xs.reduce((total, x) => total + x, 0);
export const mean = (xs) => sum(xs) / xs.length;

/** Mean squared distance from the mean, over n and not n − 1. */
export function variance(xs) {
  const centre = mean(xs);
  return mean(xs.map((x) => (x - centre) ** 2));
}

export const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
export const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));

/** (n, m) times (m, p), as lists of rows. */
export function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

const indexOfMax = (xs) => xs.reduce((best, x, i) => (x > xs[best] ? i : best), 0);
const sumOfOthers = (xs, left) => xs.reduce((total, x, i) => (i === left ? total : total + x), 0);

/** exp(zᵢ / T) / Σ exp(zⱼ / T). A score of −∞ gets nothing; where all are −∞, so do all. */
export function softmax(scores, temperature = 1) {
  if (!(temperature > 0)) throw new RangeError(`a temperature is above 0; got ${temperature}`);
  const top = scores[indexOfMax(scores)];
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((z) => Math.exp((z - top) / temperature));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/** log Σ exp(zᵢ), where the largest term is taken out, so that it neither overflows nor hides the others. */
export function logSumExp(scores) {
  const first = indexOfMax(scores);
  const top = scores[first];
  if (!Number.isFinite(top)) return top;
  return (
    top +
    Math.log1p(
      sumOfOthers(
        scores.map((z) => Math.exp(z - top)),
        first,
      ),
    )
  );
}

/** −Σ pᵢ log pᵢ in nats, with 0 · log 0 = 0, for weights that sum to 1. */
export function entropy(weights) {
  const first = indexOfMax(weights);
  const others = sumOfOthers(weights, first);
  return -sum(
    weights.map((p, i) => {
      if (p === 0) return 0;
      // Near 1 the weight itself has lost its distance from 1; the other weights still hold it.
      return p * (i === first && p > 0.5 ? Math.log1p(-others) : Math.log(p));
    }),
  );
}

/** Frobenius norm of (diag(p) − p pᵀ) / T, the softmax's derivative by its scores, for weights that sum to 1. */
export function softmaxJacobianNorm(weights, temperature = 1) {
  // pᵢ(1 − pᵢ), with 1 − pᵢ summed from the other weights: a difference would cancel where pᵢ is near 1.
  const diagonal = weights.map((p, i) => p * sumOfOthers(weights, i));
  const largest = Math.max(...diagonal);
  if (largest === 0) return 0;
  // Dividing by the largest entry first keeps squares of tiny weights from vanishing.
  let squares = 0;
  for (let i = 0; i < weights.length; i++) {
    squares += (diagonal[i] / largest) ** 2;
    for (let j = 0; j < i; j++) squares += 2 * ((weights[i] * weights[j]) / largest) ** 2;
  }
  return (largest * Math.sqrt(squares)) / temperature;
}

/** How many values lie in each of `count` equal bins of [low, high]; values outside are not counted. */
export function histogram(values, low, high, count) {
  const bins = new Array(count).fill(0);
  for (const value of values) {
    if (value < low || value > high) continue;
    bins[Math.min(count - 1, Math.floor(((value - low) / (high - low)) * count))] += 1;
  }
  return bins;
}

/** sfc32 (Doty-Humphrey, PractRand): whole numbers below 2³², seeded as there with (0, seed, 0, 1) and 12 steps. */
export function randomIntegers(seed) {
  let [a, b, c, counter] = [0, seed | 0, 0, 1];
  const next = () => {
    const out = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + out) | 0;
    return out >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

/** `count` (even) standard normals by Box and Muller's method, from uniforms (x + ½) / 2³² of `randomIntegers`. */
export function normals(count, seed) {
  const next = randomIntegers(seed);
  const uniform = () => (next() + 0.5) / 2 ** 32;
  const out = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform()));
    const angle = 2 * Math.PI * uniform();
    out[i] = radius * Math.cos(angle);
    out[i + 1] = radius * Math.sin(angle);
  }
  return out;
}

/** What the softmax makes of rows of scores: means over the rows, and the first row's weights. */
function summarise(scores, rowLength) {
  const rows = scores.length / rowLength;
  const out = { largest: 0, entropy: 0, jacobianNorm: 0, weights: [] };
  for (let row = 0; row < rows; row++) {
    const weights = softmax([...scores.subarray(row * rowLength, (row + 1) * rowLength)]);
    if (row === 0) out.weights = weights;
    out.largest += Math.max(...weights) / rows;
    out.entropy += entropy(weights) / rows;
    out.jacobianNorm += softmaxJacobianNorm(weights) / rows;
  }
  return out;
}

/** ScalingLab's numbers for one seed: d_k = 1, 2, 4, … 1024, without and with the division by √d_k.
 *
 * 16 sequences of 16 tokens; `normals` gives the queries (sequence, token, feature), then the keys. Level ℓ uses the
 * first 2^ℓ features: { d_k, plain, scaled }, each { scores, std, weights, largest, entropy, jacobianNorm }. */
export function scalingExperiment(seed) {
  const [sequences, tokens, features] = [16, 16, 1024];
  const keysStart = sequences * tokens * features;
  const draws = normals(2 * keysStart, seed);
  const levels = Array.from({ length: 11 }, (_, level) => ({
    d_k: 2 ** level,
    plain: { scores: new Float64Array(sequences * tokens * tokens) },
    scaled: {},
  }));
  for (let pair = 0; pair < sequences * tokens * tokens; pair++) {
    const query = Math.floor(pair / tokens);
    const key = Math.floor(query / tokens) * tokens + (pair % tokens);
    const [q, k] = [query * features, keysStart + key * features];
    let [score, feature] = [0, 0];
    for (const { d_k, plain } of levels) {
      for (; feature < d_k; feature++) score += draws[q + feature] * draws[k + feature];
      plain.scores[pair] = score;
    }
  }
  for (const { d_k, plain, scaled } of levels) {
    scaled.scores = plain.scores.map((score) => score / Math.sqrt(d_k));
    for (const kind of [plain, scaled]) {
      kind.std = Math.sqrt(variance(kind.scores));
      Object.assign(kind, summarise(kind.scores, tokens));
    }
  }
  return levels;
}

/* All mathematics of the widgets: pure functions in float64, tested against torch or against results with 50 digits. */

/** @typedef {{ batch: number, tokens: number, features: number, heads: number }} Sheet */
/** @typedef {keyof typeof ROUTES} Route */
/** @typedef {{ layers: number, dModel: number, heads: number, kvHeads: number, dHead: number, bytesPerValue: number }} Model */

/** @param {Iterable<number>} xs */
export function sum(xs) {
  let total = 0;
  for (const x of xs) total += x;
  return total;
}
/** @param {number[] | Float64Array} xs */
export const mean = (xs) => sum(xs) / xs.length;

/** Return the variance with divisor n, not n − 1.
 * @param {Float64Array} xs */
export function variance(xs) {
  const centre = mean(xs);
  return mean(xs.map((x) => (x - centre) ** 2));
}

/** @param {number[]} a
 * @param {ArrayLike<number>} b */
export const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
/** @param {number[][]} a */
export const transpose = (a) => a[0].map((_, j) => a.map((row) => row[j]));

/** Return the product of an (n, m) and an (m, p) matrix; matrices are lists of rows.
 * @param {number[][]} a
 * @param {number[][]} b */
export function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

/** @param {number[]} xs */
const indexOfMax = (xs) => xs.reduce((best, x, i) => (x > xs[best] ? i : best), 0);
/** @param {number[]} xs
 * @param {number} left */
const sumOfOthers = (xs, left) => xs.reduce((total, x, i) => (i === left ? total : total + x), 0);

/** Return the softmax exp(zᵢ / T) / Σ exp(zⱼ / T). A score of −∞ gets weight 0, also where all scores are −∞.
 * @param {number[]} scores */
export function softmax(scores, temperature = 1) {
  if (!(temperature > 0)) throw new RangeError(`a temperature is above 0; got ${temperature}`);
  const top = scores[indexOfMax(scores)];
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((z) => Math.exp((z - top) / temperature));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/** Return the entropy −Σ pᵢ log pᵢ in nats, with 0 · log 0 = 0, of weights that sum to 1.
 * @param {number[]} weights */
export function entropy(weights) {
  const first = indexOfMax(weights);
  const others = sumOfOthers(weights, first);
  return -sum(
    weights.map((p, i) => {
      if (p === 0) return 0;
      // Near 1, rounding has lost the weight's distance from 1, but the sum of the other weights still has it.
      return p * (i === first && p > 0.5 ? Math.log1p(-others) : Math.log(p));
    }),
  );
}

/** Return the Frobenius norm of (diag(p) − p pᵀ) / T, the softmax's Jacobian, for weights that sum to 1.
 * @param {number[]} weights */
export function softmaxJacobianNorm(weights, temperature = 1) {
  // pᵢ(1 − pᵢ): 1 − pᵢ is the sum of the other weights, because the difference would cancel where pᵢ is near 1.
  const diagonal = weights.map((p, i) => p * sumOfOthers(weights, i));
  const largest = Math.max(...diagonal);
  if (largest === 0) return 0;
  // The entries are divided by the largest one before they are squared, so that no square underflows to 0.
  let squares = 0;
  for (let i = 0; i < weights.length; i++) {
    squares += (diagonal[i] / largest) ** 2;
    for (let j = 0; j < i; j++) {
      const entry = (weights[i] * weights[j]) / largest;
      squares += 2 * entry * entry;
    }
  }
  return (largest * Math.sqrt(squares)) / temperature;
}

/** Count the values in each of `count` equal bins of [low, high]. Values outside are not counted.
 * @param {Iterable<number>} values
 * @param {number} low
 * @param {number} high
 * @param {number} count */
export function histogram(values, low, high, count) {
  const bins = new Array(count).fill(0);
  for (const value of values) {
    if (value < low || value > high) continue;
    bins[Math.min(count - 1, Math.floor(((value - low) / (high - low)) * count))] += 1;
  }
  return bins;
}

/** Return a random number generator, sfc32 (Doty-Humphrey, PractRand), which yields integers below 2³². As in
 * PractRand, it is seeded with (0, seed, 0, 1) and 12 steps.
 * @param {number} seed */
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

/** Return `count` (even) standard normal numbers by Box and Muller's method, from the uniform numbers (x + ½) / 2³²,
 * where x comes from `randomIntegers`.
 * @param {number} count
 * @param {number} seed */
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

/** Return statistics of rows of scores: their standard deviation, means over the rows of what the softmax gives, and
 * the weights of the first row.
 * @param {Float64Array} scores
 * @param {number} rowLength */
function summarise(scores, rowLength) {
  const rows = scores.length / rowLength;
  const std = Math.sqrt(variance(scores));
  const out = { scores, std, largest: 0, entropy: 0, jacobianNorm: 0, weights: /** @type {number[]} */ ([]) };
  for (let row = 0; row < rows; row++) {
    const weights = softmax([...scores.subarray(row * rowLength, (row + 1) * rowLength)]);
    if (row === 0) out.weights = weights;
    out.largest += Math.max(...weights) / rows;
    out.entropy += entropy(weights) / rows;
    out.jacobianNorm += softmaxJacobianNorm(weights) / rows;
  }
  return out;
}

/** Return a tone with a rising pitch and a varying loudness, `seconds` long: samples from −1 to 1.
 * @param {number} seconds
 * @param {number} rate */
export const climbingTone = (seconds, rate) =>
  Array.from({ length: Math.round(seconds * rate) }, (_, i) => {
    const time = i / rate;
    return (0.6 + 0.4 * Math.sin(2 * Math.PI * 4 * time)) * Math.sin(2 * Math.PI * (300 + 2500 * time) * time);
  });

/** Return a signal's outline for a drawing of `columns` columns: the lowest and the highest sample of each column, in
 * the order in which they occur. One sample for each column would show beats that the signal does not have (aliasing).
 * @param {number[]} signal
 * @param {number} columns
 * @returns {[number, number][]} column and sample */
export function outline(signal, columns) {
  const start = (/** @type {number} */ column) => Math.floor((column * signal.length) / columns);
  return Array.from({ length: columns }, (_, column) => {
    const piece = signal.slice(start(column), Math.max(start(column) + 1, start(column + 1)));
    const ends = [Math.min(...piece), Math.max(...piece)];
    if (piece.indexOf(ends[0]) > piece.indexOf(ends[1])) ends.reverse();
    return ends.map((sample) => /** @type {[number, number]} */ ([column, sample]));
  }).flat();
}

/** Return overlapping windows of a signal, one every `hop` samples. A window that the signal does not fill is left out.
 * @param {number[]} signal
 * @param {number} window
 * @param {number} hop */
export const frameSignal = (signal, window, hop) =>
  Array.from({ length: 1 + Math.floor((signal.length - window) / hop) }, (_, i) =>
    signal.slice(i * hop, i * hop + window),
  );

/** Return the loudness of `bands` equal frequency bands, from 0 to 1: the square root of a band's energy divided by the
 * largest one.
 * @param {number[]} frame
 * @param {number} bands */
export function bandEnergies(frame, bands) {
  const n = frame.length;
  const wave = Array.from({ length: n }, (_, i) => [Math.cos((2 * Math.PI * i) / n), Math.sin((2 * Math.PI * i) / n)]);
  const energies = Array(bands).fill(0);
  for (let k = 0; k < n / 2; k++) {
    let [re, im] = [0, 0];
    for (let i = 0; i < n; i++) {
      const [cos, sin] = wave[(k * i) % n];
      re += frame[i] * cos;
      im -= frame[i] * sin;
    }
    energies[Math.floor((k * bands) / (n / 2))] += re * re + im * im;
  }
  const loudest = Math.max(...energies) || 1;
  return energies.map((energy) => Math.sqrt(energy / loudest));
}

/** Cut an image (rows of pixels, each with its colour values) into square patches, row by row. A patch is the list of
 * all colour values of its pixels.
 * @param {number[][][]} image
 * @param {number} side */
export function imagePatches(image, side) {
  const across = image[0].length / side;
  return Array.from({ length: (image.length / side) * across }, (_, patch) => {
    const [top, left] = [Math.floor(patch / across) * side, (patch % across) * side];
    return image.slice(top, top + side).flatMap((line) => line.slice(left, left + side).flat());
  });
}

/** Return one head of self-attention on the tokens x, with every intermediate matrix.
 * @param {{ x: number[][], wQ: number[][], wK: number[][], wV: number[][], scaled: boolean }} head */
export function singleHead({ x, wQ, wK, wV, scaled }) {
  const [q, k, v] = [wQ, wK, wV].map((w) => matmul(x, w));
  const divisor = scaled ? Math.sqrt(q[0].length) : 1;
  const scores = matmul(q, transpose(k)).map((row) => row.map((score) => score / divisor));
  const weights = scores.map((row) => softmax(row));
  return { q, k, v, scores, weights, out: matmul(weights, v) };
}

/** Return TemperatureLab's numbers: the scores as an unscaled head of width d_k has them (times √d_k), and their
 * softmax at a temperature, with its entropy and the norm of its Jacobian.
 * @param {{ scores: number[], d_k: number, temperature: number }} row */
export function temperedRow({ scores, d_k, temperature }) {
  const stretched = scores.map((score) => score * Math.sqrt(d_k));
  const weights = softmax(stretched, temperature);
  return { stretched, weights, spread: entropy(weights), slope: softmaxJacobianNorm(weights, temperature) };
}

/** Return the score that gives one entry of a row a certain weight while all other scores stay unchanged.
 * @param {{ scores: number[], d_k: number, temperature: number }} row
 * @param {number} index
 * @param {number} weight between 0 and 1, neither included */
export function scoreForWeight({ scores, d_k, temperature }, index, weight) {
  const unit = temperature / Math.sqrt(d_k);
  const others = scores.filter((_, i) => i !== index);
  const top = Math.max(...others);
  const total = sum(others.map((score) => Math.exp((score - top) / unit)));
  return top + unit * (Math.log(total) + Math.log(weight / (1 - weight)));
}

/** Return the index that a uniform number from [0, 1) selects, so that each index has its weight as probability.
 * @param {number[]} weights that sum to 1
 * @param {number} uniform */
export function picked(weights, uniform) {
  let left = uniform;
  const found = weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
  return found < 0 ? indexOfMax(weights) : found; // when rounding makes the weights sum to a little less than 1
}

/** Return ScalingLab's numbers for one seed: for d_k = 1, 2, 4, … 1024, without and with the division by √d_k.
 *
 * There are 16 sequences of 16 tokens. `normals` draws all queries (sequence, token, feature), then all keys. Level ℓ
 * uses the first 2^ℓ features: { d_k, plain, scaled }, each with scores, std, weights, largest, entropy
 * and jacobianNorm.
 * @param {number} seed */
export function scalingExperiment(seed) {
  const [sequences, tokens, features] = [16, 16, 1024];
  const keysStart = sequences * tokens * features;
  const draws = normals(2 * keysStart, seed);
  const levels = Array.from({ length: 11 }, (_, level) => ({
    d_k: 2 ** level,
    scores: new Float64Array(sequences * tokens * tokens),
  }));
  for (let pair = 0; pair < sequences * tokens * tokens; pair++) {
    const query = Math.floor(pair / tokens);
    const key = Math.floor(query / tokens) * tokens + (pair % tokens);
    const [q, k] = [query * features, keysStart + key * features];
    let [score, feature] = [0, 0];
    for (const { d_k, scores } of levels) {
      for (; feature < d_k; feature++) score += draws[q + feature] * draws[k + feature];
      scores[pair] = score;
    }
  }
  return levels.map(({ d_k, scores }) => ({
    d_k,
    plain: summarise(scores, tokens),
    scaled: summarise(
      scores.map((score) => score / Math.sqrt(d_k)),
      tokens,
    ),
  }));
}

/* ---- many heads (chapter 5) */

/** Functions that return the index of entry (row, column) of head h of example b in a sheet (batch, tokens,
 * features), for three ways to split the sheet into heads. The sheet is flattened row by row. */
const places = /** @type {Record<string, (sheet: Sheet & { width: number }) => (...at: number[]) => number>} */ ({
  transpose:
    ({ tokens, features, width }) =>
    (b, h, row, column) =>
      (b * tokens + row) * features + h * width + column,
  reshape:
    ({ tokens, heads, width }) =>
    (b, h, row, column) =>
      ((b * heads + h) * tokens + row) * width + column,
  headsFirst:
    ({ batch, tokens, width }) =>
    (b, h, row, column) =>
      ((h * batch + b) * tokens + row) * width + column,
});

/** Pairs of a split into heads and a merge of the heads. Only the first pair is right. */
const ROUTES = {
  right: ["transpose", "transpose"],
  "reshape both ways": ["reshape", "reshape"],
  "reshape in": ["reshape", "transpose"],
  "reshape out": ["transpose", "reshape"],
  "heads first": ["headsFirst", "transpose"],
};

/** List the entries of all heads: { b, h, row, column, from, to }, where `from` and `to` are the entry's indices in the
 * sheets before the split and after the merge.
 * @param {Route} route
 * @param {Sheet} sheet */
export function headEntries(route, { batch, tokens, features, heads }) {
  const shape = { batch, tokens, features, heads, width: features / heads };
  const [from, to] = ROUTES[route].map((kind) => places[kind](shape));
  const entries = [];
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let row = 0; row < tokens; row++)
        for (let column = 0; column < shape.width; column++) {
          const at = [b, h, row, column];
          entries.push({ b, h, row, column, from: from(...at), to: to(...at) });
        }
  return entries;
}

/** Return multi-head attention without an output projection, flattened: x has batch · tokens rows, and the three
 * matrices are (features, features).
 * @param {number[][]} x
 * @param {number[][][]} matrices
 * @param {Route} route
 * @param {Sheet & { causal?: boolean }} sheet */
export function multiHead(x, [wQ, wK, wV], route, { causal = false, ...shape }) {
  const [q, k, v] = [wQ, wK, wV].map((w) => matmul(x, w).flat());
  const { tokens, features, heads } = shape;
  const width = features / heads;
  const out = new Array(q.length).fill(0);
  const entries = headEntries(route, shape);
  for (let start = 0; start < entries.length; start += tokens * width) {
    const rows = Array.from({ length: tokens }, (_, row) =>
      entries.slice(start + row * width, start + (row + 1) * width),
    );
    /** @param {number[]} sheet */
    const read = (sheet) => rows.map((row) => row.map(({ from }) => sheet[from]));
    const [queries, keys, values] = [q, k, v].map(read);
    const mask = presetMask(causal ? "causal" : "all", { tokens });
    const scores = matmul(queries, transpose(keys)).map((row) => row.map((score) => score / Math.sqrt(width)));
    const mixed = matmul(
      scores.map((row, i) => maskedWeights(row, mask[i])),
      values,
    );
    rows.forEach((row, i) => {
      row.forEach(({ to }, column) => {
        out[to] = mixed[i][column];
      });
    });
  }
  return out;
}

/** Add 1 to each feature of one token of random sheets, and return by how much each entry of the output changes: one
 * row for each token.
 * @param {Route} route
 * @param {Sheet & { nudged: number, seed?: number, causal?: boolean }} experiment */
export function nudgeExperiment(route, { nudged, seed = 0, ...shape }) {
  const { batch, tokens, features } = shape;
  const numbers = normals(batch * tokens * features + 3 * features * features, seed);
  /** @param {number} start */
  const rowAt = (start) => [...numbers.subarray(start, start + features)];
  /** @param {number} start
   * @param {number} count */
  const rowsFrom = (start, count) => Array.from({ length: count }, (_, i) => rowAt(start + i * features));
  const x = rowsFrom(0, batch * tokens);
  const projections = [0, 1, 2].map((i) =>
    rowsFrom((batch * tokens + i * features) * features, features).map((row) =>
      row.map((w) => w / Math.sqrt(features)),
    ),
  );
  const still = multiHead(x, projections, route, shape);
  const pushed = x.map((row, i) => (i === nudged ? row.map((value) => value + 1) : row));
  const moved = multiHead(pushed, projections, route, shape).map((value, i) => Math.abs(value - still[i]));
  return x.map((_, i) => moved.slice(i * features, (i + 1) * features));
}

/** Return a preset mask, with a row for each query and a column for each key: true = may attend.
 *
 * The queries are the last `queries` of the `tokens` tokens. "top-left" aligns the first query with the first key.
 * @param {string} preset
 * @param {{ tokens: number, queries?: number, window?: number, real?: number }} sizes */
export function presetMask(preset, { tokens, queries = tokens, window = tokens, real = tokens }) {
  const offset = tokens - queries;
  /** @type {Record<string, (i: number, j: number) => boolean>} */
  const presets = {
    all: () => true,
    causal: (i, j) => j <= i,
    "top-left": (i, j) => j <= i - offset,
    window: (i, j) => j <= i && j > i - window,
    padding: (_, j) => j < real,
  };
  const may = presets[preset];
  return Array.from({ length: queries }, (_, row) => Array.from({ length: tokens }, (_, j) => may(offset + row, j)));
}

/** Return a row of weights under a mask, by the right method or one of three wrong ones.
 *
 * "−∞" sets hidden scores to −∞ before the softmax. That is right while one key is visible; with none it is 0/0 (NaN).
 * "−1e9" and "0" are put in place of −∞. "after" sets hidden weights to 0 after the softmax.
 * @param {number[]} scores
 * @param {boolean[]} mask */
export function maskedWeights(scores, mask, method = "−∞") {
  if (method === "after") return softmax(scores).map((p, j) => (mask[j] ? p : 0));
  const hidden = method === "−∞" ? -Infinity : Number(method.replace("−", "-"));
  if (method === "−∞" && !mask.includes(true)) return scores.map(() => NaN);
  return softmax(scores.map((score, j) => (mask[j] ? score : hidden)));
}

/** Return the multiply-adds of attention in all layers for `nNew` tokens, with `nHeld` in the cache: those of the
 * projections, and those of the scores and the weighted sums.
 *
 * The projections are to queries, keys and values, and of the output. Masked scores count, because they are computed.
 * @param {Model} model
 * @param {number} nNew */
export function attentionMultiplyAdds({ layers, dModel, heads, kvHeads, dHead }, nNew, nHeld = 0) {
  const projections = nNew * layers * dModel * (2 * heads + 2 * kvHeads) * dHead;
  return [projections, 2 * nNew * (nHeld + nNew) * layers * heads * dHead];
}

/** Return the bytes of the keys and values of `tokens` tokens.
 * @param {Model} model
 * @param {number} tokens */
export const kvCacheBytes = ({ layers, kvHeads, dHead, bytesPerValue }, tokens) =>
  2 * layers * kvHeads * dHead * tokens * bytesPerValue;

/** Return the length of the common prefix of two lists.
 * @param {unknown[]} cached
 * @param {unknown[]} prompt */
export function reusablePrefix(cached, prompt) {
  const differs = prompt.findIndex((item, i) => i >= cached.length || item !== cached[i]);
  return differs < 0 ? prompt.length : differs;
}

/** Return the frequency of each pair of features, in radians for one position: ωᵢ = base^(−2i/d), i = 0 … d/2 − 1.
 * @param {number} d
 * @param {number} base */
export const pairFrequencies = (d, base) => Array.from({ length: d / 2 }, (_, i) => base ** ((-2 * i) / d));

/** Return the sinusoidal code of a position: sin tωᵢ and cos tωᵢ, pair by pair, drawn as the hands of clocks.
 * @param {number} position
 * @param {number[]} frequencies */
export function sinusoidalEncoding(position, frequencies) {
  const hands = new Float64Array(2 * frequencies.length);
  for (let i = 0; i < frequencies.length; i++) {
    hands[2 * i] = Math.sin(position * frequencies[i]);
    hands[2 * i + 1] = Math.cos(position * frequencies[i]);
  }
  return hands;
}

/** Return x with rotary position embedding: each pair of neighbours is rotated by its hand's angle, [sin tωᵢ, cos tωᵢ].
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} hands */
export function applyRope(x, hands) {
  const turned = new Float64Array(x.length);
  for (let i = 0; i < x.length; i += 2) {
    const [sin, cos] = [hands[i], hands[i + 1]];
    turned[i] = x[i] * cos - x[i + 1] * sin;
    turned[i + 1] = x[i] * sin + x[i + 1] * cos;
  }
  return turned;
}

/** Return the bias that ALiBi adds to a score in head 1 … heads: minus the head's slope times the distance.
 * @param {number} head
 * @param {number} heads
 * @param {number} distance */
export const alibiBias = (head, heads, distance) => -(2 ** ((-8 * head) / heads)) * Math.abs(distance);

/** Return PositionExplorer's functions: the query and the key at a position, and the score of a query and a key.
 *
 * `words` are the features of the two tokens. Without them (null) the vectors hold only positions, and RoPE rotates
 * hands that point to twelve. `query(t)` and `key(s)` are the vectors of the dot product. ALiBi's score is that
 * product divided by √d, plus the bias.
 * @param {{ scheme: string, d: number, base: number, head: number, words: number[][] | null }} setting */
export function placedScores({ scheme, d, base, head, words }) {
  const frequencies = pairFrequencies(d, base);
  const hands = perPosition((t) => sinusoidalEncoding(t, frequencies));
  /** @type {Record<string, (word: ArrayLike<number> | null, t: number) => ArrayLike<number>>} */
  const places = {
    sinusoidal: (word, t) => (word ? added(word, hands(t)) : hands(t)),
    rope: (word, t) => applyRope(word ?? hands(0), hands(t)),
    alibi: (word) => word ?? new Float64Array(d),
  };
  const [query, key] = (words ?? [null, null]).map((word) => perPosition((t) => places[scheme](word, t)));
  /** @param {number} t
   * @param {number} s */
  const score = (t, s) => {
    const [q, k] = [query(t), key(s)];
    let product = 0;
    for (let c = 0; c < d; c++) product += q[c] * k[c];
    return scheme === "alibi" ? product / Math.sqrt(d) + alibiBias(head, 8, t - s) : product;
  };
  return { query, key, score, frequencies };
}

/** @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b */
function added(a, b) {
  const total = new Float64Array(a.length);
  for (let c = 0; c < a.length; c++) total[c] = a[c] + b[c];
  return total;
}

/** Return a function of a whole number that computes each value only once.
 * @template Value
 * @param {(t: number) => Value} work */
function perPosition(work) {
  /** @type {Map<number, Value>} */
  const known = new Map();
  return (/** @type {number} */ t) => {
    if (!known.has(t)) known.set(t, work(t));
    return /** @type {Value} */ (known.get(t));
  };
}

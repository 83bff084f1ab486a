/* The trained tagger (qkv.models.tagger) in JavaScript, in float64, with every place and every handle.
 *
 * A place is an intermediate result, under its name in Python. A table is a Float64Array, stored row by row. */

/** Return the tensors of a safetensors file, by name, as { shape, data: a Float64Array }, and its metadata. */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerLength)));
  const { __metadata__: metadata = {}, ...entries } = header;
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(entries)) {
    const data = new Float64Array(shape.reduce((product, size) => product * size, 1));
    const { size, read } = NUMBERS[dtype];
    for (let i = 0; i < data.length; i++) data[i] = read(view, 8 + headerLength + data_offsets[0] + i * size);
    tensors[name] = { shape, data };
  }
  return { tensors, metadata };
}

const NUMBERS = {
  F16: { size: 2, read: (view, at) => float16(view.getUint16(at, true)) },
  F32: { size: 4, read: (view, at) => view.getFloat32(at, true) },
  I64: { size: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  I8: { size: 1, read: (view, at) => view.getInt8(at) },
};

/** Return the number that 16 bits represent: a sign, 5 bits of exponent, 10 of fraction (IEEE 754 binary16). */
export function float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/* ---- the model */

/** Return a tagger with the weights of a file. `words` are the words that it knows, from id 1 on; `nouns` and
 * `classes` are its answers. */
export function makeTagger(bytes, { words, nouns, classes }) {
  const { tensors, metadata } = readSafetensors(bytes);
  const layer = (name) => ({ weight: tensors[`${name}.weight`].data, bias: tensors[`${name}.bias`].data });
  const block = (name) => ({
    norm1: layer(`${name}.norm_1`),
    ...Object.fromEntries(["q", "k", "v", "o"].map((role) => [role, layer(`${name}.attention.w_${role}`)])),
    norm2: layer(`${name}.norm_2`),
    w1: layer(`${name}.feed_forward.w_1`),
    w2: layer(`${name}.feed_forward.w_2`),
  });
  const table = tensors["encoder.embedding.positions.table"];
  const blocks = [];
  while (`encoder.stack.blocks.${blocks.length}.norm_1.weight` in tensors) {
    blocks.push(block(`encoder.stack.blocks.${blocks.length}`));
  }
  return {
    ids: new Map(words.map((word, i) => [word, i + 1])),
    nouns,
    classes,
    nHeads: Number(metadata.n_heads),
    nMax: table.shape[0],
    dModel: table.shape[1],
    tokens: tensors["encoder.embedding.tokens.weight"].data,
    positions: table.data,
    blocks,
    norm: layer("encoder.stack.norm"),
    toClasses: layer("to_classes"),
    toNouns: layer("to_nouns"),
  };
}

/** The default handles. `heads` is [layer][head] and `layers` is [layer], in which false means off. */
export const HANDLES = {
  temperature: 1,
  scaled: true,
  positions: true,
  heads: null,
  layers: null,
  residual: true,
  norm: true,
  feedForward: true,
};

/** Return every place of one run of a sentence, by name. Tables are (n, features), those of q, k, v and heads are
 * (H, n, d_head), those of scores and weights (H, n, n). */
export function runTagger(model, words, handles = {}) {
  const set = { ...HANDLES, ...handles };
  if (!(set.temperature > 0)) throw new RangeError(`a temperature is above 0; got ${set.temperature}`);
  const n = words.length;
  const d = model.dModel;
  const embedded = new Float64Array(n * d);
  words.forEach((word, i) => {
    const id = model.ids.get(word);
    embedded.set(model.tokens.subarray(id * d, (id + 1) * d), i * d);
  });
  const positions = set.positions ? model.positions.slice(0, n * d) : new Float64Array(n * d);
  const places = { embedded, positions };
  let state = added(embedded, positions);
  model.blocks.forEach((block, l) => {
    state = runBlock(model, block, l, state, n, set, places);
  });
  places[`${model.blocks.length}.state`] = state;
  places.normed = set.norm ? layerNorm(state, n, model.norm) : state;
  places.class_logits = linear(places.normed, n, model.toClasses);
  places.noun_logits = linear(places.normed, n, model.toNouns);
  return places;
}

/** Return the output of a block, and add its places to the others. */
function runBlock(model, block, l, state, n, set, places) {
  const put = (place, table) => {
    places[`${l}.${place}`] = table;
    return table;
  };
  put("state", state);
  const normed = put("attention.normed", set.norm ? layerNorm(state, n, block.norm1) : state);
  const out = put("attention.out", attend(model, block, normed, n, set, set.heads?.[l], put));
  const sum = put("attention.sum", set.residual ? added(state, out) : out);
  const normed2 = put("feed_forward.normed", set.norm ? layerNorm(sum, n, block.norm2) : sum);
  const hidden = put("feed_forward.hidden", linear(normed2, n, block.w1).map(positivePart));
  const made = put("feed_forward.out", linear(hidden, n, block.w2));
  const end = () => {
    if (set.layers && !set.layers[l]) return state;
    if (!set.feedForward) return sum;
    return set.residual ? added(sum, made) : made;
  };
  return put("feed_forward.sum", end());
}

const positivePart = (x) => Math.max(x, 0);

/** Return the output of multi-head attention over n tokens. */
function attend(model, block, x, n, { temperature, scaled }, switches, put) {
  const H = model.nHeads;
  const width = model.dModel / H;
  const [q, k, v] = ["q", "k", "v"].map((role) => put(`attention.${role}`, split(linear(x, n, block[role]), n, H)));
  const divisor = scaled ? temperature : temperature / Math.sqrt(width);
  const scores = put("attention.scores", new Float64Array(H * n * n));
  const weights = put("attention.weights", new Float64Array(H * n * n));
  const heads = put("attention.heads", new Float64Array(H * n * width));
  for (let h = 0; h < H; h++) {
    for (let i = 0; i < n; i++) {
      const row = (h * n + i) * n;
      for (let j = 0; j < n; j++) {
        scores[row + j] = dot(q, (h * n + i) * width, k, (h * n + j) * width, width) / Math.sqrt(width) / divisor;
      }
      shareOut(scores, weights, row, n);
      if (switches && !switches[h]) continue; // the output of a head that is off stays 0
      for (let j = 0; j < n; j++) {
        for (let c = 0; c < width; c++) heads[(h * n + i) * width + c] += weights[row + j] * v[(h * n + j) * width + c];
      }
    }
  }
  return linear(merge(heads, n, H), n, block.o);
}

/** Write the softmax of n scores that begin at `start` to the same indices of the weights. */
export function shareOut(scores, weights, start, n) {
  let largest = -Infinity;
  for (let j = 0; j < n; j++) if (scores[start + j] > largest) largest = scores[start + j];
  let total = 0;
  for (let j = 0; j < n; j++) {
    weights[start + j] = Math.exp(scores[start + j] - largest);
    total += weights[start + j];
  }
  for (let j = 0; j < n; j++) weights[start + j] /= total;
}

/** Split x (n, d) into heads (H, n, d / H): each head gets its own slice of every token's features. */
export function split(x, n, H) {
  const width = x.length / n / H;
  const heads = new Float64Array(x.length);
  for (let i = 0; i < n; i++)
    for (let h = 0; h < H; h++)
      for (let c = 0; c < width; c++) heads[(h * n + i) * width + c] = x[(i * H + h) * width + c];
  return heads;
}

/** Merge heads (H, n, d / H) into x (n, d), the inverse of `split`. */
export function merge(heads, n, H) {
  const width = heads.length / n / H;
  const x = new Float64Array(heads.length);
  for (let i = 0; i < n; i++)
    for (let h = 0; h < H; h++)
      for (let c = 0; c < width; c++) x[(i * H + h) * width + c] = heads[(h * n + i) * width + c];
  return x;
}

export function dot(a, aStart, b, bStart, length) {
  let total = 0;
  for (let c = 0; c < length; c++) total += a[aStart + c] * b[bStart + c];
  return total;
}

/** Return x W + b for each of n rows. As in torch, a row of `weight` has the weights of one output. */
export function linear(x, n, { weight, bias }) {
  const width = x.length / n;
  const out = new Float64Array(n * bias.length);
  for (let i = 0; i < n; i++)
    for (let o = 0; o < bias.length; o++)
      out[i * bias.length + o] = dot(x, i * width, weight, o * width, width) + bias[o];
  return out;
}

/** Return each row with mean 0 and variance 1 over its features, scaled and shifted. */
export function layerNorm(x, n, { weight, bias }) {
  const d = bias.length;
  const out = new Float64Array(x.length);
  for (let i = 0; i < n; i++) {
    let mean = 0;
    for (let c = 0; c < d; c++) mean += x[i * d + c] / d;
    let variance = 0;
    for (let c = 0; c < d; c++) variance += (x[i * d + c] - mean) ** 2 / d;
    const root = Math.sqrt(variance + 1e-5);
    for (let c = 0; c < d; c++) out[i * d + c] = ((x[i * d + c] - mean) / root) * weight[c] + bias[c];
  }
  return out;
}

export function added(a, b) {
  const total = new Float64Array(a.length);
  for (let c = 0; c < a.length; c++) total[c] = a[c] + b[c];
  return total;
}

/* ---- its answers */

const IT = ["it", "它"];

/** Return a tagger's answers to a sentence: the class of each word, the noun of each *it*, and every place. */
export function tag(model, words, handles = {}) {
  const places = runTagger(model, words, handles);
  const nouns = words.map((_, i) => model.nouns[largestAt(places.noun_logits, i, model.nouns.length)]);
  return {
    words,
    classes: words.map((_, i) => model.classes[largestAt(places.class_logits, i, model.classes.length)]),
    refersTo: new Map(words.flatMap((word, i) => (IT.includes(word) ? [[i, nouns[i]]] : []))),
    places,
  };
}

/** Return the index of the largest of the `width` logits in row i. */
function largestAt(logits, i, width) {
  let best = 0;
  for (let c = 1; c < width; c++) if (logits[i * width + c] > logits[i * width + best]) best = c;
  return best;
}

/** Return the probabilities of a tagger's answers at word i: the softmax of that row of logits. */
export function chances(logits, i, width) {
  const row = new Float64Array(width);
  shareOut(logits.subarray(i * width, (i + 1) * width), row, 0, width);
  return row;
}

/** Return how many words and how many *it* of a sentence a tagger gets right: [right words, words, right it, it].
 * The sums over sentences give the shares. */
export function score(model, { words, classes, refersTo }, handles = {}) {
  const said = tag(model, words, handles);
  const rightIt = [...refersTo].filter(([i, noun]) => said.refersTo.get(i) === noun).length;
  return [classes.filter((kind, i) => said.classes[i] === kind).length, words.length, rightIt, refersTo.size];
}

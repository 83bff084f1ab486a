/* The trained repeater (qkv.models.repeater) in JavaScript, in float64, and interventions on its heads' outputs. */

import { makeTrained, runTrained } from "./engine/trained.js";
import { randomIntegers } from "./maths.js";
import { readSafetensors } from "./safetensors.js";
import { softmax } from "./tagger.js";

/** @import { Places, Visit } from "./engine/trained.js" */
/** @import { Weights } from "./safetensors.js" */

export const SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456";
export const LONGEST = 32;

/** Return the ids of a text's symbols, at most LONGEST. Other characters are left out.
 * @param {string} text */
export const idsOf = (text) =>
  [...text.toUpperCase()]
    .map((letter) => SYMBOLS.indexOf(letter))
    .filter((id) => id >= 0)
    .slice(0, LONGEST);

/** Return a repeater with the weights of a file.
 * @param {Uint8Array} bytes */
export const makeRepeater = (bytes) => repeaterOf(readSafetensors(bytes));

/** Return the repeater at a training step that a file of checkpoints holds. Its weights there are integers, with a
 * scale for each row.
 * @param {Weights} checkpoints
 * @param {number} step */
export function repeaterAt({ tensors, metadata }, step) {
  const at = tensors.steps.data.indexOf(step);
  if (at < 0) throw new Error(`no weights were kept after step ${step}`);
  /** @type {Weights["tensors"]} */
  const unpacked = {};
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    const scale = tensors[`${name}.scale`];
    if (!scale) continue;
    const [rows, size] = [scale.shape[1], data.length / shape[0]];
    const integers = data.subarray(at * size, (at + 1) * size);
    const scaled = integers.map((integer, i) =>
      Math.fround(integer * scale.data[at * rows + Math.floor((i * rows) / size)]),
    );
    unpacked[name] = { shape: shape.slice(1), data: scaled };
  }
  return repeaterOf({ tensors: unpacked, metadata });
}

/** @param {Weights} weights */
const repeaterOf = (weights) =>
  makeTrained(weights, { embedding: "embedding", stack: "stack", outputs: { logits: "unembedding" } });

/** @typedef {ReturnType<typeof makeRepeater>} Repeater */

/** Return every place of one run. `edit` gets the outputs of the heads and returns what takes their place.
 * @param {Repeater} model
 * @param {number[]} ids
 * @param {Visit} [edit] */
export const runRepeater = (model, ids, edit) => runTrained(model, ids, { causal: true }, edit);

/* ---- measures of a head and of the predictions */

/** Return for each position the one after the latest earlier occurrence of its symbol, or −1.
 * @param {number[]} ids */
export const afterTheLast = (ids) =>
  ids.map((id, i) => {
    const earlier = ids.lastIndexOf(id, i - 1);
    return i > 0 && earlier >= 0 ? earlier + 1 : -1;
  });

/** Return a head's mean weights on the token before, and on the token after the latest earlier occurrence.
 * @param {Float64Array} weights
 * @param {number[]} ids */
export function headScores(weights, ids) {
  const n = ids.length;
  const next = afterTheLast(ids);
  const repeats = next.flatMap((j, i) => (j < 0 ? [] : [weights[i * n + j]]));
  const before = Array.from({ length: n - 1 }, (_, i) => weights[(i + 1) * n + i]);
  const mean = (/** @type {number[]} */ xs) => (xs.length ? xs.reduce((total, x) => total + x, 0) / xs.length : 0);
  return { previous: mean(before), induction: mean(repeats) };
}

/** Return the probability of each symbol to come after position i.
 * @param {Float64Array} logits
 * @param {number} i */
export const nextChances = (logits, i) => softmax(logits.subarray(i * SYMBOLS.length, (i + 1) * SYMBOLS.length));

/** Return the mean loss, in nats, of the tokens that follow the same symbol as at its last occurrence; NaN without any.
 * @param {Float64Array} logits
 * @param {number[]} ids */
export function repeatedLoss(logits, ids) {
  const next = afterTheLast(ids);
  const asked = ids.flatMap((_, i) => (i + 1 < ids.length && next[i] >= 0 && ids[next[i]] === ids[i + 1] ? [i] : []));
  return asked.reduce((total, i) => total - Math.log(nextChances(logits, i)[ids[i + 1]]), 0) / asked.length;
}

/* ---- interventions */

/** Return random texts that repeat, like those of the training.
 * @param {number} count
 * @param {number} seed */
export function drawTexts(count, seed) {
  const next = randomIntegers(seed);
  return Array.from({ length: count }, () => {
    const period = 6 + (next() % 11);
    const symbols = Array.from({ length: period }, () => next() % SYMBOLS.length);
    return Array.from({ length: LONGEST }, (_, i) => symbols[i % period]);
  });
}

/** Return the mean outputs of the heads over texts and positions: for each layer's place, a table (H, d_head).
 * @param {Repeater} model
 * @param {number[][]} texts */
export function meanOutputs(model, texts) {
  const width = model.shape.dModel / model.shape.heads;
  /** @type {Places} */
  const means = {};
  for (const ids of texts) {
    const places = runRepeater(model, ids);
    for (let l = 0; l < model.shape.layers; l++) {
      const place = `${l}.attention.heads`;
      means[place] ??= new Float64Array(model.shape.dModel);
      places[place].forEach((value, at) => {
        const head = Math.floor(at / (ids.length * width));
        means[place][head * width + (at % width)] += value / ids.length / texts.length;
      });
    }
  }
  return means;
}

/** Return another text: each symbol is replaced by the next one of the alphabet.
 * @param {number[]} ids */
export const moved = (ids) => ids.map((id) => (id + 1) % SYMBOLS.length);

/** Return the places of a run with replaced outputs of heads. `modes` has "on", "zeros", "mean" or "other text" for
 * each head, layer by layer.
 * @param {Repeater} model
 * @param {number[]} ids
 * @param {string[]} modes
 * @param {Places} means */
export function intervene(model, ids, modes, means) {
  const width = model.shape.dModel / model.shape.heads;
  const other = modes.includes("other text") ? runRepeater(model, moved(ids)) : {};
  return runRepeater(model, ids, (place, table) =>
    table.map((value, at) => {
      const head = Math.floor(at / (ids.length * width));
      const mode = modes[Number(place[0]) * model.shape.heads + head];
      if (mode === "zeros") return 0;
      if (mode === "mean") return means[place][head * width + (at % width)];
      return mode === "other text" ? other[place][at] : value;
    }),
  );
}

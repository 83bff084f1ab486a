/* The trained tagger (qkv.models.tagger) in JavaScript, in float64, with every place and every handle.
 *
 * A place is an intermediate result, under its name in Python. A table is a Float64Array, stored row by row. */

import { SETTINGS } from "./engine/model.js";
import { makeTrained, runTrained } from "./engine/trained.js";
import { readSafetensors } from "./safetensors.js";

/** @import { Sentence } from "./grammar.js" */
/** @import { Settings } from "./engine/model.js" */
/** @import { Places, Table } from "./engine/trained.js" */
/** @typedef {Partial<Settings> & { heads?: boolean[][] }} Handles settings of the forward pass; `heads` is
 *   [layer][head], in which false means off */
/** @typedef {ReturnType<typeof makeTagger>} TrainedTagger */
/** @typedef {ReturnType<typeof tag>} Tagged */

/** Return a tagger with the weights of a file. `words` are the words that it knows, from id 1 on; `nouns` and
 * `classes` are its answers.
 * @param {Uint8Array} bytes
 * @param {{ words: string[], nouns: string[], classes: string[] }} names */
export function makeTagger(bytes, { words, nouns, classes }) {
  const model = makeTrained(readSafetensors(bytes), {
    embedding: "encoder.embedding",
    stack: "encoder.stack",
    outputs: { class_logits: "to_classes", noun_logits: "to_nouns" },
  });
  return { ...model, ids: new Map(words.map((word, i) => [word, i + 1])), nouns, classes };
}

/** Return every place of one run of a sentence, by name. Tables are (n, features), those of q, k, v and heads are
 * (H, n, d_head), those of scores and weights (H, n, n).
 * @param {TrainedTagger} model
 * @param {string[]} words
 * @param {Handles} [handles] */
export function runTagger(model, words, { heads, ...handles } = {}) {
  const settings = { ...SETTINGS, ...handles };
  if (!(settings.temperature > 0)) throw new RangeError(`a temperature is above 0; got ${settings.temperature}`);
  const ids = words.map((word) => /** @type {number} */ (model.ids.get(word)));
  return runTrained(model, ids, settings, heads && ((place, table) => silenced(table, heads[Number(place[0])])));
}

/** Return the outputs of heads (H, n, d_head) with zeros for the heads that are off.
 * @param {Table} table
 * @param {boolean[]} on */
function silenced(table, on) {
  const size = table.length / on.length;
  return table.map((value, i) => (on[Math.floor(i / size)] ? value : 0));
}

/* ---- its answers */

const IT = ["it", "它"];

/** Return a tagger's answers to a sentence: the class of each word, the noun of each *it*, and every place.
 * @param {TrainedTagger} model
 * @param {string[]} words
 * @param {Handles} [handles] */
export function tag(model, words, handles = {}) {
  const places = runTagger(model, words, handles);
  const nouns = words.map((_, i) => model.nouns[largestAt(places.noun_logits, i, model.nouns.length)]);
  return {
    words,
    classes: words.map((_, i) => model.classes[largestAt(places.class_logits, i, model.classes.length)]),
    refersTo: new Map(
      words.flatMap((word, i) => (IT.includes(word) ? [/** @type {[number, string]} */ ([i, nouns[i]])] : [])),
    ),
    places,
  };
}

/** Return the index of the largest of the `width` logits in row i.
 * @param {Table} logits
 * @param {number} i
 * @param {number} width */
function largestAt(logits, i, width) {
  let best = 0;
  for (let c = 1; c < width; c++) if (logits[i * width + c] > logits[i * width + best]) best = c;
  return best;
}

/** Return the probabilities of a tagger's answers at word i: the softmax of that row of logits.
 * @param {Table} logits
 * @param {number} i
 * @param {number} width */
export function chances(logits, i, width) {
  return softmax(logits.subarray(i * width, (i + 1) * width));
}

/** Return the softmax of scores.
 * @param {Table} scores */
export function softmax(scores) {
  const top = scores.reduce((largest, score) => Math.max(largest, score), -Infinity);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** Return how many words and how many *it* of a sentence a tagger gets right: [right words, words, right it, it].
 * The sums over sentences give the shares.
 * @param {TrainedTagger} model
 * @param {Pick<Sentence, "words" | "classes" | "refersTo">} sentence
 * @param {Handles} [handles] */
export function score(model, { words, classes, refersTo }, handles = {}) {
  const said = tag(model, words, handles);
  const rightIt = [...refersTo].filter(([i, noun]) => said.refersTo.get(i) === noun).length;
  return [classes.filter((kind, i) => said.classes[i] === kind).length, words.length, rightIt, refersTo.size];
}

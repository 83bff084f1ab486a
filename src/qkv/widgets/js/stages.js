/* The stages of the tagger, from the words to the answers: where each stands in the flow, and its table of numbers. */

import { tag } from "./tagger.js";
import { t } from "./words.js";

/** @import { Table, Places } from "./engine/trained.js" */
/** @import { TrainedTagger } from "./tagger.js" */
/** @typedef {"residual" | "norm" | "feed_forward"} Part a part that can be switched off */

/** Where the norms stand, as percentages across the flow: the two of a block, and the last. */
export const NORMS = [{ x: 25 }, { x: 50.5, isOfNetwork: true }, { x: 74.8 }];

/** Where the boxes of the other parts stand. */
export const BOXES = { residual: 47.5, feed_forward: 61.75 };

/** Where attention begins and ends. */
export const ATTENTION = { start: 27.5, end: 44.5 };

/** Where the residual leaves the words' lines and joins them again. */
export const LEGS = [22, 47.5, 73];

/** Return the stages of block l: each has a name, its title, its place in qkv.transformer, and how far across the flow it
 * stands.
 * @param {number} l */
function block(l) {
  const n = l + 1;
  return /** @type {[string, () => string, string, number][]} */ ([
    ["norm 1", () => t`norm before attention, block ${n}`, "attention.normed", 26.5],
    ["attention", () => t`attention, block ${n}`, "attention.weights", 36],
    ["sum 1", () => t`stream after attention, block ${n}`, "attention.sum", LEGS[1]],
    ["norm 2", () => t`norm before feed-forward, block ${n}`, "feed_forward.normed", 52],
    ["hidden", () => t`feed-forward, block ${n}`, "feed_forward.hidden", 61.75],
    ["sum 2", () => t`stream after feed-forward, block ${n}`, "feed_forward.sum", LEGS[2]],
  ]).map(([part, title, place, x]) => ({ name: `${n} ${part}`, title, place: `${l}.${place}`, x }));
}

/** @typedef {{ name: string, title: () => string, place: string, x: number }} Stage */
/** @type {Stage[]} */
export const STAGES = [
  { name: "embedding", title: () => t`embedding`, place: "0.state", x: LEGS[0] },
  ...block(0),
  ...block(1),
  { name: "norm", title: () => t`last norm`, place: "normed", x: 76.9 },
  { name: "classes", title: () => t`classes`, place: "class_logits", x: 76.9 },
  { name: "nouns", title: () => t`nouns`, place: "noun_logits", x: 76.9 },
];

/** Return the block of a stage: the last, if it is after the blocks, and the first, if it is before.
 * @param {Stage} stage */
export const blockOf = ({ name, place }) => (name === "embedding" || place.startsWith("0.") ? 0 : 1);

/** Return the stage with a name.
 * @param {string} name */
export function stageNamed(name) {
  const stage = STAGES.find((each) => each.name === name);
  if (!stage) throw new Error(`the flow has no stage ${name}`);
  return stage;
}

/** Return a tagger's answers to a sentence when some of its parts are off, with every place.
 * @param {TrainedTagger} model
 * @param {string} sentence
 * @param {{ residual: boolean, norm: boolean, feed_forward: boolean }} parts */
export const tagWithParts = (model, sentence, { residual, norm, feed_forward }) =>
  tag(model, sentence.split(" "), { residual, norm, feedForward: feed_forward });

/** Return a stage's table for n words: `rows(i)` has `width` numbers of word i for each of `heads`. For weights,
 * these are the word's rows in all heads, one after the other.
 * @param {Places} places
 * @param {Stage} stage
 * @param {number} n
 * @param {number} nHeads */
export function stageRows(places, { place }, n, nHeads) {
  const table = places[place];
  const isWeights = place.endsWith("weights");
  const heads = isWeights ? nHeads : 1;
  const width = table.length / n / heads;
  const ofHeads = (/** @type {number} */ i) =>
    Array.from({ length: heads * n }, (_, j) => table[(Math.floor(j / n) * n + i) * n + (j % n)]);
  /** @type {(i: number) => number[] | Table} */
  const rows = (i) => (isWeights ? ofHeads(i) : table.subarray(i * width, (i + 1) * width));
  return { table, isWeights, heads, width, rows };
}

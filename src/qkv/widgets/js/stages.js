/* The stages of the tagger, from the words to the answers: where each stands in the flow, and its table of numbers. */

import { tag } from "./tagger.js";
import { t } from "./words.js";

/** @import { Table, Places } from "./engine/trained.js" */
/** @import { TrainedTagger } from "./tagger.js" */
/** @typedef {{ layer: number, part: "attention" | "feed_forward", start: number, norm: number, middle: number,
 *   end: number }} Branch a part that is beside the stream: where it leaves the stream, where its norm and the part itself
 *   stand, and where it joins the stream again, as percentages across the flow */

/** @type {Branch[]} */
export const BRANCHES = [
  { layer: 0, part: "attention", start: 3, norm: 9, middle: 21, end: 27 },
  { layer: 0, part: "feed_forward", start: 27, norm: 31, middle: 45, end: 51 },
  { layer: 1, part: "attention", start: 51, norm: 58, middle: 66, end: 72 },
  { layer: 1, part: "feed_forward", start: 72, norm: 77, middle: 89.5, end: 94 },
];

/** Where the ends of the flow stand. */
const ENDS = { embedding: 1, norm: 97, classes: 98.5, nouns: 99.5 };

/** Return the stages of block l: each has a name, its title, its place in qkv.transformer, and where it stands in the
 * flow: how far across, and whether it is beside the stream.
 * @param {number} l */
function block(l) {
  const [attention, network] = BRANCHES.filter(({ layer }) => layer === l);
  const n = l + 1;
  return /** @type {[string, () => string, string, number, boolean][]} */ ([
    ["norm 1", () => t`norm before attention, block ${n}`, "attention.normed", attention.norm, true],
    ["attention", () => t`attention, block ${n}`, "attention.weights", attention.middle, true],
    ["sum 1", () => t`stream after attention, block ${n}`, "attention.sum", attention.end, false],
    ["norm 2", () => t`norm before feed-forward, block ${n}`, "feed_forward.normed", network.norm, true],
    ["hidden", () => t`feed-forward, block ${n}`, "feed_forward.hidden", network.middle, true],
    ["sum 2", () => t`stream after feed-forward, block ${n}`, "feed_forward.sum", network.end, false],
  ]).map(([part, title, place, x, beside]) => ({
    name: `${n} ${part}`,
    title,
    place: `${l}.${place}`,
    x,
    beside,
  }));
}

/** @typedef {{ name: string, title: () => string, place: string, x: number, beside?: boolean }} Stage */
/** @type {Stage[]} */
export const STAGES = [
  { name: "embedding", title: () => t`embedding`, place: "0.state", x: ENDS.embedding },
  ...block(0),
  ...block(1),
  { name: "norm", title: () => t`last norm`, place: "normed", x: ENDS.norm },
  { name: "classes", title: () => t`classes`, place: "class_logits", x: ENDS.classes },
  { name: "nouns", title: () => t`nouns`, place: "noun_logits", x: ENDS.nouns },
];

/** Return the pieces of the stream, from left to right: where each begins and ends, and the place of its numbers.
 * Where the stream does not pass a branch, it ends at the start of that branch.
 * @param {(branch: Branch) => boolean} passes
 * @returns {{ from: number, to: number, place: string }[]} */
export function streamOf(passes) {
  const sums = ["0.state", ...BRANCHES.map(({ layer, part }) => `${layer}.${part}.sum`)];
  const from = [ENDS.embedding, ...BRANCHES.map(({ end }) => end)];
  const to = [...BRANCHES.map((branch) => (passes(branch) ? branch.end : branch.start)), ENDS.norm];
  const pieces = sums.map((place, i) => ({ from: from[i], to: to[i], place }));
  return [...pieces, { from: ENDS.norm, to: 100, place: "normed" }];
}

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

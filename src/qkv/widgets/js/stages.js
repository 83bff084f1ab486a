/* The stages of the tagger, from the words to the answers, and the table of numbers at each stage. */

import { tag } from "./tagger.js";

/** Return the stages of block l: each has a name, its label in the flow, its title, its place in qkv.transformer, and
 * whether it is beside the residual stream. */
const block = (l) =>
  /** @type {[string, string, string, string, boolean][]} */ ([
    ["norm 1", "norm", "norm before attention", "attention.normed", true],
    ["attention", "attention", "weights of attention", "attention.weights", true],
    ["sum 1", "stream", "stream after attention", "attention.sum", false],
    ["norm 2", "norm", "norm before feed-forward", "feed_forward.normed", true],
    ["hidden", "feed-forward", "hidden layer", "feed_forward.hidden", true],
    ["sum 2", "stream", "stream after feed-forward", "feed_forward.sum", false],
  ]).map(([part, label, title, place, aside]) => ({
    name: `${l + 1} ${part}`,
    label,
    title: `${title}, block ${l + 1}`,
    place: `${l}.${place}`,
    aside,
    block: l + 1,
  }));

/** @typedef {{ name: string, label: string, title: string, place: string, aside?: boolean, block?: number }} Stage */
/** @type {Stage[]} */
export const STAGES = [
  { name: "embedding", label: "embedding", title: "embedding and positions", place: "0.state" },
  ...block(0),
  ...block(1),
  { name: "norm", label: "norm", title: "last norm", place: "normed" },
  { name: "classes", label: "classes", title: "scores of each class", place: "class_logits" },
  { name: "nouns", label: "nouns", title: "scores of each noun", place: "noun_logits" },
];

/** Return the stage with a name.
 * @param {string} name */
export function stageNamed(name) {
  const stage = STAGES.find((each) => each.name === name);
  if (!stage) throw new Error(`the flow has no stage ${name}`);
  return stage;
}

/** Return a tagger's answers to a sentence when some of its parts are off, with every place. */
export const tagWithParts = (model, sentence, { residual, norm, feed_forward }) =>
  tag(model, sentence.split(" "), { residual, norm, feedForward: feed_forward });

/** Return a stage's table for n words: `rows(i)` has `width` numbers of word i for each of `heads`. For weights,
 * these are the word's rows in all heads, one after the other. */
export function stageRows(places, { place }, n, nHeads) {
  const table = places[place];
  const isWeights = place.endsWith("weights");
  const heads = isWeights ? nHeads : 1;
  const width = table.length / n / heads;
  const ofHeads = (i) => Array.from({ length: heads * n }, (_, j) => table[(Math.floor(j / n) * n + i) * n + (j % n)]);
  const rows = (i) => (isWeights ? ofHeads(i) : table.subarray(i * width, (i + 1) * width));
  return { table, isWeights, heads, width, rows };
}

/* The four taggers of chapter 1: the class of each word, from what a tagger sees. They have no norm, no feed-forward
 * network and at most one head. */

import { randomIntegers } from "../maths.js";
import { add, crossEntropy, pick } from "./layers.js";
import { output, together, transformer } from "./model.js";
import { largestIn } from "./tasks.js";

/** @import { Grammar } from "../grammar.js" */
/** @import { Run } from "./layers.js" */
/** @import { Nodes, Shape } from "./model.js" */
/** @import { Switches } from "./training.js" */
/** @typedef {ReturnType<Labeller["encode"]>} Encoded a sentence with its ids and the ids of its classes */
/** @typedef {ReturnType<Labeller["gather"]>} LabellerBatch */
/** @typedef {ReturnType<Labeller["run"]>} LabellerResults */

/** What a tagger sees: the word alone; the words before and after it too; or all words by attention, which knows their
 * positions or not.
 * @typedef {"alone" | "window" | "attention" | "attention, positions"} Sees */

const WORD = "saw"; // a verb or a noun

export class Labeller {
  /** @param {Grammar} grammar
   * @param {{ sees?: Sees, pool?: number, seed?: number }} options */
  constructor(grammar, { sees = "attention, positions", pool = 300, seed = 0 } = {}) {
    this.grammar = grammar;
    this.sees = sees;
    this.words = grammar.wordsOf("english");
    this.edge = this.words.length; // what a window has beyond both ends
    const classes = grammar.classes.length;
    /** @type {Shape} */
    this.shape = {
      vocabulary: this.words.length + 1,
      longest: 11,
      dModel: 16,
      layers: sees.startsWith("attention") ? 1 : 0,
      heads: 1,
      hidden: 0,
      spread: { tokens: 1, positions: 1 },
      outputs: {
        classes: { size: classes, bias: true },
        ...(sees === "window" ? { before: { size: classes, bias: false }, after: { size: classes, bias: false } } : {}),
      },
    };
    const next = randomIntegers(2 ** 20 * (seed + 1));
    this.pool = Array.from({ length: pool }, () => this.one("training", next));
  }

  /** Draw a sentence without *it*.
   * @param {string} part
   * @param {() => number} next
   * @returns {Encoded} */
  one(part, next) {
    for (;;) {
      const { words, classes, it } = this.grammar.drawFrom(part, next, "english");
      if (it === null) return this.encode(words, classes);
    }
  }

  /** Draw sentences of a part of the grammar that have a *saw*.
   * @param {string} part
   * @param {number} count
   * @param {number} seed */
  draw(part, count, seed) {
    const next = randomIntegers(seed);
    /** @type {Encoded[]} */
    const found = [];
    while (found.length < count) {
      const sentence = this.one(part, next);
      if (sentence.words.includes(WORD)) found.push(sentence);
    }
    return found;
  }

  /** @param {string[]} words
   * @param {string[]} classes */
  encode(words, classes) {
    return {
      words,
      ids: words.map((word) => this.words.indexOf(word)),
      classes: classes.map((kind) => this.grammar.classes.indexOf(kind)),
    };
  }

  /** @param {number} size
   * @param {() => number} next */
  batch(size, next) {
    return this.gather(Array.from({ length: size }, () => this.pool[next() % this.pool.length]));
  }

  /** Put sentences together. `saws` has the rows of *saw* in each sentence.
   * @param {Encoded[]} list */
  gather(list) {
    const batch = together(list.map(({ ids }) => ids));
    const sentences = batch.order.map((i) => list[i]);
    let start = 0;
    const neighbours = (/** @type {number} */ step) =>
      sentences.flatMap(({ ids }) => ids.map((_, i) => ids[i + step] ?? this.edge));
    return {
      ...batch,
      sentences,
      before: neighbours(-1),
      after: neighbours(1),
      classes: sentences.flatMap(({ classes }) => classes),
      saws: sentences.map(({ words }) => {
        start += words.length;
        return words.flatMap((word, i) => (word === WORD ? [start - words.length + i] : []));
      }),
    };
  }

  /** @param {Run} run
   * @param {Nodes} nodes
   * @param {LabellerBatch} batch
   * @param {Switches} switches */
  run(run, nodes, batch, switches) {
    const { states, weights } = transformer(run, nodes, batch, this.shape, switches);
    let classes = output(run, nodes, states, "classes");
    for (const side of /** @type {("before" | "after")[]} */ (this.sees === "window" ? ["before", "after"] : []))
      classes = add(run, classes, output(run, nodes, pick(run, nodes.tokens, batch[side]), side));
    return { batch, weights, classes };
  }

  /** @param {Run} run
   * @param {Nodes} nodes
   * @param {LabellerBatch} batch
   * @param {Switches} switches */
  loss(run, nodes, batch, switches) {
    return crossEntropy(run, this.run(run, nodes, batch, switches).classes, batch.classes);
  }

  /** The share of *saw* whose class is right, and of sentences with several whose *saws* all get one class.
   * @param {LabellerResults} parts */
  measure({ batch, classes }) {
    const said = (/** @type {number} */ row) => largestIn(classes.value.row(row));
    const rows = batch.saws.flat();
    const several = batch.saws.filter(({ length }) => length > 1);
    const same = several.filter(([first, ...others]) => others.every((row) => said(row) === said(first)));
    return {
      right: rows.filter((row) => said(row) === batch.classes[row]).length / rows.length,
      same: same.length / several.length,
    };
  }
}

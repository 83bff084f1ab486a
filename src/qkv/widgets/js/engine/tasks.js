/* The two tasks: what a batch is, what the loss is, and what is measured. */

import { randomIntegers } from "../maths.js";
import { crossEntropy, pick } from "./layers.js";
import { output, together, transformer } from "./model.js";

/** @import { Grammar, Language, Sentence } from "../grammar.js" */
/** @import { Node, Run } from "./layers.js" */
/** @import { Matrix } from "./memory.js" */
/** @import { Nodes, Shape } from "./model.js" */
/** @import { Switches } from "./training.js" */
/** @typedef {ReturnType<Tagger["encode"]>} Encoded a sentence with *it*, with its ids and its targets */
/** @typedef {ReturnType<Tagger["gather"]>} TaggerBatch */
/** @typedef {ReturnType<Tagger["run"]>} TaggerResults */
/** @typedef {{ sentence: Encoded, said: string }} Answer */
/** @typedef {ReturnType<Repeater["gather"]>} RepeaterBatch */
/** @typedef {ReturnType<Repeater["run"]>} RepeaterResults */
/** @typedef {(token: number, period: number) => number[]} Seen the places that are looked for */

/** @param {ArrayLike<number>} numbers */
export function largestIn(numbers) {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}

const mean = (/** @type {number[]} */ numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** The weights of each sequence of a batch: for each head, the row of token i. `weights` are those of a layer by group.
 * @param {Pick<TaggerBatch, "groups">} batch
 * @param {Matrix[]} weights
 * @param {number} heads */
export function rowsOf({ groups }, weights, heads) {
  return groups.flatMap(({ count, n }, g) =>
    Array.from(
      { length: count },
      (_, s) => (/** @type {number} */ i) =>
        Array.from({ length: heads }, (_, h) => weights[g].row((s * heads + h) * n + i)),
    ),
  );
}

/** The tagger: the class of each word, and the noun that *it* stands for. It is trained on `pool` sentences with *it*. */
export class Tagger {
  /** @param {Grammar} grammar
   * @param {Partial<Shape> & { language?: Language, pool?: number, rule?: readonly string[], seed?: number }} [sizes] */
  constructor(grammar, { language = "english", pool = 20000, rule = [], seed = 0, ...sizes } = {}) {
    this.grammar = grammar;
    this.language = language;
    this.rule = rule;
    this.seed = seed;
    this.words = grammar.wordsOf(language);
    this.nouns = grammar.data[language].nouns;
    this.ids = new Map(this.words.map((word, i) => [word, i]));
    /** @type {Shape} */
    this.shape = {
      vocabulary: this.words.length,
      longest: 11,
      dModel: 32,
      layers: 2,
      heads: 2,
      hidden: 64,
      spread: { tokens: 0.3, positions: 0.3 },
      outputs: {
        classes: { size: grammar.classes.length, bias: true },
        nouns: { size: this.nouns.length, bias: true },
      },
      ...sizes,
    };
    /** @type {Encoded[]} */
    this.pool = new Array(pool); // a sentence is drawn when it is first needed: sentence i comes from a seed of its own
  }

  /** Draw sentences of a part of the grammar, encoded.
   * @param {string} part
   * @param {number} count
   * @param {number} seed */
  draw(part, count, seed) {
    const next = randomIntegers(seed);
    return Array.from({ length: count }, () => this.one(part, next));
  }

  /** @param {string} part
   * @param {() => number} next
   * @returns {Encoded} */
  one(part, next) {
    return this.encode(this.grammar.drawFrom(part, next, this.language, { onlyIt: true, rule: this.rule }));
  }

  /** @param {Sentence} sentence */
  encode({ words, classes, it, noun }) {
    return {
      words,
      ids: words.map((word) => /** @type {number} */ (this.ids.get(word))),
      classes: classes.map((kind) => this.grammar.classes.indexOf(kind)),
      it: /** @type {number} */ (it),
      noun,
      nounsAt: classes.flatMap((kind, i) => (kind === "noun" ? [i] : [])),
      act: /** @type {string} */ (words.find((word) => word in this.grammar.data[this.language].acts)),
      target: noun === null ? -1 : this.nouns.indexOf(words[noun]),
    };
  }

  /** @param {number} size
   * @param {() => number} next */
  batch(size, next) {
    const chosen = Array.from({ length: size }, () => next() % this.pool.length);
    return this.gather(chosen.map((i) => this.trained(i)));
  }

  /** Return sentence i of the training.
   * @param {number} i */
  trained(i) {
    this.pool[i] ??= this.one("training", randomIntegers(i + 2 ** 20 * (this.seed + 1)));
    return this.pool[i];
  }

  /** Put sentences with *it* together.
   * @param {Encoded[]} list */
  gather(list) {
    const batch = together(list.map(({ ids }) => ids));
    const sentences = batch.order.map((i) => list[i]);
    let start = 0;
    const its = sentences.map(({ it, ids }) => {
      start += ids.length;
      return start - ids.length + it;
    });
    return { ...batch, sentences, its, classes: sentences.flatMap(({ classes }) => classes) };
  }

  /** @param {Run} run
   * @param {Nodes} nodes
   * @param {TaggerBatch} batch
   * @param {Switches} switches */
  run(run, nodes, batch, switches) {
    const { states, weights } = transformer(run, nodes, batch, this.shape, switches);
    const nouns = output(run, nodes, pick(run, states, batch.its), "nouns");
    return { batch, weights, classes: output(run, nodes, states, "classes"), nouns };
  }

  /** @param {Run} run
   * @param {Nodes} nodes
   * @param {TaggerBatch} batch
   * @param {Switches} switches */
  loss(run, nodes, batch, switches) {
    const { classes, nouns } = this.run(run, nodes, batch, switches);
    const targets = batch.sentences.map(({ target }) => target);
    return crossEntropy(run, classes, batch.classes) + crossEntropy(run, nouns, targets);
  }

  /** The share of *it* whose noun is right, and of words whose class is right.
   * @param {TaggerResults} results */
  measure({ batch, classes, nouns }) {
    const right = batch.sentences.map(({ target }, i) => Number(largestIn(nouns.value.row(i)) === target));
    const kinds = batch.classes.map((kind, i) => Number(largestIn(classes.value.row(i)) === kind));
    return { it: mean(right), classes: mean(kinds) };
  }

  /** The noun that the model finds for the *it* of each sentence.
   * @param {Pick<TaggerResults, "batch" | "nouns">} results
   * @returns {Answer[]} */
  answers({ batch, nouns }) {
    return batch.sentences.map((sentence, i) => ({ sentence, said: this.nouns[largestIn(nouns.value.row(i))] }));
  }
}

/** The repeater: the next symbol of a sequence that repeats. */
export class Repeater {
  /** @param {Partial<Shape> & { symbols?: number, longest?: number, periods?: [number, number] }} [sizes] */
  constructor({ symbols = 32, longest = 32, periods = [6, 16], ...sizes } = {}) {
    this.periods = periods;
    /** @type {Shape} */
    this.shape = {
      vocabulary: symbols,
      longest,
      dModel: 32,
      layers: 2,
      heads: 2,
      hidden: 0,
      spread: { tokens: 1, positions: 0.3 },
      outputs: { next: { size: symbols, bias: false } },
      ...sizes,
    };
  }

  /** @param {number} size
   * @param {() => number} next */
  batch(size, next) {
    const [shortest, most] = this.periods;
    const { vocabulary, longest } = this.shape;
    const periods = Array.from({ length: size }, () => shortest + (next() % (most - shortest + 1)));
    const repeated = periods.map((period) => {
      const symbols = Array.from({ length: period }, () => next() % vocabulary);
      return Array.from({ length: longest }, (_, i) => symbols[i % period]);
    });
    return this.gather(repeated, periods);
  }

  /** Put sequences of one length together.
   * @param {number[][]} lists
   * @param {number[]} periods */
  gather(lists, periods) {
    const n = lists[0].length;
    const batch = together(lists);
    const asked = batch.ids.flatMap((_, row) => ((row + 1) % n ? [row] : []));
    return { ...batch, n, periods, asked, targets: asked.map((row) => batch.ids[row + 1]) };
  }

  /** @param {Run} run
   * @param {Nodes} nodes
   * @param {RepeaterBatch} batch
   * @param {Switches} switches */
  run(run, nodes, batch, switches) {
    const { states, weights } = transformer(run, nodes, batch, this.shape, switches);
    return { batch, weights, next: output(run, nodes, pick(run, states, batch.asked), "next") };
  }

  /** @param {Run} run
   * @param {Nodes} nodes
   * @param {RepeaterBatch} batch
   * @param {Switches} switches */
  loss(run, nodes, batch, switches) {
    return crossEntropy(run, this.run(run, nodes, batch, switches).next, batch.targets);
  }

  /** The mean surprise in the first period and in the later ones, in nats; and for each layer the largest mean weight of
   * a head on the token before (`previous`), on the token after the same symbol one period earlier (`induction`), and on
   * all tokens after the same symbol (`followed`).
   * @param {RepeaterResults} results */
  measure({ batch, weights, next }) {
    const { periods, n } = batch;
    const sums = { first: [0, 0], repeated: [0, 0] };
    batch.asked.forEach((row, i) => {
      const sum = sums[(row % n) + 1 >= periods[Math.floor(row / n)] ? "repeated" : "first"];
      sum[0] += surprise(next.value.row(i), batch.targets[i]);
      sum[1] += 1;
    });
    const largest = (/** @type {Seen} */ seen) => weights.map((layer) => Math.max(...this.scores(batch, layer, seen)));
    return {
      first: sums.first[0] / sums.first[1],
      repeated: sums.repeated[0] / sums.repeated[1],
      previous: largest((t) => (t > 0 ? [t - 1] : [])),
      induction: largest((t, period) => (t >= period ? [t - period + 1] : [])),
      followed: largest(followers),
    };
  }

  /** The mean weight of each head of a layer on the places that `seen(place, period)` lists.
   * @param {RepeaterBatch} batch
   * @param {Matrix[]} layer
   * @param {Seen} seen */
  scores(batch, layer, seen) {
    const { heads } = this.shape;
    /** @type {number[]} */
    const sums = new Array(heads).fill(0);
    let count = 0;
    rowsOf(batch, layer, heads).forEach((row, s) => {
      for (let t = 0; t < batch.n; t++) {
        const places = seen(t, batch.periods[s]);
        if (places.length === 0) continue;
        count += 1;
        row(t).forEach((weights, h) => {
          for (const j of places) sums[h] += weights[j];
        });
      }
    });
    return sums.map((sum) => sum / count);
  }
}

/** The places after the same symbol, whole periods earlier.
 * @type {Seen} */
export const followers = (t, period) =>
  Array.from({ length: Math.floor(t / period) }, (_, k) => t - (k + 1) * period + 1);

/** @param {ArrayLike<number> & Iterable<number>} logits
 * @param {number} target */
function surprise(logits, target) {
  const top = logits[largestIn(logits)];
  let total = 0;
  for (const x of logits) total += Math.exp(x - top);
  return Math.log(total) + top - logits[target];
}

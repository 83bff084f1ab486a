/* A training as TrainLab shows it: the choices of the reader become a task, and what can be seen of it is measured. */

import { randomIntegers } from "../maths.js";
import { habitOf, habitOfRepeater, softmax } from "./habits.js";
import { Labeller } from "./labeller.js";
import { planOf } from "./plans.js";
import { PERIOD, PUZZLE, SAWS, SHOWN, SYMBOLS, TEXT } from "./shown.js";
import { Repeater, rowsOf, Tagger } from "./tasks.js";
import { Training } from "./training.js";

const ASKED = 100; // new sentences at each frame
const AT_THE_END = 1000; // new sentences, and held-out combinations
const LIKELIEST = 2; // answers that are shown

/** @import { Grammar, Sentence } from "../grammar.js" */
/** @import { Memory } from "./memory.js" */
/** @import { LabellerBatch, LabellerResults } from "./labeller.js" */
/** @import { Choices, Plan } from "./plans.js" */
/** @import { Frame, Line, Result } from "./shown.js" */
/** @import { Answer, Encoded, RepeaterBatch, RepeaterResults, TaggerBatch, TaggerResults } from "./tasks.js" */
/** @import { Task } from "./training.js" */

/** Return the session of a training.
 * @param {Partial<Choices> & { task: Choices["task"] }} choices
 * @param {Memory} memory
 * @param {Grammar} grammar */
export const sessionOf = (choices, memory, grammar) =>
  new ({ tagger: TaggerSession, repeater: RepeaterSession, labeller: LabellerSession })[choices.task](
    planOf(choices),
    memory,
    grammar,
  );

/** @template Batch
 * @template Results */
class Session {
  /** @param {Plan} plan
   * @param {Memory} memory
   * @param {Task<Batch, Results>} task */
  constructor({ settings, switches, measured }, memory, task) {
    this.training = new Training(task, settings, memory, switches);
    this.steps = settings.steps;
    this.seed = settings.seed;
    this.measured = measured;
    this.loss = NaN; // the mean of the last steps
  }

  get step() {
    return this.training.step;
  }

  /** Do some steps.
   * @param {number} steps */
  advance(steps) {
    const count = Math.min(steps, this.steps - this.step);
    let sum = 0;
    for (let i = 0; i < count; i++) sum += this.training.advance();
    this.loss = sum / count;
  }

  /** @template Found
   * @param {Batch} batch
   * @param {(results: Results) => Found} read */
  look(batch, read) {
    return this.training.look(batch, read, this.measured);
  }
}

/** @extends {Session<TaggerBatch, TaggerResults>} */
class TaggerSession extends Session {
  /** @param {Plan} plan
   * @param {Memory} memory
   * @param {Grammar} grammar */
  constructor(plan, memory, grammar) {
    const task = new Tagger(grammar, plan.sizes);
    super(plan, memory, task);
    this.task = task;
    this.test = task.gather(task.draw("new", ASKED, 1000 + this.seed));
    const shown = SHOWN[task.language].map((words) =>
      grammar.turned(/** @type {Sentence} */ (grammar.read(words)), task.rule),
    );
    this.shown = task.gather(shown.map((sentence) => task.encode(sentence)));
  }

  /** Return what is seen now.
   * @returns {Frame} */
  frame() {
    const { step, loss, task } = this;
    return {
      step,
      loss,
      score: this.look(this.test, (found) => task.measure(found).it),
      shown: this.look(this.shown, (found) => this.lines(found)),
    };
  }

  /** @param {TaggerResults} results
   * @returns {Line[]} */
  lines({ batch, weights, nouns }) {
    const rows = rowsOf(batch, weights[weights.length - 1], this.task.shape.heads);
    return batch.sentences.map(({ it }, s) => ({
      weights: meanOf(rows[s](it)),
      says: likeliest(nouns.value.row(s), this.task.nouns),
    }));
  }

  /** Return what is measured at the end, on sentences that it was not trained on, and on some of its own.
   * @returns {Result} */
  result() {
    const { task } = this;
    const [known, combination] = ["new", "combination"].map((part) =>
      this.answersTo(task.draw(part, AT_THE_END, 2000 + this.seed)),
    );
    const own = this.answersTo(Array.from({ length: Math.min(ASKED, task.pool.length) }, (_, i) => task.trained(i)));
    return { score: right(known), heldOut: right(combination), own: right(own), habit: habitOf(known) };
  }

  /** Return the noun that the model says for each sentence, a hundred at a time.
   * @param {Encoded[]} sentences */
  answersTo(sentences) {
    const hundreds = Array.from({ length: Math.ceil(sentences.length / ASKED) }, (_, i) =>
      sentences.slice(ASKED * i, ASKED * (i + 1)),
    );
    return hundreds.flatMap((some) => this.look(this.task.gather(some), (found) => this.task.answers(found)));
  }
}

/** The share of right answers.
 * @param {Answer[]} answers */
const right = (answers) =>
  answers.filter(({ sentence: { words, noun }, said }) => said === words[/** @type {number} */ (noun)]).length /
  answers.length;

/** @extends {Session<RepeaterBatch, RepeaterResults>} */
class RepeaterSession extends Session {
  /** @param {Plan} plan
   * @param {Memory} memory */
  constructor(plan, memory) {
    const task = new Repeater(plan.sizes);
    super(plan, memory, task);
    this.task = task;
    this.test = task.batch(24, randomIntegers(1000 + this.seed));
    this.shown = task.gather([[...TEXT].map((symbol) => SYMBOLS.indexOf(symbol))], [PERIOD]);
  }

  /** Return what is seen now.
   * @returns {Frame} */
  frame() {
    const { step, loss } = this;
    const { repeated, previous, followed } = this.look(this.test, (found) => this.task.measure(found));
    const shown = this.look(this.shown, (found) => this.lines(found));
    return { step, loss, score: repeated, shown, previous: previous[0], followed: followed[followed.length - 1] };
  }

  /** Return a line for the last layer, and one for the head of the first layer that looks most at the symbol before. They
   * are those of the symbol before the last: the last is asked for.
   * @param {RepeaterResults} results
   * @returns {Line[]} */
  lines({ batch, weights, next }) {
    const asks = batch.n - 2;
    const says = likeliest(next.value.row(asks), [...SYMBOLS]);
    const rows = weights.map((layer) => rowsOf(batch, layer, this.task.shape.heads)[0](asks));
    const [first, last] = [rows[0], rows[rows.length - 1]];
    const looksBack = first.reduce((best, row) => (row[asks - 1] > best[asks - 1] ? row : best));
    const lines = rows.length > 1 ? [meanOf(last), Array.from(looksBack)] : [meanOf(last)];
    return lines.map((weights) => ({ weights, says }));
  }

  /** Return what is measured at the end.
   * @returns {Result} */
  result() {
    return this.look(this.task.batch(64, randomIntegers(2000 + this.seed)), (found) => {
      const { repeated } = this.task.measure(found);
      return { score: repeated, habit: habitOfRepeater(found, repeated, this.loss) };
    });
  }
}

/** @extends {Session<LabellerBatch, LabellerResults>} */
class LabellerSession extends Session {
  /** @param {Plan} plan
   * @param {Memory} memory
   * @param {Grammar} grammar */
  constructor(plan, memory, grammar) {
    const task = new Labeller(grammar, plan.sizes);
    super(plan, memory, task);
    this.task = task;
    this.test = task.gather(task.draw("new", ASKED, 1000 + this.seed));
    this.shown = task.gather([task.encode(PUZZLE, /** @type {Sentence} */ (grammar.read(PUZZLE)).classes)]);
  }

  /** Return what is seen now.
   * @returns {Frame} */
  frame() {
    const { step, loss, task } = this;
    return {
      step,
      loss,
      score: this.look(this.test, (found) => task.measure(found).right),
      shown: this.look(this.shown, (found) => this.lines(found)),
    };
  }

  /** Return a line for each *saw*. A tagger without attention has no weights.
   * @param {LabellerResults} results
   * @returns {Line[]} */
  lines({ batch, weights, classes }) {
    const rows = weights.length ? rowsOf(batch, weights[0], 1)[0] : () => [PUZZLE.map(() => 0)];
    return SAWS.map((row) => ({
      weights: meanOf(rows(row)),
      says: likeliest(classes.value.row(row), this.task.grammar.classes),
    }));
  }

  /** Return what is measured at the end.
   * @returns {Result} */
  result() {
    const asked = this.task.gather(this.task.draw("new", AT_THE_END, 2000 + this.seed));
    return this.look(asked, (found) => {
      const { right, same } = this.task.measure(found);
      return { score: right, habit: { kind: same === 1 ? "same" : "right", share: same } };
    });
  }
}

/** Return the mean of rows.
 * @param {ArrayLike<number>[]} rows
 * @returns {number[]} */
const meanOf = (rows) => Array.from(rows[0], (_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);

/** Return the likeliest answers, with their probabilities.
 * @param {ArrayLike<number>} logits
 * @param {string[]} names
 * @returns {[string, number][]} */
function likeliest(logits, names) {
  const chances = softmax(logits);
  const order = chances.map((_, k) => k).sort((a, b) => chances[b] - chances[a]);
  return order.slice(0, LIKELIEST).map((k) => [names[k], chances[k]]);
}

/* A training as TrainLab shows it: the choices of the reader become a task, and what can be seen of it is measured. */

import { randomIntegers } from "../maths.js";
import { habitOf, habitOfRepeater, softmax } from "./habits.js";
import { planOf } from "./plans.js";
import { Repeater, rowsOf, Tagger } from "./tasks.js";
import { Training } from "./training.js";

const ASKED = 100; // new sentences at each frame
const AT_THE_END = 1000; // new sentences, and held-out combinations
const LIKELIEST = 2; // answers that are shown

/** The sentences that are shown: one verb, and an adjective for each of the two nouns. */
export const SHOWN = {
  english: ["hungry", "tasty"].map((word) => `the cat chased the mouse because it was ${word}`.split(" ")),
  chinese: ["餓了", "很好吃"].map((word) => ["貓", "追", "老鼠", "因為", "它", word]),
};
/** The symbols that are shown: they repeat with a period of 8. */
export const SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ123456";
export const TEXT = "KT3QBYMF".repeat(3).slice(0, 19);
const PERIOD = 8;

/** @typedef {{ weights: number[], says: [string, number][] }} Line where a line's last question looks, and the likeliest answers */
/** @typedef {{ step: number, loss: number | null, score: number, shown?: Line[], previous?: number, followed?: number }} Frame */

export class Session {
  /** @param {import("./plans.js").Choices} choices */
  constructor(choices, memory, grammar) {
    const plan = planOf(choices);
    const { seed } = plan.settings;
    const isTagger = plan.task === "tagger";
    this.measured = plan.measured;
    this.loss = NaN; // the mean of the last steps
    this.grammar = grammar;
    this.task = isTagger ? new Tagger(grammar, plan.sizes) : new Repeater(plan.sizes);
    this.training = new Training(this.task, plan.settings, memory, plan.switches);
    if (isTagger) {
      this.test = this.task.gather(this.task.draw("new", ASKED, 1000 + seed));
      const shown = SHOWN[plan.sizes.language].map((words) => grammar.turned(grammar.read(words), plan.sizes.rule));
      this.shown = this.task.gather(shown.map((sentence) => this.task.encode(sentence)));
    } else {
      this.test = this.task.batch(24, randomIntegers(1000 + seed));
      this.shown = this.task.gather([[...TEXT].map((symbol) => SYMBOLS.indexOf(symbol))], [PERIOD]);
    }
  }

  get steps() {
    return this.training.settings.steps;
  }

  get step() {
    return this.training.step;
  }

  /** Do some steps, and return the mean loss. */
  advance(steps) {
    let sum = 0;
    const last = Math.min(this.step + steps, this.steps);
    const count = last - this.step;
    while (this.step < last) sum += this.training.advance();
    this.loss = sum / count;
    return this.loss;
  }

  /** Return what is seen now.
   * @param {number | null} loss
   * @returns {Frame} */
  frame(loss) {
    const measured = this.look(this.test, (found) => this.task.measure(found));
    const shown = this.look(this.shown, (found) => this.lines(found));
    const { step } = this;
    if (this.task instanceof Tagger) return { step, loss, score: measured.it, shown };
    const { repeated, previous, followed } = measured;
    return { step, loss, score: repeated, shown, previous: previous[0], followed: followed[followed.length - 1] };
  }

  look(batch, read) {
    return this.training.look(batch, read, this.measured);
  }

  /** @returns {Line[]} */
  lines({ batch, weights, nouns, next }) {
    const { heads } = this.task.shape;
    const mean = (rows) => Array.from(rows[0], (_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
    const answers = ({ value }, i, names) => {
      const chances = softmax(value.row(i));
      const order = chances.map((_, k) => k).sort((a, b) => chances[b] - chances[a]);
      return order.slice(0, LIKELIEST).map((k) => /** @type {[string, number]} */ ([names[k], chances[k]]));
    };
    if (nouns) {
      const rows = rowsOf(batch, weights[weights.length - 1], heads);
      return batch.sentences.map(({ it }, s) => ({
        weights: mean(rows[s](it)),
        says: answers(nouns, s, this.task.nouns),
      }));
    }
    // One line for the last layer and one for the first, both from the symbol before the last: the last is the answer.
    const asks = batch.n - 2;
    const says = answers(next, asks, [...SYMBOLS]);
    return [...weights].reverse().map((layer) => ({ weights: mean(rowsOf(batch, layer, heads)[0](asks)), says }));
  }

  /** Return what is measured at the end, on many texts that it was not trained on. */
  result() {
    if (this.task instanceof Repeater) {
      const batch = this.task.batch(64, randomIntegers(2000 + this.training.settings.seed));
      return this.look(batch, (results) => {
        const measured = this.task.measure(results);
        return { score: measured.repeated, habit: habitOfRepeater(results, measured, this.loss) };
      });
    }
    const { task } = this;
    const share = (part) => {
      const answers = this.answersTo(task.draw(part, AT_THE_END, 2000 + task.seed));
      return { answers, right: answers.filter(({ sentence, said }) => said === sentence.words[sentence.noun]).length };
    };
    const [known, combination] = [share("new"), share("combination")];
    const own = this.answersTo(Array.from({ length: Math.min(ASKED, task.pool.length) }, (_, i) => task.trained(i)));
    const rightOwn = own.filter(({ sentence, said }) => said === sentence.words[sentence.noun]).length;
    return {
      score: known.right / AT_THE_END,
      heldOut: combination.right / AT_THE_END,
      own: rightOwn / own.length,
      habit: habitOf(known.answers),
    };
  }

  /** Return the noun that the model says for each sentence, a hundred at a time. */
  answersTo(sentences) {
    const hundreds = Array.from({ length: Math.ceil(sentences.length / ASKED) }, (_, i) =>
      sentences.slice(ASKED * i, ASKED * (i + 1)),
    );
    return hundreds.flatMap((some) => this.look(this.task.gather(some), (found) => this.task.answers(found)));
  }
}

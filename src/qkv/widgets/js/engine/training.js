/* Training: AdamW with a one-cycle schedule, as in torch. */

import { normals, randomIntegers } from "../maths.js";
import { Run } from "./layers.js";
import { initialise, takeParameters } from "./model.js";

/** @import { Matrix, Memory } from "./memory.js" */
/** @import { Nodes, Settings, Shape } from "./model.js" */
/** @typedef {Partial<Settings>} Switches settings of the forward pass */
/** @typedef {object} Schedule
 * @property {number} steps
 * @property {number} batch sequences of a batch
 * @property {number} rate the highest learning rate
 * @property {number} warmUp the share of the steps in which the rate rises
 * @property {number} beta2
 * @property {number} seed */
/** What a model learns: its batches, its loss, and the results of a run.
 * @template Batch
 * @template Results
 * @typedef {object} Task
 * @property {Shape} shape
 * @property {(size: number, next: () => number) => Batch} batch
 * @property {(run: Run, nodes: Nodes, batch: Batch, switches: Switches) => number} loss
 * @property {(run: Run, nodes: Nodes, batch: Batch, switches: Switches) => Results} run */

const DECAY = 0.01;

/** The learning rate and the momentum β₁ of step `step` of `steps`: as in torch's OneCycleLR, the rate rises to `rate`
 * and falls to almost 0, along cosines, and the momentum does the opposite.
 * @param {number} step
 * @param {number} steps
 * @param {number} rate
 * @param {number} warmUp */
export function oneCycle(step, steps, rate, warmUp) {
  const between = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ share) =>
    to + ((from - to) / 2) * (1 + Math.cos(Math.PI * share));
  const top = warmUp * steps - 1;
  if (step <= top) {
    const share = step / top;
    return { rate: between(rate / 25, rate, share), momentum: between(0.95, 0.85, share) };
  }
  const share = (step - top) / (steps - 1 - top);
  return { rate: between(rate, rate / 25e4, share), momentum: between(0.85, 0.95, share) };
}

/** A model in training. The same seed gives the same numbers.
 * @template Batch
 * @template Results */
export class Training {
  /** @param {Task<Batch, Results>} task
   * @param {Schedule} settings
   * @param {Memory} memory
   * @param {Switches} [switches] */
  constructor(task, settings, memory, switches = {}) {
    this.task = task;
    this.settings = settings;
    this.switches = switches;
    this.memory = memory;
    const { nodes, values, grads } = takeParameters(task.shape, memory, true);
    const { size } = values;
    this.nodes = nodes;
    this.values = values;
    this.grads = /** @type {Matrix} */ (grads); // a model in training has them
    this.means = memory.take(1, size);
    this.squares = memory.take(1, size);
    for (const { numbers } of [this.means, this.squares]) numbers.fill(0);
    const drawn = normals(size + (size % 2), 2 * settings.seed + 1);
    this.next = randomIntegers(2 * settings.seed);
    let at = 0;
    initialise(task.shape, nodes, { normal: () => drawn[at++], uniform: () => this.next() / 2 ** 32 });
    this.step = 0;
  }

  /** Do one step, and return the loss before it. */
  advance(batch = this.task.batch(this.settings.batch, this.next)) {
    const { steps, rate, warmUp, beta2 } = this.settings;
    const loss = this.differentiate(batch);
    const now = oneCycle(this.step, steps, rate, warmUp);
    this.step += 1;
    const [values, grads, means, squares] = [this.values, this.grads, this.means, this.squares].map(
      (each) => each.address,
    );
    this.memory.kernels.adamw(
      values,
      grads,
      means,
      squares,
      this.values.size,
      now.rate,
      now.momentum,
      beta2,
      1e-8,
      DECAY,
      this.step,
    );
    return loss;
  }

  /** Compute the derivatives of the loss by all parameters, and return the loss.
   * @param {Batch} batch */
  differentiate(batch) {
    this.grads.numbers.fill(0);
    const run = new Run(this.memory, true);
    const loss = this.task.loss(run, this.nodes, batch, this.switches);
    run.backward();
    run.end();
    return loss;
  }

  /** Run a batch without training, and return what `read(results)` returns.
   * @template Found
   * @param {Batch} batch
   * @param {(results: Results) => Found} read
   * @param {Switches} [switches] */
  look(batch, read, switches = {}) {
    const run = new Run(this.memory, false);
    const found = read(this.task.run(run, this.nodes, batch, { ...this.switches, ...switches }));
    run.end();
    return found;
  }
}

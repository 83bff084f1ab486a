/* The layers of a transformer, forward and backward.
 *
 * A run computes with nodes. A node has a matrix of values and, in training, one of the same size with the derivatives
 * of the loss by these values. Each layer returns the node of its result, and notes how derivatives go back through
 * it; `run.backward()` follows these notes in reverse order. Rows are tokens: the sequences of a batch follow each
 * other, without padding. */

/** @import { Matrix, Memory } from "./memory.js" */
/** @typedef {{ value: Matrix, grad: Matrix }} Node a matrix and its derivatives, which it has only in training */
/** @typedef {{ start: number, count: number, n: number }} Group sequences of one length that follow each other: the row
 *   where they start, how many they are, and how many tokens each has */
/** @typedef {{ groups: Group[], heads: number, factor: number, causal: boolean }} Looking */
/** @typedef {(place: string, matrix: Matrix) => void} See */

/** One computation: forward and, in training, backward. */
export class Run {
  /** @param {Memory} memory
   * @param {boolean} training */
  constructor(memory, training) {
    this.memory = memory;
    this.training = training;
    this.start = memory.used;
    /** @type {(() => void)[]} */
    this.notes = [];
  }

  /** @param {number} rows
   * @param {number} columns
   * @returns {Node} */
  node(rows, columns) {
    const value = this.memory.take(rows, columns);
    if (!this.training) return /** @type {Node} */ ({ value });
    const grad = this.memory.take(rows, columns);
    grad.numbers.fill(0);
    return { value, grad };
  }

  /** @param {() => void} back */
  note(back) {
    if (this.training) this.notes.push(back);
  }

  backward() {
    for (const back of this.notes.reverse()) back();
  }

  /** Give the memory back. The nodes can no longer be read. */
  end() {
    this.memory.used = this.start;
  }
}

/** Rows of x, by their indices: the vectors of tokens from a table, or the states of some tokens.
 * @param {Run} run
 * @param {Node} x
 * @param {number[]} indices */
export function pick(run, x, indices) {
  const { kernels } = run.memory;
  const { columns } = x.value;
  const out = run.node(indices.length, columns);
  const list = run.memory.list(indices);
  kernels.gather(out.value.address, x.value.address, list, indices.length, columns, 0);
  run.note(() => kernels.scatter(x.grad.address, out.grad.address, list, indices.length, columns));
  return out;
}

/** @param {Run} run
 * @param {Node} a
 * @param {Node} b */
export function add(run, a, b) {
  const { kernels } = run.memory;
  const { rows, columns, size } = a.value;
  const out = run.node(rows, columns);
  kernels.add(out.value.address, size, a.value.address, size, 1, b.value.address, size, 1, 1, size);
  run.note(() => {
    for (const { grad } of [a, b]) kernels.addScaled(grad.address, out.grad.address, 1, size);
  });
  return out;
}

/** x W + b, for each row of x. The bias may be left out.
 * @param {Run} run
 * @param {Node} x
 * @param {Node} weight
 * @param {Node} [bias] */
export function linear(run, x, weight, bias) {
  const { kernels } = run.memory;
  const { rows, columns: inputs } = x.value;
  const { columns } = weight.value;
  const out = run.node(rows, columns);
  const [from, w, to] = [x.value.address, weight.value.address, out.value.address];
  kernels.product(to, columns, from, inputs, 1, w, columns, 1, rows, inputs, columns, 0);
  if (bias) kernels.add(to, columns, to, columns, 1, bias.value.address, 0, 1, rows, columns);
  run.note(() => {
    const dOut = out.grad.address;
    kernels.product(weight.grad.address, columns, from, 1, inputs, dOut, columns, 1, inputs, rows, columns, 1);
    kernels.product(x.grad.address, inputs, dOut, columns, 1, w, 1, columns, rows, columns, inputs, 1);
    if (bias) kernels.sum(bias.grad.address, dOut, 1, rows, columns, 1);
  });
  return out;
}

/** Each row with mean 0 and variance 1 over its features, times the gain, plus the bias.
 * @param {Run} run
 * @param {Node} x
 * @param {Node} gain
 * @param {Node} bias */
export function norm(run, x, gain, bias) {
  const { kernels } = run.memory;
  const { rows, columns } = x.value;
  const out = run.node(rows, columns);
  const units = run.memory.take(rows, columns).address; // the rows before gain and bias
  const roots = run.memory.take(rows, 1).address; // 1 / √(variance + ε)
  const [g, b] = [gain.value.address, bias.value.address];
  kernels.norm(out.value.address, units, roots, x.value.address, g, b, rows, columns, 1e-5);
  run.note(() => {
    const [dX, dGain, dBias, dOut] = [x, gain, bias, out].map(({ grad }) => grad.address);
    kernels.normBack(dX, dGain, dBias, dOut, units, roots, g, rows, columns);
  });
  return out;
}

/** max(x, 0)
 * @param {Run} run
 * @param {Node} x */
export function relu(run, x) {
  const { kernels } = run.memory;
  const { rows, columns, size } = x.value;
  const out = run.node(rows, columns);
  kernels.relu(out.value.address, x.value.address, size);
  run.note(() => kernels.reluBack(x.grad.address, x.value.address, out.grad.address, size));
  return out;
}

/** Multi-head attention within each sequence. `qkv` has the query, key and value of each token side by side. Scores
 * are multiplied by `factor`.
 *
 * Returns the mixed values and, for each group, the weights: row (s · heads + h) · n + i for token i of sequence s.
 * `see` gets a group's scores before the softmax.
 * @param {Run} run
 * @param {Node} qkv
 * @param {Looking} looking
 * @param {See} [see] */
export function attend(run, qkv, { groups, heads, factor, causal }, see) {
  const { kernels } = run.memory;
  const d = qkv.value.columns / 3;
  const width = d / heads;
  const out = run.node(qkv.value.rows, d);
  const weights = groups.map(({ start, count, n }) => {
    const rows = count * heads * n;
    const w = run.memory.take(rows, n);
    const batch = (/** @type {number} */ address) => [address, heads * n * n, n * n]; // with its steps to the next sequence and to the next head
    const of = (/** @type {Matrix} */ matrix, /** @type {number} */ role) => [
      matrix.part(start, role * d, n, d).address,
      n * matrix.rowStep,
      width,
    ];
    const [row, outRow] = [3 * d, d];
    const [q, k, v] = [0, 1, 2].map((role) => of(qkv.value, role));
    const mixed = of(out.value, 0);
    kernels.products(count, heads, ...batch(w.address), n, ...q, row, 1, ...k, 1, row, n, width, n, 0);
    see?.("scores", scaled(run, w, factor));
    kernels.softmax(w.address, w.address, rows, n, factor, Number(causal));
    kernels.products(count, heads, ...mixed, outRow, ...batch(w.address), n, 1, ...v, row, 1, n, n, width, 0);
    run.note(() => {
      const [dq, dk, dv] = [0, 1, 2].map((role) => of(qkv.grad, role));
      const dOut = of(out.grad, 0);
      const dw = run.memory.take(rows, n);
      kernels.products(count, heads, ...batch(dw.address), n, ...dOut, outRow, 1, ...v, 1, row, n, width, n, 0);
      kernels.products(count, heads, ...dv, row, ...batch(w.address), 1, n, ...dOut, outRow, 1, n, n, width, 1);
      kernels.softmaxBack(dw.address, w.address, dw.address, rows, n, factor);
      kernels.products(count, heads, ...dq, row, ...batch(dw.address), n, 1, ...k, row, 1, n, n, width, 1);
      kernels.products(count, heads, ...dk, row, ...batch(dw.address), 1, n, ...q, row, 1, n, n, width, 1);
      run.memory.used -= rows * n;
    });
    return w;
  });
  return { out, weights };
}

/** @param {Run} run
 * @param {Matrix} x
 * @param {number} factor */
function scaled(run, x, factor) {
  const out = run.memory.take(x.rows, x.columns);
  out.numbers.fill(0);
  run.memory.kernels.addScaled(out.address, x.address, factor, x.size);
  return out;
}

/** The mean surprise −ln softmax(logits)[target] of the rows. In training, the derivatives of the logits are set.
 * @param {Run} run
 * @param {Node} parts
 * @param {number[]} targets */
export function crossEntropy(run, { value, grad }, targets) {
  const { kernels } = run.memory;
  const { rows, columns, size } = value;
  const logs = run.memory.take(rows, columns);
  kernels.logSoftmax(logs.address, value.address, rows, columns);
  const loss = targets.reduce((sum, target, i) => sum - logs.row(i)[target], 0) / rows;
  if (!run.training) return loss;
  kernels.softmax(logs.address, value.address, rows, columns, 1, 0);
  kernels.addScaled(grad.address, logs.address, 1 / rows, size);
  targets.forEach((target, i) => {
    grad.row(i)[target] -= 1 / rows;
  });
  return loss;
}

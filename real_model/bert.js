/* The forward pass of BERT [Devlin et al., 2019] on the compute kernels, with handles: temperature, scale, heads off. */

import { float32, newMemory, SPARE } from "../kernels/kernels.js";

/** @typedef {{ layers: number, heads: number, width: number, positions: number }} Shape */
/** @typedef {Record<string, { at: number, shape: number[] }>} Parts where each parameter is in the bytes */
/** @typedef {{ temperature: number, scaled: boolean, off: number[][] }} Handles `off`: heads, each [layer, head] */
/** @typedef {{ numbers: Int8Array, scale: number }} Row of the table of words */

const EPSILON = 1e-12;
const INNER = 4; // the feed-forward network is as many times wider than the states

export class Bert {
  #k;
  #memory;
  #shape;
  #free = SPARE;
  /** @type {Record<string, number>} the address of each parameter */
  #at = {};

  /** @param {Shape} shape
   * @param {Uint8Array} bytes the parameters, as real_model/pack.py writes them
   * @param {Parts} parts */
  constructor(shape, bytes, parts) {
    const { width, positions, heads } = shape;
    const wanted = Object.entries(parts).filter(([name]) => name !== "words");
    const numbers = wanted.reduce((sum, [, part]) => sum + size(part.shape), 0);
    const scratch = positions * width * (5 + INNER) + 2 * heads * positions * positions;
    const largest = Math.max(...wanted.map(([, part]) => size(part.shape)));
    this.#shape = shape;
    this.#memory = newMemory(SPARE + 4 * (numbers + scratch) + 5 * largest);
    this.#k = float32(this.#memory);
    for (const [name, part] of wanted) this.#at[name] = this.#restore(bytes, part);
    this.#setUp();
  }

  /** Put a parameter into the memory, as float32, and return its address.
   * @param {Uint8Array} bytes
   * @param {{ at: number, shape: number[] }} part */
  #restore(bytes, { at, shape: [rows, columns] }) {
    const address = this.#take(rows * (columns ?? 1));
    const put = (/** @type {number} */ to, /** @type {Uint8Array} */ some) =>
      new Uint8Array(this.#memory.buffer).set(some, to);
    if (columns === undefined) {
      put(address, bytes.subarray(at, at + 4 * rows));
      return address;
    }
    const scratch = this.#free; // behind what is taken; the next parameter writes over it
    put(scratch, bytes.subarray(at, at + 4 * rows + rows * columns));
    this.#k.fromBytes(address, scratch + 4 * rows, scratch, rows, columns);
    return address;
  }

  /** @param {number} numbers */
  #take(numbers) {
    const address = this.#free;
    this.#free += 4 * numbers;
    return address;
  }

  #setUp() {
    const { width, heads, positions } = this.#shape;
    for (const name of ["x", "q", "k", "v", "mixed"]) this.#at[name] = this.#take(positions * width);
    this.#at.inner = this.#take(positions * width * INNER);
    this.#at.scores = this.#take(heads * positions * positions);
    this.#at.weights = this.#take(heads * positions * positions);
  }

  /** Return the weights (layers, heads, n, n) and the last states (n, width) of a text, given the rows of its words.
   * @param {Row[]} rows
   * @param {Handles} handles */
  run(rows, { temperature, scaled, off }) {
    const { layers, heads, width } = this.#shape;
    const [n, k, at] = [rows.length, this.#k, this.#at];
    const perHead = width / heads;
    const factor = (scaled ? 1 / Math.sqrt(perHead) : 1) / temperature;
    const all = new Float32Array(layers * heads * n * n);
    const view = (/** @type {number} */ address, /** @type {number} */ length) =>
      new Float32Array(this.#memory.buffer, address, length);

    this.#embed(rows);
    for (let layer = 0; layer < layers; layer++) {
      const linear = (/** @type {string} */ name, /** @type {number} */ out, /** @type {number} */ x) =>
        this.#linear(`${layer}.${name}`, out, x, n);
      linear("attention.self.query", at.q, at.x);
      linear("attention.self.key", at.k, at.x);
      linear("attention.self.value", at.v, at.x);
      const square = n * n;
      k.products(
        1,
        heads,
        at.scores,
        0,
        square,
        n,
        at.q,
        0,
        perHead,
        width,
        1,
        at.k,
        0,
        perHead,
        1,
        width,
        n,
        perHead,
        n,
        0,
      );
      k.softmax(at.weights, at.scores, heads * n, n, factor, 0);
      all.set(view(at.weights, heads * square), layer * heads * square);
      k.products(
        1,
        heads,
        at.mixed,
        0,
        perHead,
        width,
        at.weights,
        0,
        square,
        n,
        1,
        at.v,
        0,
        perHead,
        width,
        1,
        n,
        n,
        perHead,
        0,
      );
      for (const [l, head] of off) if (l === layer) this.#silence(head, n);
      linear("attention.output.dense", at.q, at.mixed);
      this.#addAndNorm(`${layer}.attention.output.LayerNorm`, at.q, n);
      linear("intermediate.dense", at.inner, at.x);
      k.gelu(at.inner, at.inner, n * width * INNER);
      linear("output.dense", at.q, at.inner);
      this.#addAndNorm(`${layer}.output.LayerNorm`, at.q, n);
    }
    return { weights: all, states: view(at.x, n * width).slice() };
  }

  /** @param {Row[]} rows */
  #embed(rows) {
    const { width } = this.#shape;
    const at = this.#at;
    const x = new Float32Array(this.#memory.buffer, at.x, rows.length * width);
    rows.forEach(({ numbers, scale }, i) => {
      for (let j = 0; j < width; j++) x[i * width + j] = numbers[j] * scale;
    });
    this.#k.add(at.x, width, at.x, width, 1, at.positions, width, 1, rows.length, width);
    this.#k.add(at.x, width, at.x, width, 1, at.kind, 0, 1, rows.length, width);
    this.#norm("norm", at.x, rows.length);
  }

  /** out = x Wᵀ + b, for n rows.
   * @param {string} name
   * @param {number} out
   * @param {number} x
   * @param {number} n */
  #linear(name, out, x, n) {
    const [weight, bias] = [this.#at[`${name}.weight`], this.#at[`${name}.bias`]];
    const { width } = this.#shape;
    const inner = name.endsWith("intermediate.dense");
    const columns = inner ? width * INNER : width;
    const from = name.endsWith("output.dense") && !name.includes("attention") ? width * INNER : width;
    this.#k.copy(out, bias, 1, 1, n, columns, 0, 0, 0, 1);
    this.#k.product(out, columns, x, from, 1, weight, 1, from, n, from, columns, 1);
  }

  /** x = norm(x + change)
   * @param {string} name
   * @param {number} change
   * @param {number} n */
  #addAndNorm(name, change, n) {
    const { width } = this.#shape;
    this.#k.addScaled(this.#at.x, change, 1, n * width);
    this.#norm(name, this.#at.x, n);
  }

  /** @param {string} name
   * @param {number} x
   * @param {number} n */
  #norm(name, x, n) {
    const { width } = this.#shape;
    this.#k.norm(x, 0, 0, x, this.#at[`${name}.weight`], this.#at[`${name}.bias`], n, width, EPSILON);
  }

  /** Set a head's output to 0.
   * @param {number} head
   * @param {number} n */
  #silence(head, n) {
    const { width, heads } = this.#shape;
    const mixed = new Float32Array(this.#memory.buffer, this.#at.mixed, n * width);
    for (let i = 0; i < n; i++)
      mixed.fill(0, i * width + (head * width) / heads, i * width + ((head + 1) * width) / heads);
  }
}

/** @param {number[]} shape */
const size = (shape) => shape.reduce((product, each) => product * each, 1);

/** Return the vector of a sentence: the mean of its states, of length 1.
 * @param {Float32Array} states
 * @param {number} width */
export function sentenceVector(states, width) {
  const mean = new Float32Array(width);
  states.forEach((value, i) => {
    mean[i % width] += value;
  });
  const length = Math.hypot(...mean);
  return mean.map((value) => value / length);
}

// The loops of the page's torch: the course's kernels on the interpreter's memory, and random numbers as torch draws them.

import { float32, float64, SPARE } from "../../kernels/kernels.js";

/** @import { Kernel, NumberType, Space } from "../../kernels/plain.js" */
/** @typedef {{ memory: Space, _malloc: (bytes: number) => number }} Heap the memory of Pyodide's module */

/** Return the kernels of random numbers for one type of number.
 * @param {Space} memory
 * @param {NumberType} Numbers */
function randomKernels(memory, Numbers) {
  const numbers = (/** @type {number} */ at, /** @type {number} */ n) => new Numbers(memory.buffer, at, n);
  const single = Numbers === Float32Array;
  return /** @satisfies {Record<string, Kernel>} */ ({
    // Uniform numbers from 0 to 1, from random words: 24 bits of one word, or 53 bits of two.
    uniform(out, words, n) {
      const O = numbers(out, n);
      const W = new Uint32Array(memory.buffer, words, single ? n : 2 * n);
      if (single) for (let i = 0; i < n; i++) O[i] = (W[i] & 0xffffff) / 2 ** 24;
      else for (let i = 0; i < n; i++) O[i] = ((W[2 * i] & 0x1fffff) * 2 ** 32 + W[2 * i + 1]) / 2 ** 53;
    },
    normal(out, start, stop) {
      const O = numbers(out, stop);
      const rounded = single ? Math.fround : (/** @type {number} */ value) => value; // torch rounds each step
      const whole = rounded(2 * Math.PI);
      for (let block = start; block < stop; block += 16)
        for (let j = block; j < block + 8; j++) {
          const radius = rounded(Math.sqrt(-2 * rounded(Math.log(1 - O[j]))));
          const turn = rounded(whole * O[j + 8]);
          O[j] = radius * rounded(Math.cos(turn));
          O[j + 8] = radius * rounded(Math.sin(turn));
        }
    },
  });
}

/** Return a function of addresses that calls a kernel: `set_kernels` of torch/kernels.py says what `fixed` is.
 * @param {Kernel} kernel
 * @param {string} fixed */
function bind(kernel, fixed) {
  /** @type {[number[], number[][]]} */
  const [args, starts] = JSON.parse(fixed);
  const places = [...args.keys()].filter((place) => args[place] === -1);
  return (/** @type {number[]} */ ...addresses) => {
    for (const start of starts) {
      for (let i = 0; i < places.length; i++) args[places[i]] = addresses[i] + start[i];
      kernel(...args);
    }
  };
}

/** Give the page's torch its loops. They take addresses, because a proxy of an array takes longer than most loops.
 * @param {import("pyodide").PyodideInterface & { _module: Heap }} python */
export function giveKernels(python) {
  const { memory } = python._module;
  const options = { spare: python._module._malloc(SPARE) };
  const tables = [
    { ...float32(memory, options), ...randomKernels(memory, Float32Array) },
    { ...float64(memory, options), ...randomKernels(memory, Float64Array) },
  ];
  python.pyimport("torch.kernels").set_kernels(...tables.map((table) => python.toPy(table)), bind);
}

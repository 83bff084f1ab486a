/* Kernels: loops over many numbers, in WebAssembly with SIMD; in plain JavaScript where a browser has no SIMD.
 *
 *   import { float32, newMemory } from ".../kernels/kernels.js";      // also in a worker; esbuild puts the code inside
 *   const memory = newMemory(2 ** 24);                                // bytes; the first SPARE belong to the kernels
 *   const k = float32(memory);                                        // or float64(memory)
 *   const x = new Float32Array(memory.buffer, SPARE, 6);              // x.byteOffset is its address
 *   k.relu(out.byteOffset, x.byteOffset, 6);
 *
 * An address (`out`, `a`, `b` …) is in bytes. A step (`aRow`, `aStep`, `s0` …) is in numbers; a step of 0 repeats a number
 * or a row. Without a step, numbers lie side by side. `add` not 0: add the result to `out`. Sizes may be 0, but not
 * `columns` of a softmax or norm, nor `n` of a largest or smallest. Nothing is checked.
 *
 * products  product(out, outRow, a, aRow, aColumn, b, bRow, bColumn, rows, inner, columns, add)     out = a b; a transpose
 *             swaps two steps. A sum runs in the type of the numbers, in order.
 *           products(count0, count1, out, out0, out1, outRow, a, a0, a1, aRow, aColumn, b, b0, b1, bRow, bColumn, rows,
 *             inner, columns, add)     one for each index of two batch axes (samples, heads)
 * pairs     add subtract multiply divide larger smaller power(out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns)
 *           equal unequal less lessOrEqual(…)     the same, with a byte for each result
 * maps      negative absolute root relu exp log tanh sigmoid gelu sin cos(out, a, n)
 * moves     copy(out, a, n0, n1, n2, n3, s0, s1, s2, s3)     a tensor with any steps, side by side
 *           spread(out, a, n0, n1, n2, n3, s0, s1, s2, s3)     the opposite: neighbouring numbers into a tensor with any steps
 *           choose(out, outRow, mask, maskRow, maskStep, a, aRow, aStep, b, bRow, bStep, rows, columns)     a where the mask
 *             is not 0, else b
 *           gather(out, table, indices, n, columns, add)     rows of a table, by int32 indices
 *           scatter(table, a, indices, n, columns)     adds row i of a to the row indices[i]
 *           fromBytes(out, bytes, scales, rows, columns)     int8 times the scale of its row
 * folds     sum(out, a, outer, n, inner, add)     largest smallest(out, a, outer, n, inner)     over the middle axis of three
 * layers    softmax(out, a, rows, columns, factor, causal)     of factor · a, factor > 0; causal: of entries 0 … row mod columns
 *           softmaxBack(out, weights, gradient, rows, columns, factor)     logSoftmax(out, a, rows, columns)
 *           norm(out, units, roots, a, gain, bias, rows, columns, epsilon)     units, roots, gain and bias may be 0: left out
 *           normBack(dX, dGain, dBias, dOut, units, roots, gain, rows, columns)     adds to the first three
 *           reluBack(out, a, gradient, n)     adds to out
 * updates   addScaled(out, a, factor, n)     out += factor · a
 *           adamw(values, gradients, means, squares, n, rate, beta1, beta2, epsilon, decay, step)     step counts from 1
 *
 * `out` may be an operand of a pair or map, and of softmax. WebAssembly gives the same bits on every machine (but for sin,
 * cos and power, which are those of the browser); the plain kernels may differ from it by rounding. */

import { f32, f64 } from "./built.js";
import { plainKernels } from "./plain.js";

/** @import { Kernels, NumberType, Space } from "./plain.js" */
/** @typedef {{ simd?: boolean, spare?: number }} Options */

export const SPARE = 8320; // bytes at `spare`, which only the kernels write

/** Return a memory of at least this many bytes.
 * @param {number} bytes
 * @returns {Space} */
export function newMemory(bytes) {
  const pages = Math.ceil(bytes / 65536);
  if (globalThis.WebAssembly) return new WebAssembly.Memory({ initial: pages });
  return { buffer: new ArrayBuffer(pages * 65536) };
}

/** Return the kernels for numbers of float32 in a memory. `simd: false` gives the plain ones.
 * @param {Space} memory
 * @param {Options} [options] */
export const float32 = (memory, options) => kernelsOn(memory, f32, Float32Array, options);

/** Return the kernels for numbers of float64 in a memory.
 * @param {Space} memory
 * @param {Options} [options] */
export const float64 = (memory, options) => kernelsOn(memory, f64, Float64Array, options);

/** @param {Space} memory
 * @param {string} code
 * @param {NumberType} Numbers
 * @param {Options} [options] */
function kernelsOn(memory, code, Numbers, { simd = true, spare = 0 } = {}) {
  const plain = plainKernels(memory, Numbers);
  const fast = simd && instanceOf(code, memory, spare);
  return { ...plain, ...fast, isFast: Boolean(fast) };
}

/** Return the exports of the compiled code, or undefined if this browser cannot run it.
 * @param {string} code
 * @param {Space} memory
 * @param {number} spare
 * @returns {Partial<Kernels> | undefined} */
function instanceOf(code, memory, spare) {
  try {
    const bytes = Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0));
    const env = { memory: /** @type {WebAssembly.Memory} */ (memory), spare };
    return new WebAssembly.Instance(new WebAssembly.Module(bytes), { env }).exports;
  } catch {
    return undefined; // no SIMD, or no WebAssembly
  }
}

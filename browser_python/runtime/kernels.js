// The large loops of the page's torch. They work on typed arrays over the interpreter's memory, without copies.

const OF_TWO = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  max: (a, b) => (a > b || Number.isNaN(a) ? a : b),
  min: (a, b) => (a < b || Number.isNaN(a) ? a : b),
};
const OF_ONE = {
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
  neg: (x) => -x,
  abs: Math.abs,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  // biome-ignore lint/complexity/useMathMinMax: Math.max(-0, 0) is 0, and torch gives -0
  relu: (x) => (x < 0 ? 0 : x),
  reciprocal: (x) => 1 / x,
};
const OTHERS = ["matmul", "sum", "amax", "amin", "softmax", "uniform", "normal"];
const ARRAYS = { f: Float32Array, d: Float64Array, I: Uint32Array };

/** Return the offsets of a tensor's numbers from its first one, or null if the tensor is contiguous. */
function offsetsOf(shape, strides) {
  let step = 1;
  let isContiguous = true;
  for (let d = shape.length - 1; d >= 0; d--) {
    isContiguous &&= shape[d] === 1 || strides[d] === step;
    step *= shape[d];
  }
  if (isContiguous) return null;
  let offsets = new Int32Array(1);
  for (let d = 0; d < shape.length; d++) {
    const next = new Int32Array(offsets.length * shape[d]);
    let k = 0;
    for (const offset of offsets) for (let j = 0; j < shape[d]; j++) next[k++] = offset + j * strides[d];
    offsets = next;
  }
  return offsets;
}

function multiply(A, B, out, count, m, k, n) {
  const row = new Float64Array(n);
  for (let c = 0; c < count; c++)
    for (let i = 0; i < m; i++) {
      row.fill(0);
      const left = (c * m + i) * k;
      for (let l = 0; l < k; l++) {
        const x = A[left + l];
        for (let j = 0, q = (c * k + l) * n; j < n; j++, q++) row[j] += x * B[q];
      }
      out.set(row, (c * m + i) * n);
    }
}

function softmax(A, out, m, n) {
  const powers = new Float64Array(n);
  for (let at = 0; at < m * n; at += n) {
    let top = Number.NEGATIVE_INFINITY;
    let sum = 0;
    for (let j = 0; j < n; j++) if (A[at + j] > top || Number.isNaN(A[at + j])) top = A[at + j];
    for (let j = 0; j < n; j++) sum += powers[j] = Math.exp(A[at + j] - top);
    for (let j = 0; j < n; j++) out[at + j] = powers[j] / sum;
  }
}

const FOLDS = {
  sum: (a, b) => a + b,
  amax: (a, b) => (Number.isNaN(a) || a > b ? a : b),
  amin: (a, b) => (Number.isNaN(a) || a < b ? a : b),
};

/** Return the loops. `numbers(kind, address, n)` returns n numbers of the interpreter's memory; the kind is "f"
 * (float32) or "d" (float64). */
const loopsOn = (numbers) => ({
  map1(kind, name, a, out, n) {
    const f = OF_ONE[name];
    const [A, O] = [numbers(kind, a, n), numbers(kind, out, n)];
    for (let i = 0; i < n; i++) O[i] = f(A[i]);
  },
  map2(kind, name, a, b, out, n, axes) {
    const f = OF_TWO[name];
    const [shape, ...strides] = axes ? JSON.parse(axes) : [];
    const [p, q] = strides.map((steps) => offsetsOf(shape, steps));
    const [A, B, O] = [numbers(kind, a), numbers(kind, b), numbers(kind, out, n)];
    for (let i = 0; i < n; i++) O[i] = f(A[p ? p[i] : i], B[q ? q[i] : i]);
  },
  map2s(kind, name, a, number, flip, out, n) {
    const f = OF_TWO[name];
    const [A, O] = [numbers(kind, a, n), numbers(kind, out, n)];
    for (let i = 0; i < n; i++) O[i] = flip ? f(number, A[i]) : f(A[i], number);
  },
  copy(kind, a, out, n, axes) {
    const [shape, strides] = JSON.parse(axes);
    const offsets = offsetsOf(shape, strides);
    const [A, O] = [numbers(kind, a), numbers(kind, out, n)];
    for (let i = 0; i < n; i++) O[i] = A[offsets ? offsets[i] : i];
  },
  matmul(kind, a, b, out, count, m, k, n) {
    const [A, B] = [numbers(kind, a, count * m * k), numbers(kind, b, count * k * n)];
    multiply(A, B, numbers(kind, out, count * m * n), count, m, k, n);
  },
  reduce(kind, name, a, out, m, n) {
    const f = FOLDS[name];
    const [A, O] = [numbers(kind, a, m * n), numbers(kind, out, m)];
    for (let i = 0; i < m; i++) {
      let found = A[i * n];
      for (let j = 1; j < n; j++) found = f(found, A[i * n + j]);
      O[i] = found;
    }
  },
  softmax: (kind, a, out, m, n) => softmax(numbers(kind, a, m * n), numbers(kind, out, m * n), m, n),
  // Uniform numbers from 0 to 1, from random words: 24 bits of one word, or 53 bits of two.
  uniform(kind, words, out, n) {
    const O = numbers(kind, out, n);
    const W = numbers("I", words, kind === "f" ? n : 2 * n);
    if (kind === "f") for (let i = 0; i < n; i++) O[i] = (W[i] & 0xffffff) / 2 ** 24;
    else for (let i = 0; i < n; i++) O[i] = ((W[2 * i] & 0x1fffff) * 2 ** 32 + W[2 * i + 1]) / 2 ** 53;
  },
  normal(kind, out, start, stop) {
    const O = numbers(kind, out, stop);
    for (let block = start; block < stop; block += 16)
      for (let j = block; j < block + 8; j++) {
        const radius = Math.sqrt(-2 * Math.log(1 - O[j]));
        const turn = 2 * Math.PI * O[j + 8];
        O[j] = radius * Math.cos(turn);
        O[j + 8] = radius * Math.sin(turn);
      }
  },
});

/** Give the page's torch its loops. They take addresses, because a proxy of an array takes longer than most loops. */
export function giveKernels(python) {
  const memory = python._module; // it gets a new buffer whenever it grows
  const kernels = python.pyimport("torch.kernels");
  kernels.JS = loopsOn((kind, at, n) => new ARRAYS[kind](memory.HEAP8.buffer, at, n));
  kernels.NAMES = python.toPy(new Set([...Object.keys(OF_ONE), ...Object.keys(OF_TWO), ...OTHERS]));
}

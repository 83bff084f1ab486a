// Large loops over the buffers of Python's arrays: typed arrays on the interpreter's memory, nothing copied.

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
  relu: (x) => (x > 0 || Number.isNaN(x) ? x : 0),
  reciprocal: (x) => 1 / x,
};
const OTHERS = ["matmul", "sum", "amax", "amin", "softmax", "uniform", "normal"];

/** Call f with the numbers of Python's arrays, and give the arrays back. */
function opened(proxies, f) {
  const buffers = proxies.map((proxy) => proxy.getBuffer());
  try {
    return f(...buffers.map((b) => (b.offset || b.nbytes !== b.data.byteLength ? b.data.subarray(b.offset) : b.data)));
  } finally {
    for (const buffer of buffers) buffer.release();
  }
}

/** The places of a tensor's numbers in its storage; null where they stand one after the other from its start. */
function placesOf(shape, strides, offset) {
  let step = 1;
  let plain = offset === 0;
  for (let d = shape.length - 1; d >= 0; d--) {
    plain &&= shape[d] === 1 || strides[d] === step;
    step *= shape[d];
  }
  if (plain) return null;
  let places = new Int32Array([offset]);
  for (let d = 0; d < shape.length; d++) {
    const next = new Int32Array(places.length * shape[d]);
    let k = 0;
    for (const place of places) for (let j = 0; j < shape[d]; j++) next[k++] = place + j * strides[d];
    places = next;
  }
  return places;
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

export const kernels = {
  has: (name) => name in OF_ONE || name in OF_TWO || OTHERS.includes(name),
  map1(name, a, out) {
    const f = OF_ONE[name];
    opened([a, out], (A, O) => {
      for (let i = 0; i < O.length; i++) O[i] = f(A[i]);
    });
  },
  map2(name, a, aAt, b, bAt, ...rest) {
    const [shape, aStrides, bStrides] = rest.slice(0, 3).map((text) => JSON.parse(text));
    const f = OF_TWO[name];
    const p = placesOf(shape, aStrides, aAt);
    const q = placesOf(shape, bStrides, bAt);
    opened([a, b, rest[3]], (A, B, O) => {
      for (let i = 0; i < O.length; i++) O[i] = f(A[p ? p[i] : i], B[q ? q[i] : i]);
    });
  },
  map2s(name, a, number, flip, out) {
    const f = OF_TWO[name];
    opened([a, out], (A, O) => {
      for (let i = 0; i < O.length; i++) O[i] = flip ? f(number, A[i]) : f(A[i], number);
    });
  },
  copy(a, offset, shape, strides, out) {
    const places = placesOf(JSON.parse(shape), JSON.parse(strides), offset);
    opened([a, out], (A, O) => {
      for (let i = 0; i < O.length; i++) O[i] = A[places ? places[i] : i];
    });
  },
  matmul: (a, b, out, count, m, k, n) => opened([a, b, out], (A, B, O) => multiply(A, B, O, count, m, k, n)),
  reduce(name, a, out, m, n) {
    const f = FOLDS[name];
    opened([a, out], (A, O) => {
      for (let i = 0; i < m; i++) {
        let found = A[i * n];
        for (let j = 1; j < n; j++) found = f(found, A[i * n + j]);
        O[i] = found;
      }
    });
  },
  softmax: (a, out, m, n) => opened([a, out], (A, O) => softmax(A, O, m, n)),
  // Numbers from 0 to 1 of random words: 24 bits of one, or 53 bits of two.
  uniform: (words, out, start) =>
    opened([words, out], (W, O) => {
      if (O instanceof Float32Array) for (let i = 0; i < W.length; i++) O[start + i] = (W[i] & 0xffffff) / 2 ** 24;
      else for (let i = 0; i < W.length; i += 2) O[start + i / 2] = ((W[i] & 0x1fffff) * 2 ** 32 + W[i + 1]) / 2 ** 53;
    }),
  normal: (out, start, stop) =>
    opened([out], (O) => {
      for (let block = start; block < stop; block += 16)
        for (let j = block; j < block + 8; j++) {
          const radius = Math.sqrt(-2 * Math.log(1 - O[j]));
          const turn = 2 * Math.PI * O[j + 8];
          O[j] = radius * Math.cos(turn);
          O[j + 8] = radius * Math.sin(turn);
        }
    }),
};

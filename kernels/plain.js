/* The kernels in plain JavaScript, with the interface that kernels.js describes. */

/** @typedef {{ buffer: ArrayBuffer }} Space a memory, such as a WebAssembly.Memory */
/** @typedef {Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>} Numbers */
/** @typedef {Float32ArrayConstructor | Float64ArrayConstructor} NumberType */
/** @typedef {ReturnType<typeof plainKernels>} Kernels */
/** @typedef {(...numbers: number[]) => void} Kernel addresses, steps and sizes, which kernels.js lists */
/** @typedef {(out: number, outRow: number, a: number, aRow: number, aStep: number, b: number, bRow: number,
 *   bStep: number, rows: number, columns: number) => void} PairKernel */
/** @typedef {(out: number, a: number, n: number) => void} MapKernel */
/** @typedef {(out: number, a: number, outer: number, n: number, inner: number) => void} FoldKernel */

/** @satisfies {Record<string, (x: number, y: number) => number>} */
const PAIRS = {
  add: (x, y) => x + y,
  subtract: (x, y) => x - y,
  multiply: (x, y) => x * y,
  divide: (x, y) => x / y,
  larger: (x, y) => (Number.isNaN(x) || x > y ? x : y), // y of two equal numbers, as torch chooses between 0 and −0
  smaller: (x, y) => (Number.isNaN(x) || x < y ? x : y),
  power: Math.pow,
};
/** @satisfies {Record<string, (x: number, y: number) => boolean>} */
const COMPARISONS = {
  equal: (x, y) => x === y,
  unequal: (x, y) => x !== y,
  less: (x, y) => x < y,
  lessOrEqual: (x, y) => x <= y,
};
/** @satisfies {Record<string, (x: number) => number>} */
const MAPS = {
  negative: (x) => -x,
  absolute: Math.abs,
  root: Math.sqrt,
  // biome-ignore lint/complexity/useMathMinMax: Math.max(-0, 0) is 0, and torch gives -0
  relu: (x) => (x < 0 ? 0 : x),
  exp: Math.exp,
  log: Math.log,
  tanh: Math.tanh,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  gelu: (x) => x * normalBelow(x),
  sin: Math.sin,
  cos: Math.cos,
};

/** The share of the normal distribution below x: ½ (1 + erf(x / √2)), by a series whose terms are all of one sign.
 * @param {number} x */
function normalBelow(x) {
  if (Math.abs(x) > 8.5) return x > 0 ? 1 : 0;
  let term = x;
  let sum = x;
  for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k++) {
    term *= (x * x) / (2 * k + 1);
    sum += term;
  }
  return 0.5 + sum * Math.exp(-0.5 * x * x) * 0.3989422804014327;
}

/** Return the kernels for the numbers of a typed array, such as Float32Array, in a memory.
 * @param {Space} memory
 * @param {NumberType} Numbers */
export function plainKernels(memory, Numbers) {
  const SIZE = Numbers.BYTES_PER_ELEMENT;
  let known = new Numbers(memory.buffer);
  const all = () => {
    if (known.buffer !== memory.buffer) known = new Numbers(memory.buffer); // the memory has grown
    return known;
  };
  const bytes = () => new Uint8Array(memory.buffer);
  const indices = (/** @type {number} */ address, /** @type {number} */ n) => new Int32Array(memory.buffer, address, n);

  /** @type {(f: (x: number, y: number) => number | boolean, results: () => Uint8Array | Numbers, size: number) => PairKernel} */
  const pair = (f, results, size) => (out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns) => {
    const m = all();
    const r = results();
    for (let i = 0; i < rows; i++) {
      let p = a / SIZE + i * aRow;
      let q = b / SIZE + i * bRow;
      const to = out / size + i * outRow;
      for (let j = 0; j < columns; j++, p += aStep, q += bStep) {
        r[to + j] = /** @type {number} */ (f(m[p], m[q])); // true is stored as 1
      }
    }
  };
  /** @type {(f: (x: number) => number) => MapKernel} */
  const map = (f) => (out, a, n) => {
    const m = all();
    for (let i = 0, p = a / SIZE, q = out / SIZE; i < n; i++) m[q + i] = f(m[p + i]);
  };
  /** @type {Kernel} */
  function reluBack(out, a, gradient, n) {
    const m = all();
    for (let i = 0; i < n; i++) if (m[a / SIZE + i] > 0) m[out / SIZE + i] += m[gradient / SIZE + i];
  }
  /** @type {(f: (x: number, y: number) => number) => FoldKernel} */
  const fold = (f) => (out, a, outer, n, inner) => {
    const m = all();
    for (let i = 0; i < outer * inner; i++) {
      const from = a / SIZE + Math.floor(i / inner) * n * inner + (i % inner);
      let found = m[from];
      for (let k = 1; k < n; k++) found = f(found, m[from + k * inner]);
      m[out / SIZE + i] = found;
    }
  };
  /** Return what `make` makes of each function of a table, by its name.
   * @template {string} Name
   * @template F
   * @template Made
   * @param {Record<Name, F>} table
   * @param {(f: F) => Made} make */
  const each = (table, make) =>
    /** @type {Record<Name, Made>} */ (
      Object.fromEntries(Object.entries(table).map(([name, f]) => [name, make(/** @type {F} */ (f))]))
    );

  /** 4 columns of b at a time. Beyond the last column, the last one is repeated, and not stored.
   * @type {Kernel} */
  function product(out, outRow, a, aRow, aColumn, b, bRow, bColumn, rows, inner, columns, add) {
    const m = all();
    for (let j = 0; j < columns; j += 4) {
      const wide = columns - j;
      for (let i = 0; i < rows; i++) {
        let p = a / SIZE + i * aRow;
        let q0 = b / SIZE + j * bColumn;
        let q1 = wide > 1 ? q0 + bColumn : q0;
        let q2 = wide > 2 ? q1 + bColumn : q1;
        let q3 = wide > 3 ? q2 + bColumn : q2;
        let c0 = 0;
        let c1 = 0;
        let c2 = 0;
        let c3 = 0;
        for (let k = 0; k < inner; k++) {
          const x = m[p];
          c0 += x * m[q0];
          c1 += x * m[q1];
          c2 += x * m[q2];
          c3 += x * m[q3];
          p += aColumn;
          q0 += bRow;
          q1 += bRow;
          q2 += bRow;
          q3 += bRow;
        }
        const to = out / SIZE + i * outRow + j;
        m[to] = add ? m[to] + c0 : c0;
        if (wide > 1) m[to + 1] = add ? m[to + 1] + c1 : c1;
        if (wide > 2) m[to + 2] = add ? m[to + 2] + c2 : c2;
        if (wide > 3) m[to + 3] = add ? m[to + 3] + c3 : c3;
      }
    }
  }

  return /** @satisfies {Record<string, Kernel>} */ ({
    ...each(PAIRS, (f) => pair(f, all, SIZE)),
    ...each(COMPARISONS, (f) => pair(f, bytes, 1)),
    ...each(MAPS, map),
    ...each({ largest: Math.max, smallest: Math.min }, fold),
    product,
    reluBack,

    products(
      ...[count0, count1, out, out0, out1, outRow, a, a0, a1, aRow, aColumn, b, b0, b1, bRow, bColumn, ...sizes]
    ) {
      for (let i = 0; i < count0; i++)
        for (let j = 0; j < count1; j++) {
          const [o, p, q] = [
            out + SIZE * (i * out0 + j * out1),
            a + SIZE * (i * a0 + j * a1),
            b + SIZE * (i * b0 + j * b1),
          ];
          product(o, outRow, p, aRow, aColumn, q, bRow, bColumn, ...sizes);
        }
    },

    copy(out, a, n0, n1, n2, n3, s0, s1, s2, s3) {
      const m = all();
      let to = out / SIZE;
      for (let i0 = 0; i0 < n0; i0++)
        for (let i1 = 0; i1 < n1; i1++)
          for (let i2 = 0; i2 < n2; i2++) {
            const from = a / SIZE + i0 * s0 + i1 * s1 + i2 * s2;
            for (let i3 = 0; i3 < n3; i3++) m[to++] = m[from + i3 * s3];
          }
    },

    spread(out, a, n0, n1, n2, n3, s0, s1, s2, s3) {
      const m = all();
      let from = a / SIZE;
      for (let i0 = 0; i0 < n0; i0++)
        for (let i1 = 0; i1 < n1; i1++)
          for (let i2 = 0; i2 < n2; i2++) {
            const to = out / SIZE + i0 * s0 + i1 * s1 + i2 * s2;
            for (let i3 = 0; i3 < n3; i3++) m[to + i3 * s3] = m[from++];
          }
    },

    choose(out, outRow, mask, maskRow, maskStep, a, aRow, aStep, b, bRow, bStep, rows, columns) {
      const m = all();
      const masks = bytes();
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++) {
          const isChosen = masks[mask + i * maskRow + j * maskStep];
          const from = isChosen ? a / SIZE + i * aRow + j * aStep : b / SIZE + i * bRow + j * bStep;
          m[out / SIZE + i * outRow + j] = m[from];
        }
    },

    gather(out, table, rows, n, columns, add) {
      const m = all();
      indices(rows, n).forEach((row, i) => {
        const [from, to] = [table / SIZE + row * columns, out / SIZE + i * columns];
        for (let j = 0; j < columns; j++) m[to + j] = add ? m[to + j] + m[from + j] : m[from + j];
      });
    },

    scatter(table, a, rows, n, columns) {
      const m = all();
      indices(rows, n).forEach((row, i) => {
        for (let j = 0; j < columns; j++) m[table / SIZE + row * columns + j] += m[a / SIZE + i * columns + j];
      });
    },

    fromBytes(out, bytes, scales, rows, columns) {
      const m = all();
      const from = new Int8Array(memory.buffer, bytes, rows * columns);
      for (let i = 0; i < rows; i++)
        for (let j = 0; j < columns; j++)
          m[out / SIZE + i * columns + j] = from[i * columns + j] * m[scales / SIZE + i];
    },

    sum(out, a, outer, n, inner, add) {
      const m = all();
      for (let i = 0; i < outer * inner; i++) {
        const from = a / SIZE + Math.floor(i / inner) * n * inner + (i % inner);
        let total = add ? m[out / SIZE + i] : 0;
        for (let k = 0; k < n; k++) total += m[from + k * inner];
        m[out / SIZE + i] = total;
      }
    },

    softmax(out, a, rows, columns, factor, causal) {
      const m = all();
      const powers = new Float64Array(columns);
      for (let i = 0; i < rows; i++) {
        const seen = causal ? (i % columns) + 1 : columns;
        const [from, to] = [a / SIZE + i * columns, out / SIZE + i * columns];
        let top = m[from];
        let total = 0;
        for (let j = 1; j < seen; j++) top = Math.max(top, m[from + j]);
        for (let j = 0; j < seen; j++) total += powers[j] = Math.exp(factor * (m[from + j] - top));
        for (let j = 0; j < columns; j++) m[to + j] = j < seen ? powers[j] / total : 0;
      }
    },

    softmaxBack(out, weights, gradient, rows, columns, factor) {
      const m = all();
      for (let i = 0; i < rows; i++) {
        const [w, g, to] = [weights, gradient, out].map((address) => address / SIZE + i * columns);
        let mean = 0;
        for (let j = 0; j < columns; j++) mean += m[w + j] * m[g + j];
        for (let j = 0; j < columns; j++) m[to + j] = factor * m[w + j] * (m[g + j] - mean);
      }
    },

    logSoftmax(out, a, rows, columns) {
      const m = all();
      for (let i = 0; i < rows; i++) {
        const [from, to] = [a / SIZE + i * columns, out / SIZE + i * columns];
        let top = m[from];
        let total = 0;
        for (let j = 1; j < columns; j++) top = Math.max(top, m[from + j]);
        for (let j = 0; j < columns; j++) total += Math.exp(m[from + j] - top);
        for (let j = 0; j < columns; j++) m[to + j] = m[from + j] - (top + Math.log(total));
      }
    },

    norm(out, units, roots, a, gain, bias, rows, columns, epsilon) {
      const m = all();
      for (let i = 0; i < rows; i++) {
        const row = i * columns;
        const from = a / SIZE + row;
        let mean = 0;
        let variance = 0;
        for (let j = 0; j < columns; j++) mean += m[from + j] / columns;
        for (let j = 0; j < columns; j++) variance += (m[from + j] - mean) ** 2 / columns;
        const root = 1 / Math.sqrt(variance + epsilon);
        if (roots) m[roots / SIZE + i] = root;
        for (let j = 0; j < columns; j++) {
          const unit = (m[from + j] - mean) * root;
          if (units) m[units / SIZE + row + j] = unit;
          m[out / SIZE + row + j] = unit * (gain ? m[gain / SIZE + j] : 1) + (bias ? m[bias / SIZE + j] : 0);
        }
      }
    },

    normBack(dX, dGain, dBias, dOut, units, roots, gain, rows, columns) {
      const m = all();
      const [g, dg, db] = [gain, dGain, dBias].map((address) => address / SIZE);
      for (let i = 0; i < rows; i++) {
        const [dy, unit, dx] = [dOut, units, dX].map((address) => address / SIZE + i * columns);
        let mean = 0; // of the derivatives by the entries of `units`
        let along = 0; // of these derivatives times the entries
        for (let j = 0; j < columns; j++) {
          m[dg + j] += m[dy + j] * m[unit + j];
          m[db + j] += m[dy + j];
          mean += (m[dy + j] * m[g + j]) / columns;
          along += (m[dy + j] * m[g + j] * m[unit + j]) / columns;
        }
        const root = m[roots / SIZE + i];
        for (let j = 0; j < columns; j++) m[dx + j] += (m[dy + j] * m[g + j] - mean - along * m[unit + j]) * root;
      }
    },

    addScaled(out, a, factor, n) {
      const m = all();
      for (let i = 0, p = a / SIZE, q = out / SIZE; i < n; i++) m[q + i] += factor * m[p + i];
    },

    adamw(values, gradients, means, squares, n, rate, beta1, beta2, epsilon, decay, step) {
      const m = all();
      const [v, g, mean, square] = [values, gradients, means, squares].map((address) => address / SIZE);
      const shrink = 1 - rate * decay;
      const length = rate / (1 - beta1 ** step);
      const spread = Math.sqrt(1 - beta2 ** step);
      for (let i = 0; i < n; i++) {
        m[mean + i] = beta1 * m[mean + i] + (1 - beta1) * m[g + i];
        m[square + i] = beta2 * m[square + i] + (1 - beta2) * m[g + i] ** 2;
        m[v + i] = m[v + i] * shrink - (length * m[mean + i]) / (Math.sqrt(m[square + i]) / spread + epsilon);
      }
    },
  });
}

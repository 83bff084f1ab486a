// Operations on each number. `out` may be one of the operands.

import { erf as erfOf, expOfTwo, log as logOf, sigmoidOfTwo, tanhOfTwo } from "./functions";
import { LANES, T, at, loadTwo, storeTwo } from "./number";

/** Copy a tensor of four axes, whose numbers lie s0 … s3 apart, to neighbouring numbers. */
export function copy(
  out: usize, a: usize, n0: i32, n1: i32, n2: i32, n3: i32, s0: i32, s1: i32, s2: i32, s3: i32,
): void {
  for (let i0 = 0; i0 < n0; i0++) {
    for (let i1 = 0; i1 < n1; i1++) {
      for (let i2 = 0; i2 < n2; i2++) {
        const from = at(a, i0 * s0 + i1 * s1 + i2 * s2);
        if (s3 == 1) memory.copy(out, from, <usize>n3 * sizeof<T>());
        else for (let i3 = 0; i3 < n3; i3++) store<T>(at(out, i3), load<T>(at(from, i3 * s3)));
        out = at(out, n3);
      }
    }
  }
}

/** Write neighbouring numbers into a tensor of four axes, whose numbers lie s0 … s3 apart: the opposite of `copy`. */
export function spread(
  out: usize, a: usize, n0: i32, n1: i32, n2: i32, n3: i32, s0: i32, s1: i32, s2: i32, s3: i32,
): void {
  for (let i0 = 0; i0 < n0; i0++) {
    for (let i1 = 0; i1 < n1; i1++) {
      for (let i2 = 0; i2 < n2; i2++) {
        const to = at(out, i0 * s0 + i1 * s1 + i2 * s2);
        if (s3 == 1) memory.copy(to, a, <usize>n3 * sizeof<T>());
        else for (let i3 = 0; i3 < n3; i3++) store<T>(at(to, i3 * s3), load<T>(at(a, i3)));
        a = at(a, n3);
      }
    }
  }
}

/** Where the byte of the mask is not 0, write the number of a, else that of b. */
export function choose(
  out: usize, outRow: i32, mask: usize, maskRow: i32, maskStep: i32,
  a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32,
): void {
  for (let i = 0; i < rows; i++) {
    const bytes = mask + <usize>(i * maskRow);
    const x = at(a, i * aRow);
    const y = at(b, i * bRow);
    const to = at(out, i * outRow);
    for (let j = 0; j < columns; j++) {
      const isChosen = load<u8>(bytes + <usize>(j * maskStep));
      store<T>(at(to, j), isChosen ? load<T>(at(x, j * aStep)) : load<T>(at(y, j * bStep)));
    }
  }
}

/* ---- two operands */

const ADD = 0, SUBTRACT = 1, MULTIPLY = 2, DIVIDE = 3, LARGER = 4, SMALLER = 5;

@inline
function ofTwo(operation: i32, x: v128, y: v128): v128 {
  if (operation == ADD) return v128.add<T>(x, y);
  if (operation == SUBTRACT) return v128.sub<T>(x, y);
  if (operation == MULTIPLY) return v128.mul<T>(x, y);
  if (operation == DIVIDE) return v128.div<T>(x, y);
  // NaN if one of them is NaN; y of two equal numbers, as torch chooses between 0 and −0
  const chosen = operation == LARGER ? v128.pmax<T>(y, x) : v128.pmin<T>(y, x);
  return v128.bitselect(x, chosen, v128.ne<T>(x, x));
}

@inline
function next(address: usize, i: i32, step: i32): v128 {
  return step ? v128.load(at(address, i)) : v128.splat<T>(load<T>(address));
}

@inline
function pairs(
  operation: i32, out: usize, outRow: i32,
  a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32,
): void {
  const vectors = <u32>aStep <= 1 && <u32>bStep <= 1 ? columns - LANES : -1;
  for (let i = 0; i < rows; i++) {
    const x = at(a, i * aRow);
    const y = at(b, i * bRow);
    const to = at(out, i * outRow);
    let j = 0;
    for (; j <= vectors; j += LANES) v128.store(at(to, j), ofTwo(operation, next(x, j, aStep), next(y, j, bStep)));
    for (; j < columns; j++) {
      const one = ofTwo(operation, v128.splat<T>(load<T>(at(x, j * aStep))), v128.splat<T>(load<T>(at(y, j * bStep))));
      store<T>(at(to, j), v128.extract_lane<T>(one, 0));
    }
  }
}

export function add(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  pairs(ADD, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function subtract(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  pairs(SUBTRACT, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function multiply(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  pairs(MULTIPLY, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function divide(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  pairs(DIVIDE, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function larger(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  pairs(LARGER, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function smaller(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  pairs(SMALLER, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}

/* ---- comparisons of two operands, which write a byte for each pair: 1 if it holds, else 0 */

const EQUAL = 0, UNEQUAL = 1, LESS = 2, LESS_OR_EQUAL = 3;

@inline
function comparisons(
  operation: i32, out: usize, outRow: i32,
  a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32,
): void {
  for (let i = 0; i < rows; i++) {
    const left = at(a, i * aRow);
    const right = at(b, i * bRow);
    const to = out + <usize>(i * outRow);
    for (let j = 0; j < columns; j++) {
      const x = load<T>(at(left, j * aStep));
      const y = load<T>(at(right, j * bStep));
      store<u8>(to + <usize>j, operation == EQUAL ? x == y : operation == UNEQUAL ? x != y : operation == LESS ? x < y : x <= y);
    }
  }
}

export function equal(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  comparisons(EQUAL, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function unequal(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  comparisons(UNEQUAL, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function less(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  comparisons(LESS, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}
export function lessOrEqual(out: usize, outRow: i32, a: usize, aRow: i32, aStep: i32, b: usize, bRow: i32, bStep: i32, rows: i32, columns: i32): void {
  comparisons(LESS_OR_EQUAL, out, outRow, a, aRow, aStep, b, bRow, bStep, rows, columns);
}

/* ---- one operand */

const NEGATIVE = 0, ABSOLUTE = 1, ROOT = 2, RELU = 3;

@inline
function ofOne(operation: i32, x: v128): v128 {
  if (operation == NEGATIVE) return v128.neg<T>(x);
  if (operation == ABSOLUTE) return v128.abs<T>(x);
  if (operation == ROOT) return v128.sqrt<T>(x);
  return v128.pmax<T>(x, v128.splat<T>(0)); // keeps −0 and NaN, as torch does
}

@inline
function each(operation: i32, out: usize, a: usize, n: i32): void {
  let i = 0;
  for (; i <= n - LANES; i += LANES) v128.store(at(out, i), ofOne(operation, v128.load(at(a, i))));
  for (; i < n; i++) {
    store<T>(at(out, i), v128.extract_lane<T>(ofOne(operation, v128.splat<T>(load<T>(at(a, i)))), 0));
  }
}

export function negative(out: usize, a: usize, n: i32): void {
  each(NEGATIVE, out, a, n);
}
export function absolute(out: usize, a: usize, n: i32): void {
  each(ABSOLUTE, out, a, n);
}
export function root(out: usize, a: usize, n: i32): void {
  each(ROOT, out, a, n);
}
export function relu(out: usize, a: usize, n: i32): void {
  each(RELU, out, a, n);
}

const EXP = 0, TANH = 1, SIGMOID = 2;

@inline
function inFloat64(operation: i32, x: v128): v128 {
  return operation == EXP ? expOfTwo(x) : operation == TANH ? tanhOfTwo(x) : sigmoidOfTwo(x);
}

@inline
function eachInFloat64(operation: i32, out: usize, a: usize, n: i32): void {
  let i = 0;
  for (; i <= n - 2; i += 2) storeTwo(at(out, i), inFloat64(operation, loadTwo(at(a, i))));
  if (i < n) {
    const one = inFloat64(operation, f64x2.splat(<f64>load<T>(at(a, i))));
    store<T>(at(out, i), <T>f64x2.extract_lane(one, 0));
  }
}

export function exp(out: usize, a: usize, n: i32): void {
  eachInFloat64(EXP, out, a, n);
}
export function tanh(out: usize, a: usize, n: i32): void {
  eachInFloat64(TANH, out, a, n);
}
export function sigmoid(out: usize, a: usize, n: i32): void {
  eachInFloat64(SIGMOID, out, a, n);
}

export function log(out: usize, a: usize, n: i32): void {
  for (let i = 0; i < n; i++) store<T>(at(out, i), <T>logOf(<f64>load<T>(at(a, i))));
}

/** x · ½ (1 + erf(x / √2)) */
export function gelu(out: usize, a: usize, n: i32): void {
  for (let i = 0; i < n; i++) {
    const x = <f64>load<T>(at(a, i));
    store<T>(at(out, i), <T>(x * 0.5 * (1 + erfOf(x * Math.SQRT1_2))));
  }
}

/* ---- a derivative, added to `out` */

export function reluBack(out: usize, a: usize, gradient: usize, n: i32): void {
  for (let i = 0; i < n; i++) {
    if (load<T>(at(a, i)) > 0) store<T>(at(out, i), load<T>(at(out, i)) + load<T>(at(gradient, i)));
  }
}

/* ---- updates of `out` */

/** Add `factor` times a. */
export function addScaled(out: usize, a: usize, factor: f64, n: i32): void {
  const times = v128.splat<T>(<T>factor);
  let i = 0;
  for (; i <= n - LANES; i += LANES) {
    v128.store(at(out, i), v128.add<T>(v128.load(at(out, i)), v128.mul<T>(times, v128.load(at(a, i)))));
  }
  for (; i < n; i++) store<T>(at(out, i), load<T>(at(out, i)) + <T>factor * load<T>(at(a, i)));
}

/** A step of AdamW (Loshchilov and Hutter, 2019). `step` counts from 1. */
export function adamw(
  values: usize, gradients: usize, means: usize, squares: usize, n: i32,
  rate: f64, beta1: f64, beta2: f64, epsilon: f64, decay: f64, step: i32,
): void {
  const shrink = <T>(1 - rate * decay);
  const length = <T>(rate / (1 - power(beta1, step)));
  const spread = <T>sqrt(1 - power(beta2, step));
  for (let i = 0; i < n; i++) {
    const g = load<T>(at(gradients, i));
    const mean = <T>beta1 * load<T>(at(means, i)) + <T>(1 - beta1) * g;
    const square = <T>beta2 * load<T>(at(squares, i)) + <T>(1 - beta2) * g * g;
    store<T>(at(means, i), mean);
    store<T>(at(squares, i), square);
    const value = load<T>(at(values, i)) * shrink;
    store<T>(at(values, i), value - (length * mean) / (sqrt<T>(square) / spread + <T>epsilon));
  }
}

/** Return baseⁿ of a whole number n ≥ 0. */
function power(base: f64, n: i32): f64 {
  let result: f64 = 1;
  for (; n > 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return result;
}

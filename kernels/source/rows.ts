// Operations on rows: sums, softmax, layer norm, and rows that are gathered by their index. Sums run in float64.

import { exp, expOfTwo, log } from "./functions";
import { LANES, T, at, loadTwo, storeTwo, sumOfTwo } from "./number";

/** Return the sum of n numbers. */
function sumOf(a: usize, n: i32): f64 {
  let sum = f64x2.splat(0), other = sum;
  let i = 0;
  for (; i <= n - 4; i += 4) {
    sum = f64x2.add(sum, loadTwo(at(a, i)));
    other = f64x2.add(other, loadTwo(at(a, i + 2)));
  }
  let total = sumOfTwo(f64x2.add(sum, other));
  for (; i < n; i++) total += <f64>load<T>(at(a, i));
  return total;
}

function dot(a: usize, b: usize, n: i32): f64 {
  let sum = f64x2.splat(0);
  let i = 0;
  for (; i <= n - 2; i += 2) sum = f64x2.add(sum, f64x2.mul(loadTwo(at(a, i)), loadTwo(at(b, i))));
  let total = sumOfTwo(sum);
  if (i < n) total += <f64>load<T>(at(a, i)) * <f64>load<T>(at(b, i));
  return total;
}

/** Sum over the middle axis of (outer, n, inner). */
export function sum(out: usize, a: usize, outer: i32, n: i32, inner: i32, add: i32): void {
  for (let i = 0; i < outer; i++) {
    for (let j = 0; j < inner; j++) {
      const from = at(a, i * n * inner + j);
      const to = at(out, i * inner + j);
      if (j <= inner - 2) {
        let two = add ? loadTwo(to) : f64x2.splat(0);
        for (let k = 0; k < n; k++) two = f64x2.add(two, loadTwo(at(from, k * inner)));
        storeTwo(to, two);
        j++;
        continue;
      }
      let total = add ? <f64>load<T>(to) : 0;
      if (inner == 1) total += sumOf(from, n);
      else for (let k = 0; k < n; k++) total += <f64>load<T>(at(from, k * inner));
      store<T>(to, <T>total);
    }
  }
}

@inline
function choice(isLargest: bool, x: T, y: T): T {
  return isLargest ? max<T>(x, y) : min<T>(x, y); // NaN if one of them is NaN
}

@inline
function extreme(isLargest: bool, a: usize, n: i32, step: i32): T {
  let found = load<T>(a);
  let k = 1;
  if (step == 1 && n >= LANES) {
    let four = v128.load(a);
    for (k = LANES; k <= n - LANES; k += LANES) {
      const next = v128.load(at(a, k));
      four = isLargest ? v128.max<T>(four, next) : v128.min<T>(four, next);
    }
    found = choice(isLargest, v128.extract_lane<T>(four, 0), v128.extract_lane<T>(four, 1));
    if (sizeof<T>() == 4) {
      found = choice(isLargest, found, <T>f32x4.extract_lane(four, 2));
      found = choice(isLargest, found, <T>f32x4.extract_lane(four, 3));
    }
  }
  for (; k < n; k++) found = choice(isLargest, found, load<T>(at(a, k * step)));
  return found;
}

/** The largest number along the middle axis of (outer, n, inner). */
export function largest(out: usize, a: usize, outer: i32, n: i32, inner: i32): void {
  for (let i = 0; i < outer; i++) {
    for (let j = 0; j < inner; j++) {
      store<T>(at(out, i * inner + j), extreme(true, at(a, i * n * inner + j), n, inner));
    }
  }
}

/** The smallest number along the middle axis of (outer, n, inner). */
export function smallest(out: usize, a: usize, outer: i32, n: i32, inner: i32): void {
  for (let i = 0; i < outer; i++) {
    for (let j = 0; j < inner; j++) {
      store<T>(at(out, i * inner + j), extreme(false, at(a, i * n * inner + j), n, inner));
    }
  }
}

/** Write e^(factor · (x − top)) of n numbers, and return their sum. */
function powersOf(out: usize, a: usize, n: i32, factor: f64, top: f64): f64 {
  const times = f64x2.splat(factor);
  const from = f64x2.splat(top);
  let sum = f64x2.splat(0);
  let j = 0;
  for (; j <= n - 2; j += 2) {
    const powers = expOfTwo(f64x2.mul(times, f64x2.sub(loadTwo(at(a, j)), from)));
    storeTwo(at(out, j), powers);
    sum = f64x2.add(sum, powers);
  }
  let total = sumOfTwo(sum);
  if (j < n) {
    const power = exp(factor * (<f64>load<T>(at(a, j)) - top));
    store<T>(at(out, j), <T>power);
    total += power;
  }
  return total;
}

export function softmax(out: usize, a: usize, rows: i32, columns: i32, factor: f64, causal: i32): void {
  for (let i = 0; i < rows; i++) {
    const seen = causal ? (i % columns) + 1 : columns;
    const from = at(a, i * columns);
    const to = at(out, i * columns);
    const total = powersOf(to, from, seen, factor, <f64>extreme(true, from, seen, 1));
    const share = f64x2.splat(total);
    let j = 0;
    for (; j <= seen - 2; j += 2) storeTwo(at(to, j), f64x2.div(loadTwo(at(to, j)), share));
    if (j < seen) store<T>(at(to, j), <T>(<f64>load<T>(at(to, j)) / total));
    for (j = seen; j < columns; j++) store<T>(at(to, j), 0);
  }
}

/** Write factor · w (g − Σ w g): the derivatives of the scores, from the weights and the derivatives of these. */
export function softmaxBack(out: usize, weights: usize, gradient: usize, rows: i32, columns: i32, factor: f64): void {
  for (let i = 0; i < rows; i++) {
    const w = at(weights, i * columns);
    const g = at(gradient, i * columns);
    const to = at(out, i * columns);
    const mean = f64x2.splat(dot(w, g, columns));
    const times = f64x2.splat(factor);
    let j = 0;
    for (; j <= columns - 2; j += 2) {
      const change = f64x2.sub(loadTwo(at(g, j)), mean);
      storeTwo(at(to, j), f64x2.mul(times, f64x2.mul(loadTwo(at(w, j)), change)));
    }
    if (j < columns) {
      const change = <f64>load<T>(at(g, j)) - f64x2.extract_lane(mean, 0);
      store<T>(at(to, j), <T>(factor * <f64>load<T>(at(w, j)) * change));
    }
  }
}

export function logSoftmax(out: usize, a: usize, rows: i32, columns: i32): void {
  for (let i = 0; i < rows; i++) {
    const from = at(a, i * columns);
    const top = <f64>extreme(true, from, columns, 1);
    let total: f64 = 0;
    for (let j = 0; j < columns; j++) total += exp(<f64>load<T>(at(from, j)) - top);
    const shift = top + log(total);
    for (let j = 0; j < columns; j++) store<T>(at(out, i * columns + j), <T>(<f64>load<T>(at(from, j)) - shift));
  }
}

/* ---- layer norm */

/** (x − mean) / √(variance + ε) · gain + bias, along each row. What has the address 0 is left out. */
export function norm(
  out: usize, units: usize, roots: usize, a: usize, gain: usize, bias: usize, rows: i32, columns: i32, epsilon: f64,
): void {
  for (let i = 0; i < rows; i++) {
    const from = at(a, i * columns);
    const mean = sumOf(from, columns) / <f64>columns;
    let variance: f64 = 0;
    for (let j = 0; j < columns; j++) {
      const difference = <f64>load<T>(at(from, j)) - mean;
      variance += difference * difference;
    }
    const root = 1 / sqrt(variance / <f64>columns + epsilon);
    if (roots) store<T>(at(roots, i), <T>root);
    for (let j = 0; j < columns; j++) {
      const unit = (<f64>load<T>(at(from, j)) - mean) * root;
      if (units) store<T>(at(units, i * columns + j), <T>unit);
      const scaled = gain ? unit * <f64>load<T>(at(gain, j)) : unit;
      store<T>(at(out, i * columns + j), <T>(bias ? scaled + <f64>load<T>(at(bias, j)) : scaled));
    }
  }
}

/** Add the derivatives of x, of the gain and of the bias, from those of the result. */
export function normBack(
  dX: usize, dGain: usize, dBias: usize, dOut: usize, units: usize, roots: usize, gain: usize, rows: i32, columns: i32,
): void {
  for (let i = 0; i < rows; i++) {
    const row = i * columns;
    let mean: f64 = 0; // of the derivatives by the entries of `units`
    let along: f64 = 0; // of these derivatives times the entries
    for (let j = 0; j < columns; j++) {
      const dy = load<T>(at(dOut, row + j));
      const unit = load<T>(at(units, row + j));
      store<T>(at(dGain, j), load<T>(at(dGain, j)) + dy * unit);
      store<T>(at(dBias, j), load<T>(at(dBias, j)) + dy);
      const du = <f64>(dy * load<T>(at(gain, j)));
      mean += du;
      along += du * <f64>unit;
    }
    mean /= <f64>columns;
    along /= <f64>columns;
    const root = <f64>load<T>(at(roots, i));
    for (let j = 0; j < columns; j++) {
      const du = <f64>(load<T>(at(dOut, row + j)) * load<T>(at(gain, j)));
      const change = (du - mean - along * <f64>load<T>(at(units, row + j))) * root;
      store<T>(at(dX, row + j), <T>(<f64>load<T>(at(dX, row + j)) + change));
    }
  }
}

/* ---- rows by their index, which is an int32 */

export function gather(out: usize, table: usize, indices: usize, n: i32, columns: i32, add: i32): void {
  for (let i = 0; i < n; i++) {
    const from = at(table, load<i32>(indices + (<usize>i << 2)) * columns);
    const to = at(out, i * columns);
    for (let j = 0; j < columns; j++) {
      store<T>(at(to, j), add ? load<T>(at(to, j)) + load<T>(at(from, j)) : load<T>(at(from, j)));
    }
  }
}

/** Add row i of a to the row of the table that `indices` names. */
export function scatter(table: usize, a: usize, indices: usize, n: i32, columns: i32): void {
  for (let i = 0; i < n; i++) {
    const to = at(table, load<i32>(indices + (<usize>i << 2)) * columns);
    const from = at(a, i * columns);
    for (let j = 0; j < columns; j++) store<T>(at(to, j), load<T>(at(to, j)) + load<T>(at(from, j)));
  }
}

/** Write the numbers of int8, each times the scale of its row. */
export function fromBytes(out: usize, bytes: usize, scales: usize, rows: i32, columns: i32): void {
  for (let i = 0; i < rows; i++) {
    const scale = load<T>(at(scales, i));
    for (let j = 0; j < columns; j++) {
      const k = i * columns + j;
      store<T>(at(out, k), <T>load<i8>(bytes + <usize>k) * scale);
    }
  }
}

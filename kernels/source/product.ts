// The product of matrices. Each sum over `inner` runs in order, so that the result has the same bits on every machine.

import { LANES, SIZE, T, at } from "./number";

const WIDE: i32 = 2 * LANES; // columns of a tile
const DEEP: i32 = 256; // rows of b that are copied at once

/** The address of memory that only these functions write: DEEP × WIDE numbers and a row of a tile. */
@external("env", "spare")
declare const spare: usize;

export function product(
  out: usize, outRow: i32,
  a: usize, aRow: i32, aColumn: i32,
  b: usize, bRow: i32, bColumn: i32,
  rows: i32, inner: i32, columns: i32, add: i32,
): void {
  for (let j = 0; j < columns; j += WIDE) {
    const wide = min(WIDE, columns - j);
    const copied = bColumn != 1 || wide < WIDE; // a tile needs WIDE numbers side by side
    let done = 0;
    do {
      const deep = copied ? min(DEEP, inner - done) : inner;
      let panel = at(b, done * bRow + j * bColumn);
      if (copied) {
        copyPanel(panel, bRow, bColumn, deep, wide);
        panel = spare;
      }
      for (let i = 0; i < rows; i += 4) {
        const left = at(a, i * aRow + done * aColumn);
        const to = at(out, i * outRow + j);
        tile(to, outRow, left, aRow, aColumn, panel, copied ? WIDE : bRow, min(4, rows - i), deep, wide, add | done);
      }
      done += deep;
    } while (done < inner);
  }
}

/** Copy some columns of b to `spare`, with zeros beside them. */
function copyPanel(b: usize, bRow: i32, bColumn: i32, deep: i32, wide: i32): void {
  for (let k = 0; k < deep; k++) {
    const from = at(b, k * bRow);
    const to = at(spare, k * WIDE);
    for (let j = 0; j < wide; j++) store<T>(at(to, j), load<T>(at(from, j * bColumn)));
    for (let j = wide; j < WIDE; j++) store<T>(at(to, j), 0);
  }
}

/** Write 4 rows and WIDE columns of the product, or add them. Rows and columns beyond the matrix are not stored. */
function tile(
  out: usize, outRow: i32,
  a: usize, aRow: i32, aColumn: i32,
  b: usize, bRow: i32,
  high: i32, deep: i32, wide: i32, add: i32,
): void {
  let a0 = a;
  let a1 = high > 1 ? at(a0, aRow) : a0; // a row beyond the matrix reads the row before
  let a2 = high > 2 ? at(a1, aRow) : a1;
  let a3 = high > 3 ? at(a2, aRow) : a2;
  let c00 = v128.splat<T>(0), c01 = c00, c10 = c00, c11 = c00, c20 = c00, c21 = c00, c30 = c00, c31 = c00;
  const stepOfA = <usize>aColumn * SIZE;
  const stepOfB = <usize>bRow * SIZE;
  for (let k = 0; k < deep; k++) {
    const b0 = v128.load(b);
    const b1 = v128.load(b, 16);
    let x = splatOf(a0);
    c00 = v128.add<T>(c00, v128.mul<T>(x, b0));
    c01 = v128.add<T>(c01, v128.mul<T>(x, b1));
    x = splatOf(a1);
    c10 = v128.add<T>(c10, v128.mul<T>(x, b0));
    c11 = v128.add<T>(c11, v128.mul<T>(x, b1));
    x = splatOf(a2);
    c20 = v128.add<T>(c20, v128.mul<T>(x, b0));
    c21 = v128.add<T>(c21, v128.mul<T>(x, b1));
    x = splatOf(a3);
    c30 = v128.add<T>(c30, v128.mul<T>(x, b0));
    c31 = v128.add<T>(c31, v128.mul<T>(x, b1));
    b += stepOfB;
    a0 += stepOfA;
    a1 += stepOfA;
    a2 += stepOfA;
    a3 += stepOfA;
  }
  put(out, c00, c01, wide, add);
  if (high > 1) put(at(out, outRow), c10, c11, wide, add);
  if (high > 2) put(at(out, 2 * outRow), c20, c21, wide, add);
  if (high > 3) put(at(out, 3 * outRow), c30, c31, wide, add);
}

@inline
function splatOf(address: usize): v128 {
  return sizeof<T>() == 4 ? v128.load32_splat(address) : v128.load64_splat(address);
}

/** Store, or add, the first `wide` numbers of two vectors. */
function put(to: usize, low: v128, high: v128, wide: i32, add: i32): void {
  if (wide == WIDE) {
    v128.store(to, add ? v128.add<T>(v128.load(to), low) : low);
    v128.store(to, add ? v128.add<T>(v128.load(to, 16), high) : high, 16);
    return;
  }
  const row = at(spare, DEEP * WIDE);
  v128.store(row, low);
  v128.store(row, high, 16);
  for (let j = 0; j < wide; j++) {
    const sum = load<T>(at(row, j));
    store<T>(at(to, j), add ? load<T>(at(to, j)) + sum : sum);
  }
}

/** Products of many matrices, along two axes of a batch. */
export function products(
  count0: i32, count1: i32,
  out: usize, out0: i32, out1: i32, outRow: i32,
  a: usize, a0: i32, a1: i32, aRow: i32, aColumn: i32,
  b: usize, b0: i32, b1: i32, bRow: i32, bColumn: i32,
  rows: i32, inner: i32, columns: i32, add: i32,
): void {
  for (let i = 0; i < count0; i++) {
    for (let j = 0; j < count1; j++) {
      product(
        at(out, i * out0 + j * out1), outRow,
        at(a, i * a0 + j * a1), aRow, aColumn,
        at(b, i * b0 + j * b1), bRow, bColumn,
        rows, inner, columns, add,
      );
    }
  }
}

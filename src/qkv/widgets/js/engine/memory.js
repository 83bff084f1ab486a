/* Matrices in one memory, where the kernels (kernels/kernels.js) compute. */

/** @import { Kernels, Numbers, NumberType, Space } from "../../../../../kernels/plain.js" */

/** Numbers that follow each other in a memory, as rows. Steps and indices count numbers; an address counts bytes. */
export class Matrix {
  /** @param {Numbers} data
   * @param {number} at
   * @param {number} rows
   * @param {number} columns */
  constructor(data, at, rows, columns, rowStep = columns) {
    this.data = data;
    this.at = at;
    this.rows = rows;
    this.columns = columns;
    this.rowStep = rowStep;
  }

  get address() {
    return this.at * this.data.BYTES_PER_ELEMENT;
  }

  get size() {
    return this.rows * this.columns;
  }

  /** @param {number} row
   * @param {number} column
   * @param {number} rows
   * @param {number} columns */
  part(row, column, rows, columns) {
    return new Matrix(this.data, this.at + row * this.rowStep + column, rows, columns, this.rowStep);
  }

  /** @param {number} i */
  row(i) {
    const at = this.at + i * this.rowStep;
    return this.data.subarray(at, at + this.columns);
  }

  /** All numbers of a matrix whose rows follow each other. */
  get numbers() {
    return this.data.subarray(this.at, this.at + this.size);
  }
}

/** A memory that matrices are taken from, one after the other. The first `spare` bytes belong to the kernels. */
export class Memory {
  /** @param {Space} parts
   * @param {Kernels} kernels
   * @param {NumberType} Numbers */
  constructor({ buffer }, kernels, Numbers, spare = 0) {
    this.kernels = kernels;
    this.data = new Numbers(buffer);
    this.integers = new Int32Array(buffer);
    this.used = spare / Numbers.BYTES_PER_ELEMENT;
  }

  /** @param {number} rows
   * @param {number} columns */
  take(rows, columns) {
    const matrix = new Matrix(this.data, this.used, rows, columns);
    this.used += rows * columns;
    if (this.used > this.data.length) throw new RangeError("the batch is too large for the memory");
    return matrix;
  }

  /** Copy integers into the memory, and return their address.
   * @param {number[]} integers */
  list(integers) {
    const { address } = this.take(1, integers.length);
    this.integers.set(integers, address / 4);
    return address;
  }
}

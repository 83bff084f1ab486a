/* Reads files of trained weights. A table is a Float64Array, stored row by row. */

/** @typedef {{ shape: number[], data: Float64Array }} Tensor */
/** @typedef {{ tensors: Record<string, Tensor>, metadata: Record<string, string> }} Weights */
/** @typedef {{ dtype: keyof typeof NUMBERS, shape: number[], data_offsets: [number, number] }} Entry of the header */

/** Return the tensors of a safetensors file, by name, and its metadata.
 * @param {Uint8Array} bytes
 * @returns {Weights} */
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerLength)));
  const { __metadata__: metadata = {}, ...entries } = header;
  /** @type {Weights["tensors"]} */
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets }] of /** @type {[string, Entry][]} */ (Object.entries(entries))) {
    const data = new Float64Array(shape.reduce((product, size) => product * size, 1));
    const { size, read } = NUMBERS[dtype];
    for (let i = 0; i < data.length; i++) data[i] = read(view, 8 + headerLength + data_offsets[0] + i * size);
    tensors[name] = { shape, data };
  }
  return { tensors, metadata };
}

/** How each type of number is read, and its size in bytes.
 * @satisfies {Record<string, { size: number, read: (view: DataView, at: number) => number }>} */
const NUMBERS = {
  F16: { size: 2, read: (view, at) => float16(view.getUint16(at, true)) },
  F32: { size: 4, read: (view, at) => view.getFloat32(at, true) },
  I64: { size: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  I8: { size: 1, read: (view, at) => view.getInt8(at) },
};

/** Return the number that 16 bits represent: a sign, 5 bits of exponent, 10 of fraction (IEEE 754 binary16).
 * @param {number} bits */
export function float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

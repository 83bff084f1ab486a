// Calls kernels for the tests. Each line of input is a call: {type, simd, name, arrays, args}. The arrays are bytes in
// base64. An argument is a number, or the place of an array as {array}. The answer has the result, and the bytes of all
// arrays after the call.

import { createInterface } from "node:readline";
import { float32, float64, newMemory, SPARE } from "../../kernels/kernels.js";

const memory = newMemory(2 ** 17);
const kinds = {};
for (const make of [float32, float64])
  for (const simd of [true, false]) kinds[`${make.name} ${simd}`] = make(memory, { simd });

const FILLED = 0xa5; // what lies between the arrays: a kernel must not change it

function call({ type, simd, name, arrays, args }) {
  const all = new Uint8Array(memory.buffer);
  all.fill(FILLED, SPARE);
  let end = SPARE;
  const places = arrays.map((text) => {
    const bytes = Buffer.from(text, "base64");
    const place = { at: end + 64, length: bytes.length };
    all.set(bytes, place.at);
    end = place.at + Math.ceil(bytes.length / 64) * 64;
    return place;
  });
  const given = args.map((arg) => (typeof arg === "object" ? places[arg.array].at : Number(arg)));
  const kernel = kinds[`${type} ${simd}`];
  const result = kernel[name](...given);
  const after = places.map(({ at, length }) => Buffer.from(all.slice(at, at + length)).toString("base64"));
  for (const { at, length } of places) all.fill(FILLED, at, at + length);
  const untouched = all.subarray(SPARE).every((byte) => byte === FILLED);
  return { result, arrays: after, untouched, isFast: kernel.isFast };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(call(JSON.parse(line))));

// Large arrays of bytes, freed as soon as nothing needs them. A browser would free them when it next collects garbage,
// which in a page that does little else comes tens of megabytes later.

/** Free the memory of a buffer at once, whoever still refers to it, by sending it to nobody. `transfer` would not free
 * what came from a stream or a message: Chromium has a second owner of those bytes.
 * @param {ArrayBufferLike} [buffer] */
export function free(buffer) {
  if (!buffer?.byteLength) return; // what is freed already has no bytes, and cannot be freed again
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(null, [/** @type {ArrayBuffer} */ (buffer)]);
  port1.close();
  port2.close();
}

/** Return all bytes of a stream. `onBytes` is called with the number of bytes that have just come.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {(count: number) => void} [onBytes] */
export async function collected(stream, onBytes = (_count) => {}) {
  const reader = stream.getReader();
  const chunks = [];
  let size = 0;
  for (let { done, value } = await reader.read(); value && !done; { done, value } = await reader.read()) {
    chunks.push(value);
    size += value.byteLength;
    onBytes(value.byteLength);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
    free(chunk.buffer);
  }
  return all.buffer;
}

/** Return the bytes that gzip has compressed. Their number is the last that it writes, so each piece goes to its place.
 * @param {ArrayBuffer} packed */
export async function unzipped(packed) {
  const all = new Uint8Array(new DataView(packed).getUint32(packed.byteLength - 4, true));
  const reader = streamOf(packed).pipeThrough(new DecompressionStream("gzip")).getReader();
  let at = 0;
  for (let { done, value } = await reader.read(); value && !done; { done, value } = await reader.read()) {
    all.set(value, at);
    at += value.byteLength;
    free(value.buffer);
  }
  return all.buffer;
}

/** @param {ArrayBuffer} bytes
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>} */
export const streamOf = (bytes) =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(bytes));
      controller.close();
    },
  });

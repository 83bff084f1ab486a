/* Loads the real model into a page, with progress, and runs it. Its files (real_model/pack.py) are kept in a cache of the
 * browser, so that it also runs without a network afterwards. */

import { Bert, sentenceVector } from "./bert.js";
import { tokenizer } from "./wordpiece.js";

/** @import { Handles, Parts, Row, Shape } from "./bert.js" */
/** @typedef {{ version: string, shape: Shape, common: number, piece: number, bytes: Record<string, number>, parts: Parts }} Index */
/** @typedef {{ tokens: string[], ids: number[], rows: Row[] }} Text */

const PREFIX = "real-model-"; // of the cache's name; the version of the files follows

/** Load the model from the folder of its files. `onProgress` gets the bytes that have arrived, and their total.
 * @param {string} folder
 * @param {(loaded: number, total: number) => void} onProgress */
export async function loadModel(folder, onProgress) {
  /** @type {Index} */
  const index = await loadIndex(folder);
  const files = await keptFiles(folder, index.version);
  const total = Object.values(index.bytes).reduce((sum, each) => sum + each, 0);
  const counted = { loaded: 0 };
  const [layers, words] = await Promise.all(
    ["layers.bin", "words.txt"].map((name) =>
      files(name, (more) => {
        counted.loaded += more;
        onProgress(counted.loaded, total);
      }),
    ),
  );
  return new RealModel(index, layers, new TextDecoder().decode(words).trimEnd().split("\n"), files);
}

/** Return the index of the files: the newest, or without a network the one that was kept.
 * @param {string} folder */
async function loadIndex(folder) {
  const address = `${folder}/index.json`;
  const kept = globalThis.caches && (await caches.open(`${PREFIX}index`));
  try {
    const response = await fetched(address);
    await kept?.put(address, response.clone());
    return await response.json();
  } catch (problem) {
    const known = await kept?.match(address);
    if (!known) throw problem;
    return known.json();
  }
}

/** @param {string} address */
async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response;
}

/** Return a function that reads a file: from the browser's cache, or else over the network, and then it is kept.
 * @param {string} folder
 * @param {string} version */
async function keptFiles(folder, version) {
  const name = PREFIX + version;
  const cache = globalThis.caches && (await caches.open(name));
  if (cache) {
    const old = (await caches.keys()).filter(
      (each) => each.startsWith(PREFIX) && ![name, `${PREFIX}index`].includes(each),
    );
    await Promise.all(old.map((each) => caches.delete(each)));
  }
  return async (/** @type {string} */ file, /** @type {(bytes: number) => void} */ onBytes = () => {}) => {
    const address = `${folder}/${file}?v=${version}`;
    const response = (await cache?.match(address)) ?? (await fetched(address));
    const packed = await received(response, onBytes);
    if (cache && !(await cache.match(address))) await cache.put(address, new Response(packed));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
}

/** Return the bytes of a response, and report them as they arrive.
 * @param {Response} response
 * @param {(bytes: number) => void} onBytes */
async function received(response, onBytes) {
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).getReader();
  const parts = [];
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
    if (!value) continue;
    parts.push(value);
    onBytes(value.length);
  }
  return new Blob(parts);
}

/** The loaded model. It is made by `loadModel`. */
class RealModel {
  #index;
  #words;
  #files;
  #cut;
  #bert;
  /** @type {Map<number, Promise<{ numbers: Int8Array, scales: Float32Array }>>} the rows of each piece */
  #pieces = new Map();

  /** @param {Index} index
   * @param {Uint8Array} layers
   * @param {string[]} words
   * @param {(file: string) => Promise<Uint8Array>} files */
  constructor(index, layers, words, files) {
    this.#index = index;
    this.#words = words;
    this.#files = files;
    this.#cut = tokenizer(words);
    this.#bert = new Bert(index.shape, layers, index.parts);
    this.#pieces.set(
      -1,
      Promise.resolve(rowsIn(layers.slice(0, index.common * (index.shape.width + 4)), index.common)),
    );
  }

  get shape() {
    return this.#index.shape;
  }

  /** Cut a text into tokens, and load the rows of its words.
   * @param {string} text
   * @returns {Promise<Text>} */
  async read(text) {
    const ids = this.#cut(text);
    const rows = ids.length > this.shape.positions ? [] : await Promise.all(ids.map((id) => this.#row(id)));
    return { tokens: ids.map((id) => this.#words[id]), ids, rows };
  }

  /** @param {number} id
   * @returns {Promise<Row>} */
  async #row(id) {
    const { common, piece, shape } = this.#index;
    const number = id < common ? -1 : Math.floor((id - common) / piece);
    if (!this.#pieces.has(number)) this.#pieces.set(number, this.#loadPiece(number));
    const { numbers, scales } = await /** @type {Promise<{ numbers: Int8Array, scales: Float32Array }>} */ (
      this.#pieces.get(number)
    );
    const at = number < 0 ? id : (id - common) % piece;
    return { numbers: numbers.subarray(at * shape.width, (at + 1) * shape.width), scale: scales[at] };
  }

  /** @param {number} number */
  async #loadPiece(number) {
    try {
      const bytes = await this.#files(`rows/${number}.bin`);
      return rowsIn(bytes, Math.floor(bytes.length / (this.shape.width + 4)));
    } catch (problem) {
      this.#pieces.delete(number); // the next sentence with this word tries again
      throw problem;
    }
  }

  /** Return the weights (layers, heads, n, n), and the vector of the sentence.
   * @param {Text} text
   * @param {Handles} handles */
  run({ rows }, handles) {
    const { weights, states } = this.#bert.run(rows, handles);
    return { weights, vector: sentenceVector(states, this.shape.width) };
  }
}

/** Return the rows of a table: scales, and then int8.
 * @param {Uint8Array} bytes
 * @param {number} rows */
const rowsIn = ({ buffer, byteOffset, byteLength }, rows) => ({
  scales: new Float32Array(buffer, byteOffset, rows),
  numbers: new Int8Array(buffer, byteOffset + 4 * rows, byteLength - 4 * rows),
});

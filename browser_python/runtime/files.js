// The files of Python on the page. A browser fetches no files for a page that was itself opened from a file. So in a
// downloaded copy of the site they are read from scripts, which `pack.py` writes beside them.

import { collected, free, streamOf, unzipped } from "./bytes.js";

const COPY = location.protocol === "file:";
const PATIENCE = [8, 16, 32]; // seconds without a byte, after which a try ends
const PAUSE = 1000; // ms before another try
/** @type {Map<string, (text: string) => void>} */
const waiting = new Map(); // the resolve functions of promised files, by name

/** Receive a file from such a script, as compressed text in base64. */
globalThis.qkvFile = (name, text) => waiting.get(name)?.(text);

/** Load a script.
 * @param {URL} address */
function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const problem = () => reject(new Error(`${address.href.split("/").pop()} could not be loaded`));
    script.addEventListener("load", resolve);
    script.addEventListener("error", problem);
    script.src = address.href;
    document.head.append(script);
  });
}

/** @typedef {{ cache?: RequestCache, onBytes?: (count: number) => void, onCut?: () => void }} Options */

/** Return the bytes of a file in a folder. A connection that is cut, or brings nothing for some seconds, is tried again.
 * `onBytes` is called with the number of bytes that have just come, less than 0 for those of a connection that was cut;
 * `onCut` before another try.
 * @param {URL} folder
 * @param {string} name
 * @param {Options} [options] */
export async function bytesOf(folder, name, options = {}) {
  const { cache = "default", onBytes = (_count) => {}, onCut = () => {} } = options;
  if (COPY) {
    const bytes = await bytesOfCopy(folder, name);
    onBytes(bytes.byteLength);
    return bytes;
  }
  for (const seconds of PATIENCE) {
    let count = 0;
    const onMore = (/** @type {number} */ more) => {
      count += more;
      onBytes(more);
    };
    const bytes = await fetchBytes(new URL(name, folder), cache, seconds, onMore).catch(() => {});
    if (bytes) return bytes;
    onBytes(-count);
    if (!navigator.onLine || seconds === PATIENCE.at(-1)) break;
    onCut();
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  throw new Lost(`${name} could not be loaded`);
}

/** The error for a file that the network does not bring. */
class Lost extends Error {}

/** Load something from the browser's cache or the network. What the cache has may be of an earlier build, or be cut
 * short: if it is of no use, load it from the network alone.
 * @template Found
 * @param {(cache: RequestCache) => Promise<Found>} load */
export const loaded = (load) =>
  load("default").catch((problem) => {
    if (problem instanceof Lost) throw problem;
    return load("reload");
  });

/** Fetch a file, and throw an Error if it is not there, or if nothing of it comes for some seconds.
 * @param {URL} address
 * @param {RequestCache} cache
 * @param {number} seconds
 * @param {(count: number) => void} onBytes */
async function fetchBytes(address, cache, seconds, onBytes) {
  const stop = new AbortController();
  /** @type {number | undefined} */
  let clock;
  const wait = () => {
    clearTimeout(clock);
    clock = setTimeout(() => stop.abort(), seconds * 1000);
  };
  wait();
  try {
    const response = await fetch(address, { cache, signal: stop.signal });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await collected(/** @type {ReadableStream<Uint8Array>} */ (response.body), (count) => {
      wait();
      onBytes(count);
    });
  } finally {
    clearTimeout(clock);
  }
}

/** Return the bytes of a file in a downloaded copy of the site.
 * @param {URL} folder
 * @param {string} name */
async function bytesOfCopy(folder, name) {
  /** @type {Promise<string>} */
  const text = new Promise((resolve) => {
    waiting.set(name, resolve);
  });
  await loadScript(new URL(`copy/${name}.js`, folder));
  const packed = Uint8Array.from(atob(await text), (letter) => letter.charCodeAt(0));
  return unzipped(packed.buffer);
}

/** Throw an Error if these bytes are not those that the build wrote. Without `crypto.subtle`, which a browser gives to no
 * page that came without encryption, only their number is compared.
 * @param {string} name
 * @param {ArrayBuffer} bytes
 * @param {{ size: number, sha256: string }} built */
export async function checkBytes(name, bytes, built) {
  const { size, sha256 } = built;
  const digest = await globalThis.crypto.subtle?.digest("SHA-256", bytes);
  const found = digest ? btoa(String.fromCharCode(...new Uint8Array(digest))) : sha256;
  if (bytes.byteLength !== size || found !== sha256) throw new Error(`${name} is not as it was built`);
}

/** @param {URL} folder
 * @param {string} name */
export const textOf = async (folder, name) => new TextDecoder().decode(await bytesOf(folder, name));

/** Return the editor's module, which is a script in any case.
 * @param {URL} folder */
export async function editorOf(folder) {
  if (!globalThis.qkvEditor) await loadScript(new URL("editor.js", folder));
  return globalThis.qkvEditor;
}

/**
 * Return the store of Python's memory after all imports. A later start reads it and imports nothing. It is kept in the
 * service worker's cache, if there is one. `made` identifies the files from which the memory came.
 * @param {URL} folder
 * @param {string} made
 */
export function memoryOf(folder, made) {
  const address = new URL(`memory-${made}`, folder);
  return {
    async read() {
      const found = COPY ? undefined : await globalThis.caches?.match(address);
      return found?.body ? collected(found.body) : undefined;
    },
    /** Keep these bytes, and free their memory.
     * @param {ArrayBuffer} bytes */
    async keep(bytes) {
      const names = COPY ? [] : ((await globalThis.caches?.keys()) ?? []);
      const name = names.find((one) => one.startsWith("qkv-python-"));
      const packed = () => streamOf(bytes).pipeThrough(new CompressionStream("gzip"));
      try {
        if (name) await (await caches.open(name)).put(address, new Response(packed()));
      } finally {
        free(bytes);
      }
    },
  };
}

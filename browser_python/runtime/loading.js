// Loading what Python starts with. Each file is handed on when it has come: the worker compiles while others are loaded.

import { unzipped } from "./bytes.js";
import { bytesOf, checkBytes, memoryOf } from "./files.js";

/** @typedef {Record<string, { size: number, sha256: string }>} Built files by their names, as the build wrote them */
/** @typedef {object} To what is called while files are loaded
 * @property {(name: string, bytes?: ArrayBuffer) => void} hand with each file that has come
 * @property {(percent: number) => void} onPercent
 * @property {() => void} onCut */

export const PROGRAM = "worker.js";
const SIZES = "sizes.json";
const HEAVY = ["pyodide.asm.wasm", "python_stdlib.bin", "course.bin"]; // in the order in which Python needs them
export const NEEDED = [PROGRAM, SIZES, ...HEAVY];
const LITTLE = 500e3; // bytes of a file, less when transferred: what comes while the next one is asked for

/** Return the bytes of a file that is as it was built; of an archive, without its compression.
 * @param {URL} folder
 * @param {string} name
 * @param {Built | Promise<Built>} built
 * @param {import("./files.js").Options} options */
export async function fileOf(folder, name, built, options) {
  const bytes = await bytesOf(folder, name, options);
  await checkBytes(name, bytes, (await built)[name]);
  return name.endsWith(".bin") ? unzipped(bytes) : bytes;
}

/** Load the files of the start, and hand each one on; as `memory`, Python's memory of an earlier visit or undefined. The
 * large files are loaded one after the other. The next one is asked for shortly before the last one has come, so that
 * the connection is never idle.
 * @param {URL} folder
 * @param {RequestCache} cache
 * @param {To} to */
export async function loadStart(folder, cache, { hand, onPercent, onCut }) {
  let built = /** @type {Built | undefined} */ (undefined);
  let done = 0;
  const facts = bytesOf(folder, SIZES, { cache }).then((bytes) => {
    const found = /** @type {{ built: Built, made: string }} */ (JSON.parse(new TextDecoder().decode(bytes)));
    built = found.built;
    hand(SIZES, bytes);
    return found;
  });
  const sizes = facts.then((found) => found.built);
  const load = async (/** @type {string} */ name, /** @type {() => void} */ onLittleLeft) => {
    let come = 0;
    const onBytes = (/** @type {number} */ count) => {
      come += count;
      done += count;
      if (!built) return;
      const total = HEAVY.reduce((sum, one) => sum + /** @type {Built} */ (built)[one].size, 0);
      if (count > 0) onPercent(Math.min(100, Math.floor((100 * done) / total)));
      if (come > built[name].size - LITTLE) onLittleLeft();
    };
    const bytes = await fileOf(folder, name, sizes, { cache, onBytes, onCut });
    onLittleLeft();
    hand(name, bytes);
  };
  let before = Promise.resolve();
  const large = HEAVY.map((name) => {
    const begin = before;
    /** @type {() => void} */
    let onLittleLeft = () => {};
    before = new Promise((resolve) => {
      onLittleLeft = resolve;
    });
    return begin.then(() => load(name, onLittleLeft));
  });
  const program = fileOf(folder, PROGRAM, sizes, { cache }).then((bytes) => hand(PROGRAM, bytes));
  const memory = facts.then(async ({ made }) => {
    const read = memoryOf(folder, made).read();
    hand("memory", await read.catch(() => undefined)); // without it, Python imports everything
  });
  await Promise.all([program, memory, ...large]);
  return facts;
}

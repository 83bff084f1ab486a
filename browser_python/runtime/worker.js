// Python in a worker: Pyodide, the page's torch, and the course's own checking code.
//
// The worker's first message brings a port, through which all others go. Messages to the worker: {name, bytes}, a file of
// the start, {archive}, more modules, {id, cells, question, name} checks an answer, {id, cells} runs cells. Messages from
// the worker: {stage}, what the start does, {memory}, if it was not among the files, then {ready} or {failed}, and for each
// request {id, …, used}. Before that comes {id, first}, a first verdict, if naming the misconception takes long. {died}
// says that the interpreter ended.

import "./classic.js"; // before all others
import { loadPyodide } from "pyodide";
import createPyodideModule from "../../node_modules/pyodide/pyodide.asm.mjs";
import { extract } from "./archives.js";
import { free, unzipped } from "./bytes.js";
import { giveKernels } from "./kernels.js";
import { limitRecursion } from "./recursion.js";

/** @import { Heap } from "./kernels.js" */
/** @import { Stack } from "./recursion.js" */
/** @typedef {import("pyodide").PyodideInterface & { _module: Heap & Stack & { HEAP8: Int8Array } }} Python */
/** @typedef {Awaited<ReturnType<typeof boot>>} Booted */

const LOCK = { info: { arch: "wasm32", version: "0", python: "3", platform: "", abi_version: "" }, packages: {} };
const HERE = "http://page/"; // of nothing: the worker's policy lets it load nothing
const LIBRARY = "python_stdlib.bin";
const COURSE = "course.bin";

/** The files of the start: the page sends each one when it has come, so that Python starts while others are loaded. */
class Files {
  /** @type {Map<string, { come: Promise<ArrayBuffer | undefined>, resolve: (bytes?: ArrayBuffer) => void }>} */
  #files = new Map();

  /** @param {string} name */
  #at(name) {
    let resolve = (/** @type {ArrayBuffer | undefined} */ _bytes) => {};
    const come = new Promise((done) => {
      resolve = done;
    });
    const file = this.#files.get(name) ?? { come, resolve };
    this.#files.set(name, file);
    return file;
  }

  /** Return the promise of a file's bytes, of undefined if the page does not have it.
   * @param {string} name */
  get(name) {
    return this.#at(name).come;
  }

  /** @param {string} name
   * @param {ArrayBuffer} [bytes] */
  add(name, bytes) {
    this.#at(name).resolve(bytes);
  }

  async free() {
    for (const { come } of this.#files.values()) free(await come);
  }
}

/** Let Pyodide load these files as if a server sent them. What it calls for a response is here without the copies that a
 * Response makes of its bytes.
 * @param {Files} files */
function serve(files) {
  const load = async (/** @type {RequestInfo | URL} */ address) => {
    const name = String(/** @type {Request} */ (address).url ?? address).replace(/.*\//, "");
    return { ok: true, arrayBuffer: () => files.get(name) };
  };
  globalThis.fetch = /** @type {typeof fetch} */ (/** @type {unknown} */ (load));
  WebAssembly.instantiateStreaming = async (response, imports) =>
    WebAssembly.instantiate(await (await response).arrayBuffer(), imports);
}

/** @param {Files} files
 * @param {MessagePort} port */
async function boot(files, port) {
  serve(files);
  const say = (/** @type {string} */ stage) => port.postMessage({ stage });
  say("compiling");
  const [sizes, packed] = await Promise.all([files.get("sizes.json"), files.get("memory")]);
  const kept = packed && (await unzipped(packed).catch(() => undefined)); // here: large messages are copied
  free(packed);
  const { lock } = JSON.parse(new TextDecoder().decode(sizes));
  const options = {
    indexURL: HERE,
    stdLibURL: HERE + LIBRARY,
    lockFileContents: { ...LOCK, info: lock },
    createPyodideModule,
  };
  const restored = kept && (await restore({ ...options, _loadSnapshot: kept }, files).catch(() => {}));
  const python = /** @type {Python} */ (restored ?? (await loadPyodide({ ...options, _makeSnapshot: true })));
  if (!restored) {
    await unpackCourse(python, files);
    say("importing");
    python.runPython("import sys; sys.path.insert(0, '/lib/course'); import notebook");
    say("keeping");
    const { buffer } = python.makeMemorySnapshot();
    port.postMessage({ memory: buffer }, [buffer]);
  }
  await files.free();
  free(kept);
  giveKernels(python);
  limitRecursion(python);
  return { python, notebook: python.pyimport("notebook") };
}

/** Python as it was kept after all imports.
 * @param {Parameters<typeof loadPyodide>[0]} options
 * @param {Files} files */
async function restore(options, files) {
  const python = await loadPyodide(options);
  await unpackCourse(python, files);
  python.runPython("import random; random.seed()"); // without this, every visit would draw the same numbers
  return python;
}

/** @param {import("pyodide").PyodideInterface} python
 * @param {Files} files */
async function unpackCourse(python, files) {
  unpack(python, /** @type {ArrayBuffer} */ (await files.get(COURSE)));
}

/** @param {import("pyodide").PyodideInterface} python
 * @param {ArrayBuffer} archive */
function unpack(python, archive) {
  extract(python.FS, new Uint8Array(archive), "/lib/course");
  python.runPython("import sys; sys.path_importer_cache.clear()"); // it has an older list of the folder
}

/** @param {MessagePort} port
 * @param {Booted} booted */
function answerAll(port, { python, notebook }) {
  port.onmessage = ({ data: { id, archive, ...request } }) => {
    if (archive) return unpack(python, archive);
    const reportFirst = (/** @type {string} */ first) => port.postMessage({ id, first: JSON.parse(first) });
    try {
      const answer = JSON.parse(notebook.answer(JSON.stringify(request), reportFirst));
      port.postMessage({ id, ...answer, used: python._module.HEAP8.length });
    } catch (problem) {
      port.postMessage({ died: String(problem) }); // the interpreter cannot be used any more
    }
  };
  port.postMessage({ ready: true });
}

self.addEventListener(
  "message",
  ({ data: { port } }) => {
    const files = new Files();
    port.onmessage = (/** @type {MessageEvent} */ { data: { name, bytes } }) => files.add(name, bytes);
    boot(files, port).then(
      (booted) => answerAll(port, booted),
      (problem) => port.postMessage({ failed: String(problem) }),
    );
  },
  { once: true },
);

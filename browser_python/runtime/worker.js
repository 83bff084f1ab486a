// Python in a worker: Pyodide, the page's torch, and the course's own checking code.
//
// The worker's first message brings its files and a port, through which all others go. Messages to the worker:
// {id, cells, question, name} checks an answer, {id, cells} runs cells, {archive} brings more modules. Messages from the
// worker: {stage}, what the start does, {memory}, if it was not among the files, then {ready} or {failed}, and for each request {id, …, used}. Before
// that comes {id, first}, a first verdict, if naming the misconception takes long. {died} says that the interpreter ended.

import "./classic.js"; // before all others
import { loadPyodide } from "pyodide";
import createPyodideModule from "../../node_modules/pyodide/pyodide.asm.mjs";
import { giveKernels } from "./kernels.js";
import { limitRecursion } from "./recursion.js";

/** @import { Heap } from "./kernels.js" */
/** @import { Stack } from "./recursion.js" */
/** @typedef {import("pyodide").PyodideInterface & { _module: Heap & Stack & { HEAP8: Int8Array } }} Python */
/** @typedef {Record<string, ArrayBuffer>} Files by their names */
/** @typedef {Awaited<ReturnType<typeof boot>>} Booted */

const LOCK = { info: { arch: "wasm32", version: "0", python: "3", platform: "", abi_version: "" }, packages: {} };
/** @type {Record<string, string>} */
const TYPES = { wasm: "application/wasm", zip: "application/zip", json: "application/json" };
const HERE = "http://page/"; // of nothing: the worker's policy lets it load nothing

/** Return a fetch function that answers from files, as a server would. */
const servedFrom = (/** @type {Files} */ files) => async (/** @type {RequestInfo | URL} */ address) => {
  const name = String(/** @type {Request} */ (address).url ?? address).replace(/.*\//, "");
  const headers = { "Content-Type": TYPES[name.replace(/.*\./, "")] };
  return new Response(files[name], { status: files[name] ? 200 : 404, headers });
};

/** @param {Files} files
 * @param {MessagePort} port */
async function boot(files, port) {
  globalThis.fetch = servedFrom(files);
  const { lock } = JSON.parse(new TextDecoder().decode(files["sizes.json"]));
  const options = { indexURL: HERE, lockFileContents: { ...LOCK, info: lock }, createPyodideModule };
  const kept = files.memory;
  const say = (/** @type {string} */ stage) => port.postMessage({ stage });
  say("compiling");
  const restored = kept && (await restore({ ...options, _loadSnapshot: kept }, files).catch(() => {}));
  const python = /** @type {Python} */ (restored ?? (await loadPyodide({ ...options, _makeSnapshot: true })));
  if (!restored) {
    say("importing");
    unpack(python, files["course.zip"]);
    python.runPython("import sys; sys.path.insert(0, '/lib/course'); import notebook");
    say("keeping");
    port.postMessage({ memory: python.makeMemorySnapshot() });
  }
  giveKernels(python);
  limitRecursion(python);
  return { python, notebook: python.pyimport("notebook") };
}

/** Python as it was kept after all imports.
 * @param {Parameters<typeof loadPyodide>[0]} options
 * @param {Files} files */
async function restore(options, files) {
  const python = await loadPyodide(options);
  unpack(python, files["course.zip"]);
  python.runPython("import random; random.seed()"); // without this, every visit would draw the same numbers
  return python;
}

/** @param {import("pyodide").PyodideInterface} python
 * @param {ArrayBuffer} archive */
function unpack(python, archive) {
  python.unpackArchive(archive, "zip", { extractDir: "/lib/course" });
  python.runPython("import sys; sys.path_importer_cache.clear()"); // it has an older list of the folder
}

/** @param {MessagePort} port
 * @param {Booted} booted */
function serve(port, { python, notebook }) {
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
  ({ data: { files, port } }) => {
    boot(files, port).then(
      (booted) => serve(port, booted),
      (problem) => port.postMessage({ failed: String(problem) }),
    );
  },
  { once: true },
);

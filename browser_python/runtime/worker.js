// Python in a worker: Pyodide, the page's torch, and the course's own checking code.
//
// Messages to the worker: {id, cells, question, name} checks an answer, {id, cells} runs cells, {archive} brings more
// modules, and {files} brings all files where the worker cannot fetch them. Messages from the worker: {progress}, then
// {ready} or {failed}, and for each request {id, …, memory}. Before that comes {id, first}, a first verdict, if naming
// the misconception takes long. {died} says that the interpreter ended.

import "./classic.js"; // before all others
import { loadPyodide } from "pyodide";
import createPyodideModule from "../../node_modules/pyodide/pyodide.asm.mjs";
import { giveKernels } from "./kernels.js";
import { limitRecursion } from "./recursion.js";

/** @typedef {import("pyodide").PyodideInterface & { _module: { HEAP8: Int8Array } }} Python */

const LOCK = { info: { arch: "wasm32", version: "0", python: "3", platform: "", abi_version: "" }, packages: {} };
const HEAVY = ["pyodide.asm.wasm", "python_stdlib.zip", "course.zip"];
const TYPES = { wasm: "application/wasm", zip: "application/zip", json: "application/json" };
const MADE_OF_TEXT = self.location.protocol === "blob:";
const HERE = new URL("./", MADE_OF_TEXT ? "http://copy/" : self.location.href);

/** Return a fetch function that also reports the progress of the heavy files. */
function withProgress(fetchFile, sizes) {
  const total = HEAVY.reduce((sum, name) => sum + sizes[name], 0);
  let done = 0;
  const counter = () =>
    new TransformStream({
      transform(chunk, controller) {
        done += chunk.byteLength;
        self.postMessage({ progress: { done, total } });
        controller.enqueue(chunk);
      },
    });
  return async (address, options) => {
    const response = await fetchFile(address, options);
    if (!HEAVY.some((name) => String(address.url ?? address).endsWith(name))) return response;
    const { headers, status } = response;
    return new Response(response.body.pipeThrough(counter()), { headers, status });
  };
}

/** Return a fetch function that answers from files, as a server would. */
const servedFrom = (files) => async (address) => {
  const name = String(address.url ?? address).replace(/.*\//, "");
  const headers = { "Content-Type": TYPES[name.replace(/.*\./, "")] };
  return new Response(files[name], { status: files[name] ? 200 : 404, headers });
};

/**
 * Return the store of Python's memory after all imports. A later start reads it and imports nothing. It is kept in the
 * service worker's cache, if there is one. `made` identifies the files from which the memory came.
 */
function memoryOf(made) {
  const address = new URL(`memory-${made}`, HERE);
  const compressed = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip")));
  const plain = (response) => new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  return {
    async read() {
      const found = MADE_OF_TEXT ? undefined : await globalThis.caches?.match(address);
      return found && plain(found);
    },
    async keep(bytes) {
      const names = MADE_OF_TEXT ? [] : ((await globalThis.caches?.keys()) ?? []);
      const name = names.find((one) => one.startsWith("qkv-python-"));
      if (name) await (await caches.open(name)).put(address, compressed(bytes));
    },
  };
}

const receivedFiles = new Promise((resolve) => {
  self.addEventListener("message", ({ data }) => data.files && resolve(data.files));
});

async function boot() {
  const fetchFile = MADE_OF_TEXT ? servedFrom(await receivedFiles) : globalThis.fetch;
  const sizes = await (await fetchFile(new URL("sizes.json", HERE))).json();
  globalThis.fetch = withProgress(fetchFile, sizes);
  const course = fetch(new URL("course.zip", HERE)).then((response) => response.arrayBuffer());
  const memory = memoryOf(sizes.made);
  const options = { indexURL: HERE.href, lockFileContents: { ...LOCK, info: sizes.lock }, createPyodideModule };
  const kept = await memory.read().catch(() => {});
  const restored = kept && (await loadPyodide({ ...options, _loadSnapshot: kept }).catch(() => {}));
  const python = /** @type {Python} */ (restored ?? (await loadPyodide({ ...options, _makeSnapshot: true })));
  unpack(python, await course);
  if (restored) {
    python.runPython("import random; random.seed()"); // without this, every visit would draw the same numbers
  } else {
    python.runPython("import sys; sys.path.insert(0, '/lib/course'); import notebook");
    memory.keep(python.makeMemorySnapshot()).catch(() => {}); // without room for it, the next start imports again
  }
  giveKernels(python);
  limitRecursion(python);
  return { python, notebook: python.pyimport("notebook") };
}

function unpack(python, archive) {
  python.unpackArchive(archive, "zip", { extractDir: "/lib/course" });
  python.runPython("import sys; sys.path_importer_cache.clear()"); // it has an older list of the folder
}

const booted = boot();
booted.then(
  () => self.postMessage({ ready: true }),
  (problem) => self.postMessage({ failed: String(problem) }),
);

self.addEventListener("message", async ({ data }) => {
  if (data.files) return;
  const { id, archive, ...request } = data;
  const { python, notebook } = await booted;
  if (archive) return unpack(python, archive);
  const reportFirst = (first) => self.postMessage({ id, first: JSON.parse(first) });
  try {
    const answer = JSON.parse(notebook.answer(JSON.stringify(request), reportFirst));
    self.postMessage({ id, ...answer, memory: python._module.HEAP8.length });
  } catch (problem) {
    self.postMessage({ died: String(problem) }); // the interpreter cannot be used any more
  }
});

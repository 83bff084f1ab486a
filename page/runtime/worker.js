// Python in a worker: Pyodide, the page's torch, and the course's own checking code. It is asked by messages:
// {id, cells, question, name} or {id, cells}; it answers {id, …, memory}, after {progress} and {ready}, and after
// {id, first} where the wrong idea takes long to name. {archive} holds more modules, {files} all that it would fetch,
// where it cannot.

import "./classic.js"; // before all others
import { loadPyodide } from "pyodide";
import createPyodideModule from "../../node_modules/pyodide/pyodide.asm.mjs";
import { giveKernels } from "./kernels.js";

/** @typedef {import("pyodide").PyodideInterface & { _module: { HEAP8: Int8Array } }} Python */

const LOCK = { info: { arch: "wasm32", version: "0", python: "3", platform: "", abi_version: "" }, packages: {} };
const HEAVY = ["pyodide.asm.wasm", "python_stdlib.zip", "course.zip"];
const TYPES = { wasm: "application/wasm", zip: "application/zip", json: "application/json" };
const MADE_OF_TEXT = self.location.protocol === "blob:";
const HERE = new URL("./", MADE_OF_TEXT ? "http://copy/" : self.location.href);

/** Bytes that have arrived, counted as they come. */
function counted(fetched, sizes) {
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
    const response = await fetched(address, options);
    if (!HEAVY.some((name) => String(address.url ?? address).endsWith(name))) return response;
    const { headers, status } = response;
    return new Response(response.body.pipeThrough(counter()), { headers, status });
  };
}

/** Answers a request from these files, as a server would. */
const servedFrom = (files) => async (address) => {
  const name = String(address.url ?? address).replace(/.*\//, "");
  const headers = { "Content-Type": TYPES[name.replace(/.*\./, "")] };
  return new Response(files[name], { status: files[name] ? 200 : 404, headers });
};

/**
 * The memory of Python when all is imported, kept beside what the service worker keeps: a later start reads it and
 * imports nothing. `made` names the files that it came of. Where nothing is kept, neither is this.
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

const given = new Promise((resolve) => {
  self.addEventListener("message", ({ data }) => data.files && resolve(data.files));
});

async function boot() {
  const fetched = MADE_OF_TEXT ? servedFrom(await given) : globalThis.fetch;
  const sizes = await (await fetched(new URL("sizes.json", HERE))).json();
  globalThis.fetch = counted(fetched, sizes);
  const course = fetch(new URL("course.zip", HERE)).then((response) => response.arrayBuffer());
  const memory = memoryOf(sizes.made);
  const options = { indexURL: HERE.href, lockFileContents: { ...LOCK, info: sizes.lock }, createPyodideModule };
  const kept = await memory.read().catch(() => {});
  const restored = kept && (await loadPyodide({ ...options, _loadSnapshot: kept }).catch(() => {}));
  const python = /** @type {Python} */ (restored ?? (await loadPyodide({ ...options, _makeSnapshot: true })));
  unpack(python, await course);
  if (restored) {
    python.runPython("import random; random.seed()"); // else every reader's every visit draws the same
  } else {
    python.runPython("import sys; sys.path.insert(0, '/lib/course'); import notebook");
    memory.keep(python.makeMemorySnapshot()).catch(() => {}); // no room: the next start takes as long as this one
  }
  giveKernels(python);
  return { python, notebook: python.pyimport("notebook") };
}

function unpack(python, archive) {
  python.unpackArchive(archive, "zip", { extractDir: "/lib/course" });
  python.runPython("import sys; sys.path_importer_cache.clear()"); // what was listed of the folder before
}

const booted = boot();
booted.then(
  () => self.postMessage({ ready: true }),
  (problem) => self.postMessage({ failed: String(problem) }),
);

self.addEventListener("message", async ({ data }) => {
  if (data.files) return;
  const { id, archive, ...asked } = data;
  const { python, notebook } = await booted;
  if (archive) return unpack(python, archive);
  const tell = (first) => self.postMessage({ id, first: JSON.parse(first) });
  const answer = JSON.parse(notebook.answer(JSON.stringify(asked), tell));
  self.postMessage({ id, ...answer, memory: python._module.HEAP8.length });
});

// Python in a worker: Pyodide, the page's torch, and the course's own checking code. It is asked by messages:
// {id, cells, question, name} or {id, cells}; it answers {id, …, memory}, after {progress} and {ready}.

import { kernels } from "./kernels.js";
import { loadPyodide } from "./pyodide.mjs";

const LOCK = { info: { arch: "wasm32", version: "0", python: "3", platform: "", abi_version: "" }, packages: {} };
const HEAVY = ["pyodide.asm.wasm", "python_stdlib.zip", "course.zip"];

/** Bytes that have arrived, counted as they come. */
function counted(sizes) {
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
  const fetched = globalThis.fetch;
  return async (address, options) => {
    const response = await fetched(address, options);
    if (!HEAVY.some((name) => String(address.url ?? address).endsWith(name))) return response;
    const { headers, status } = response;
    return new Response(response.body.pipeThrough(counter()), { headers, status });
  };
}

async function boot() {
  const here = new URL("./", import.meta.url);
  const sizes = await (await fetch(new URL("sizes.json", here))).json();
  globalThis.fetch = counted(sizes);
  const course = fetch(new URL("course.zip", here)).then((response) => response.arrayBuffer());
  const python = await loadPyodide({ indexURL: here.href, lockFileContents: { ...LOCK, info: sizes.lock } });
  python.unpackArchive(await course, "zip", { extractDir: "/lib/course" });
  python.runPython("import sys; sys.path.insert(0, '/lib/course')");
  python.pyimport("torch.kernels").JS = kernels;
  return { notebook: python.pyimport("notebook"), memory: () => python._module.HEAP8.length };
}

const booted = boot();
booted.then(
  () => self.postMessage({ ready: true }),
  (problem) => self.postMessage({ failed: String(problem) }),
);

self.onmessage = async ({ data }) => {
  const { id, ...asked } = data;
  const { notebook, memory } = await booted;
  const answer = JSON.parse(notebook.answer(JSON.stringify(asked)));
  self.postMessage({ id, ...answer, memory: memory() });
};

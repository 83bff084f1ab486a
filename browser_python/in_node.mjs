// Python of the page in node, for whoever tries cells without a browser: the page's interpreter, torch and kernels.
// `node browser_python/in_node.mjs FOLDER`, with what `pack.py` wrote; a line of JSON is asked as the page asks it, and answered
// with a line.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";
import { extract } from "./runtime/archives.js";
import { giveKernels } from "./runtime/kernels.js";
import { limitRecursion } from "./runtime/recursion.js";

/** Python with all that the page's worker has, imported. */
export async function started(folder) {
  const unzipped = (name) => gunzipSync(readFileSync(join(folder, name)));
  globalThis.fetch = async (address) => new Response(unzipped(new URL(address).pathname)); // Pyodide's only request
  const python = await loadPyodide({ stdout: console.error, stdLibURL: "http://page/python_stdlib.bin" });
  for (const name of ["course.bin", "models.bin"]) extract(python.FS, unzipped(name), "/lib/course");
  python.runPython("import sys; sys.path.insert(0, '/lib/course')");
  giveKernels(python);
  python.pyimport("notebook");
  return python;
}

async function serve(folder) {
  const python = await started(folder);
  limitRecursion(python);
  const { answer } = python.pyimport("notebook");
  console.log("{}"); // ready
  for await (const line of createInterface({ input: process.stdin })) {
    const start = process.cpuUsage();
    const timed = (text) => {
      const { user, system } = process.cpuUsage(start);
      return { ...JSON.parse(text), seconds: (user + system) / 1e6 };
    };
    let first;
    const last = timed(
      answer(line, (text) => {
        first = timed(text);
      }),
    );
    console.log(JSON.stringify({ ...last, first, memory: python._module.HEAP8.length }));
  }
}

if (import.meta.main ?? process.argv[1] === import.meta.filename) await serve(process.argv[2]);

// Compiles the sources of the kernels to WebAssembly, once for each type of number, and writes built.js (committed).
//
//   node kernels/build.mjs           writes kernels/built.js
//   node kernels/build.mjs --check   exits with 1 if kernels/built.js differs from its sources

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { main } from "assemblyscript/asc";

const HERE = dirname(fileURLToPath(import.meta.url));
const BUILT = join(HERE, "built.js");
const OPTIONS = "--optimizeLevel 3 --converge --noAssert --enable simd --importMemory --initialMemory 0 --runtime stub";

/** Return the WebAssembly for one type of number, f32 or f64. */
async function compiled(type) {
  let binary;
  const files = {
    readFile(name) {
      try {
        return readFileSync(join(HERE, name), "utf8").replace("type T = f32", `type T = ${type}`);
      } catch {
        return null; // the compiler looks for a file in several places
      }
    },
    writeFile(_, contents) {
      binary = contents;
    },
    listFiles: () => [],
  };
  const command = ["source/index.ts", "--outFile", "kernels.wasm", "--use", "abort=", ...OPTIONS.split(" ")];
  const { error, stderr } = await main(command, files);
  if (error) throw new Error(`${error.message}\n${stderr}`);
  return Buffer.from(binary).toString("base64");
}

const lines = [
  "// Built by `node kernels/build.mjs` from kernels/source: WebAssembly in base64.",
  `export const f32 = "${await compiled("f32")}";`,
  `export const f64 = "${await compiled("f64")}";`,
];
const text = `${lines.join("\n")}\n`;
if (process.argv[2] !== "--check") writeFileSync(BUILT, text);
else if (readFileSync(BUILT, "utf8") !== text) {
  console.error("kernels/built.js differs from kernels/source. Build it again with: make build");
  process.exitCode = 1;
}

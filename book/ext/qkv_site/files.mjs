// Loads data that is imported as a module, in node, as the bundler does: JSON as an object, trained weights as bytes.
import { readFile } from "node:fs/promises";

const MADE = {
  json: (file) => `export default ${file.toString("utf8")};`,
  safetensors: (file) => `export default new Uint8Array(Buffer.from("${file.toString("base64")}", "base64"));`,
};

export async function load(url, context, next) {
  const make = MADE[/\.(\w+)$/.exec(url)?.[1]];
  if (!make) return next(url, context);
  return { format: "module", source: make(await readFile(new URL(url))), shortCircuit: true };
}

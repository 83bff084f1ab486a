// Loads data that is imported as a module, in node, as the bundler does: JSON as an object, trained weights as bytes. The
// text of a worker is left out: nothing is trained here.
import { readFile } from "node:fs/promises";

const MADE = {
  json: (file) => `export default ${file.toString("utf8")};`,
  safetensors: (file) => `export default new Uint8Array(Buffer.from("${file.toString("base64")}", "base64"));`,
};

export async function load(url, context, next) {
  if (url.endsWith("?text")) return { format: "module", source: 'export default "";', shortCircuit: true };
  const make = MADE[/\.(\w+)$/.exec(url)?.[1]];
  if (!make) return next(url, context);
  return { format: "module", source: make(await readFile(new URL(url))), shortCircuit: true };
}

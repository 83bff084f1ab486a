// Compile what Python on the page imports as it starts, by that very Python: `node page/compile.mjs
// FOLDER`, with what `pack.py` wrote there. A library that is read as text would take
// most of the start.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { started } from "./in_node.mjs";

const folder = process.argv[2];
const library = join(folder, "python_stdlib.zip");
const python = await started(folder);
python.FS.writeFile("/library.zip", new Uint8Array(readFileSync(library)));
python.runPython(readFileSync(new URL("compiled.py", import.meta.url), "utf-8"));
writeFileSync(library, python.FS.readFile("/compiled.zip"));

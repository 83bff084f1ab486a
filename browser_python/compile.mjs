// Compile what Python on the page imports, by that very Python: `node browser_python/compile.mjs FOLDER`, with what `pack.py`
// wrote there; it compresses the result. Modules that are read as text would take most of the start.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { started } from "./in_node.mjs";

const folder = process.argv[2];
const python = await started(folder);
const archives = ["python_stdlib.bin", "course.bin"];
for (const name of archives) python.FS.writeFile(`/${name}`, gunzipSync(readFileSync(join(folder, name))));
python.runPython(readFileSync(new URL("compile_archives.py", import.meta.url), "utf-8"));
for (const name of archives) writeFileSync(join(folder, name), python.FS.readFile(`/compiled-${name}`));

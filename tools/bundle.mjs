// Builds the widgets: one ES module and one style sheet each, into src/qkv/widgets/static/ (committed).
//
//   node tools/bundle.mjs              builds them
//   node tools/bundle.mjs --check      says which built file is stale, and exits 1 if one is
//   node tools/bundle.mjs --site DIR   builds instead, for the site, all widgets and their host as DIR/qkv-site.js and .css

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const WIDGETS = join(ROOT, "src/qkv/widgets");
const STATIC = join(WIDGETS, "static");
const MEND = "npm run build";

/** A style sheet names a widget: its Python and its JavaScript have the same name. */
function widgetNames() {
  const names = readdirSync(WIDGETS).filter((file) => file.endsWith(".css") && file !== "base.css");
  return names.map((file) => file.slice(0, -".css".length)).sort();
}

const moduleOf = (name) => `./src/qkv/widgets/js/${name}.js`;
const styles = (names) =>
  ["../tokens.css", "base.css", ...names.map((name) => `${name}.css`)]
    .map((file) => `@import "./${relative(ROOT, join(WIDGETS, file))}";`)
    .join("\n");

async function bundle(contents, loader, format) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, loader, resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    charset: "ascii",
    format,
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    minify: true,
    target: loader === "css" ? "esnext" : "es2022",
    write: false,
  });
  return { text: ascii(outputFiles[0].text), inputs: Object.keys(metafile.inputs) };
}

/** esbuild leaves tagged templates as they are; lit reads them with their escapes resolved. */
const ascii = (text) => text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The licences of the packages that the built code contains, as they ask for. */
function licences(inputs) {
  const names = inputs.map((input) => input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]);
  const packages = [...new Set(names.filter(Boolean))].sort();
  const texts = packages.map(
    (name) => `${name}\n\n${readFileSync(join(ROOT, "node_modules", name, "LICENSE"), "utf8").trim()}\n`,
  );
  return `The built files beside this one contain code of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** Every built file of the package: its name and its text. */
async function packageFiles() {
  const files = new Map();
  const inputs = [];
  for (const name of widgetNames()) {
    const script = await bundle(`export { default } from "${moduleOf(name)}";`, "js", "esm");
    files.set(`${name}.js`, script.text);
    files.set(`${name}.css`, (await bundle(styles([name]), "css")).text);
    inputs.push(...script.inputs);
  }
  return files.set("LICENSES.txt", licences(inputs));
}

async function siteFiles() {
  const names = widgetNames();
  const entry = [
    'import { host } from "./book/static/host.js";',
    ...names.map((name) => `import ${name} from "${moduleOf(name)}";`),
    `host([${names}]);`,
  ].join("\n");
  const script = await bundle(entry, "js", "iife");
  return new Map([
    ["qkv-site.js", script.text],
    ["qkv-site.css", (await bundle(styles(names), "css")).text],
    ["qkv-site-licenses.txt", licences(script.inputs)],
  ]);
}

const textOf = (path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined);
const leftOver = (files) => (existsSync(STATIC) ? readdirSync(STATIC) : []).filter((file) => !files.has(file));

function write(files, folder) {
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of files) if (textOf(join(folder, file)) !== text) writeFileSync(join(folder, file), text);
}

function check(files) {
  const stale = [...files].filter(([file, text]) => textOf(join(STATIC, file)) !== text).map(([file]) => file);
  for (const file of stale) console.error(`stale: ${relative(ROOT, join(STATIC, file))}`);
  for (const file of leftOver(files)) console.error(`built from nothing: ${relative(ROOT, join(STATIC, file))}`);
  if (stale.length + leftOver(files).length === 0) return;
  console.error(`The built widgets differ from their sources. Mend it with: ${MEND}`);
  process.exitCode = 1;
}

const [option, folder] = process.argv.slice(2);
if (option === "--check") {
  check(await packageFiles());
} else if (option === "--site" && folder) {
  write(await siteFiles(), folder);
} else if (option === undefined) {
  const files = await packageFiles();
  write(files, STATIC);
  for (const file of leftOver(files)) rmSync(join(STATIC, file));
} else {
  console.error("usage: node tools/bundle.mjs [--check | --site DIR]");
  process.exitCode = 2;
}

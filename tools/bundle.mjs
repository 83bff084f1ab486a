// Bundles the widgets: one ES module and one style sheet each, into src/qkv/widgets/static/ (committed).
//
//   node tools/bundle.mjs              writes the bundles
//   node tools/bundle.mjs --check      names the bundles that are stale, and exits with 1 if there are any
//   node tools/bundle.mjs --site DIR   bundles for the site instead: the common widgets and their host as DIR/qkv-site.js and
//                                      .css, each rare one as DIR/qkv-widget-NAME.js and .css; each file of trained weights
//                                      that they use as DIR/qkv-weights-NAME.js; the Python
//                                      on the page as DIR/python-page.js and .css, with the editor and the worker that
//                                      python-page.js loads in DIR/python; the engine of the real model as
//                                      DIR/real-model.js; the scripts and styles of pages, minified, as DIR/page.js …

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, parse, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const WIDGETS = join(ROOT, "src/qkv/widgets");
const STATIC = join(WIDGETS, "static");
const FIX = "make build";

/** The names of the widgets. A widget is three files of one name; if one of them is missing, it is reported and left out. */
function widgetNames() {
  const files = readdirSync(WIDGETS);
  const styled = files.filter((file) => file.endsWith(".css") && file !== "base.css").map((file) => parse(file).name);
  return styled.sort().filter((name) => {
    const missing = [`${name}.py`, `js/${name}.js`].filter((file) => !existsSync(join(WIDGETS, file)));
    for (const file of missing) console.error(`left out: ${name}, because ${file} is missing`);
    return missing.length === 0;
  });
}

const moduleOf = (name) => `./src/qkv/widgets/js/${name}.js`;
const styles = (names) =>
  ["../tokens.css", "base.css", ...names.map((name) => `${name}.css`)]
    .map((file) => `@import "./${relative(ROOT, join(WIDGETS, file))}";`)
    .join("\n");

async function bundle(contents, loader, format, plugins = []) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, loader, resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    charset: "ascii",
    external: ["*.woff2"], // fonts stand beside the style sheets
    define: format === "iife" ? { "import.meta.url": "self.location.href" } : {}, // in a worker, `self.location` is its own address
    format,
    legalComments: "none",
    loader: { ".safetensors": "binary", ".html": "text" }, // trained weights are included as bytes
    logLevel: "warning",
    metafile: true,
    minify: true,
    plugins: [...plugins, asText],
    target: loader === "css" ? "esnext" : "es2022",
    write: false,
  });
  return { text: ascii(outputFiles[0].text), inputs: Object.keys(metafile.inputs) };
}

/** Escape all non-ASCII characters. esbuild does not escape those in tagged templates; lit reads the resolved escapes. */
const ascii = (text) => text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The licences of the packages that the bundles contain, which these licences require. */
function licences(inputs) {
  const names = inputs.map((input) => input.match(/(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1]);
  const packages = [...new Set(names.filter(Boolean))].sort();
  const texts = packages.map(
    (name) => `${name}\n\n${readFileSync(join(ROOT, "node_modules", name, "LICENSE"), "utf8").trim()}\n`,
  );
  return `The built files beside this one contain code or fonts of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

/** All bundles of the package: their names and texts. If a widget fails to build, it is left out, and the exit code is 1. */
async function packageFiles() {
  const files = new Map();
  const inputs = [];
  for (const name of NAMES) {
    try {
      const script = await bundle(`export { default } from "${moduleOf(name)}";`, "js", "esm");
      files.set(`${name}.js`, script.text);
      files.set(`${name}.css`, (await bundle(styles([name]), "css")).text);
      inputs.push(...script.inputs);
    } catch {
      process.exitCode = 1; // esbuild has printed the error
    }
  }
  files.set("saved_page.js", (await bundle(`import "${moduleOf("saved_page")}";`, "js", "iife")).text);
  return files.set("LICENSES.txt", licences(inputs));
}

/** A plugin that imports a module with `?text` as the text of its bundle, for a worker that starts from a blob. */
const asText = {
  name: "as text",
  setup(build) {
    build.onResolve({ filter: /\?text$/ }, ({ path, resolveDir }) => ({
      path: (isAbsolute(path) ? path : join(resolveDir, path)).replace("?text", ""),
      namespace: "text",
    }));
    build.onLoad({ filter: /.*/, namespace: "text" }, async ({ path }) => ({
      contents: (await bundle(`import ${JSON.stringify(path)};`, "js", "iife")).text,
      loader: "text",
      watchFiles: [path],
    }));
  },
};

/** A plugin that keeps weights, stored trainings and the worker that trains out of a bundle: code reads them from
 * `qkvWeights`, and `used` collects their files by name. */
const weightsApart = (used) => ({
  name: "weights apart",
  setup(build) {
    build.onResolve({ filter: /worker\.js\?text$/ }, ({ path, resolveDir }) => {
      used.set("training", join(resolveDir, path));
      return { path: "training", namespace: "apart" };
    });
    build.onLoad({ filter: /.*/, namespace: "apart" }, ({ path }) => ({
      contents: `export default globalThis.qkvWeights?.["${path}"];`,
      loader: "js",
    }));
    build.onLoad({ filter: /(\.safetensors|training-runs-\w+\.json)$/ }, ({ path }) => {
      const { name } = parse(path);
      used.set(name, path);
      return { contents: `export default globalThis.qkvWeights?.["${name}"];`, loader: "js" };
    });
  },
});

/** A plugin that leaves out node's modules: Pyodide imports them when it runs in node, but a page does not have them. */
const nodeApart = {
  name: "node apart",
  setup(build) {
    build.onResolve({ filter: /^(node:|ws$)/ }, ({ path }) => ({ path, external: true }));
  },
};

const weightsScript = async (name, path) =>
  (await bundle(`import bytes from "${path}"; (globalThis.qkvWeights ??= {})["${name}"] = bytes;`, "js", "iife")).text;

// The packages from which the site's fonts are subset.
const FONTS = ["katex", "@fontsource-variable/noto-sans-tc", "@fontsource-variable/noto-sans-sc"].map(
  (name) => `node_modules/${name}`,
);

// The site's own scripts and styles. Minified, they replace the files that Sphinx copies from book/static.
const PAGE_STYLES = { "qkv.css": ["book/static/qkv.css"], "tokens.css": ["src/qkv/tokens.css", "src/qkv/figure.css"] };
const pageStyle = async ([file, parts]) => [
  file,
  (await bundle(parts.map((part) => `@import "./${part}";`).join("\n"), "css")).text,
];
const PAGE_SCRIPTS = ["map", "page", "predictions", "progress", "search"];
const pageScript = async (name) => [
  `${name}.js`,
  (await bundle(`import "./book/static/${name}.js";`, "js", "iife")).text,
];

// The widgets that one chapter shows, and few other pages. Each has a script and a style that these pages alone load.
const RARE = JSON.parse(readFileSync(join(ROOT, "book", "ext", "qkv_site", "rare_widgets.json"), "utf8"));
const importsOf = (names) => names.map((name) => `import ${name} from "${moduleOf(name)}";`).join("\n");

/** A plugin that takes modules from another script, which has put them into `qkvModules`. */
const takenFrom = (modules) => ({
  name: "taken from another script",
  setup(build) {
    build.onResolve({ filter: /\.js$/ }, async ({ path, resolveDir, kind, pluginData }) => {
      if (pluginData === "resolved") return undefined;
      const found = await build.resolve(path, { resolveDir, kind, pluginData: "resolved" });
      const module = relative(ROOT, found.path);
      return modules.includes(module) ? { path: module, namespace: "taken" } : found;
    });
    build.onLoad({ filter: /.*/, namespace: "taken" }, ({ path }) => ({
      contents: `module.exports = globalThis.qkvModules["${path}"];`,
      loader: "js",
    }));
  },
});

/** The script with the common widgets and the host, and the scripts of the rare ones by name. Those are loaded before it:
 * each holds a function that adds its widget. They take the modules that two scripts need from the first. */
async function widgetScripts(used) {
  const common = NAMES.filter((name) => !RARE.includes(name));
  const start = `${importsOf(common)}globalThis.qkvWidgets = [${common}];`;
  const adding = RARE.map((name) => `${importsOf([name])}globalThis.qkvWidgets.push(${name});`);
  const alone = await Promise.all([start, ...adding].map((entry) => bundle(entry, "js", "iife", [weightsApart(used)])));
  const inputs = alone.flatMap((script) => script.inputs);
  const twice = inputs.filter((input, i) => inputs.indexOf(input) < i && existsSync(join(ROOT, input)));
  const shared = [...new Set(twice)].sort();
  const entry = [
    'import { host } from "./book/static/host.js";',
    ...shared.map((module, i) => `import * as module${i} from "./${module}";`),
    start,
    `globalThis.qkvModules = {${shared.map((module, i) => `"${module}": module${i}`)}};`,
    "for (const add of globalThis.qkvRare ?? []) add();",
    "host(globalThis.qkvWidgets);",
  ].join("\n");
  const script = await bundle(entry, "js", "iife", [weightsApart(used)]);
  const rare = adding.map(async (one, i) => {
    const { text } = await bundle(one, "js", "iife", [takenFrom(shared), weightsApart(used)]);
    return [RARE[i], `(globalThis.qkvRare??=[]).push(()=>{${text}});\n`];
  });
  return { script, rare: await Promise.all(rare) };
}

async function siteFiles() {
  const used = new Map();
  const { script, rare } = await widgetScripts(used);
  const ownStyle = (name) => bundle(`@import "./${relative(ROOT, join(WIDGETS, `${name}.css`))}";`, "css");
  const weights = [...used].map(async ([name, path]) => [`qkv-weights-${name}.js`, await weightsScript(name, path)]);
  const editor = await bundle('globalThis.qkvEditor = require("./browser_python/runtime/editor.js");', "js", "iife");
  const engine = await bundle('globalThis.qkvRealModel = require("./real_model/engine.js");', "js", "iife");
  const worker = await bundle('import "./browser_python/runtime/worker.js";', "js", "iife", [nodeApart]);
  return new Map([
    ...(await Promise.all(weights)),
    ...(await Promise.all(PAGE_SCRIPTS.map(pageScript))),
    ...(await Promise.all(Object.entries(PAGE_STYLES).map(pageStyle))),
    ...rare.map(([name, text]) => [`qkv-widget-${name}.js`, text]),
    ...(await Promise.all(RARE.map(async (name) => [`qkv-widget-${name}.css`, (await ownStyle(name)).text]))),
    ["qkv-site.js", script.text],
    ["qkv-site.css", (await bundle(styles(NAMES.filter((name) => !RARE.includes(name))), "css")).text],
    ["qkv-site-licenses.txt", licences([...script.inputs, ...editor.inputs, ...FONTS])],
    ["python-page.js", (await bundle('import "./browser_python/runtime/page.js";', "js", "iife")).text],
    ["python-page.css", (await bundle('@import "./browser_python/runtime/page.css";', "css")).text],
    ["python/editor.js", editor.text],
    ["real-model.js", engine.text],
    ["python/worker.js", worker.text],
  ]);
}

const textOf = (path) => (existsSync(path) ? readFileSync(path, "utf8") : undefined);

/** The bundles in static/ whose widget no longer exists. */
function leftOver() {
  const names = new Set([...NAMES, "saved_page", "LICENSES"]);
  return (existsSync(STATIC) ? readdirSync(STATIC) : []).filter((file) => !names.has(parse(file).name));
}

function write(files, folder) {
  for (const [file, text] of files) {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    if (textOf(path) !== text) writeFileSync(path, text);
  }
}

function check(files) {
  const stale = [...files].filter(([file, text]) => textOf(join(STATIC, file)) !== text).map(([file]) => file);
  const complaints = [
    ...stale.map((file) => `stale: ${relative(ROOT, join(STATIC, file))}`),
    ...leftOver().map((file) => `no widget of this name: ${relative(ROOT, join(STATIC, file))}`),
  ];
  if (complaints.length === 0) return;
  console.error([...complaints, `The bundles differ from their sources. Build them again with: ${FIX}`].join("\n"));
  process.exitCode = 1;
}

const NAMES = widgetNames();
const [option, folder] = process.argv.slice(2);
if (option === "--check") {
  check(await packageFiles());
} else if (option === "--site" && folder) {
  write(await siteFiles(), folder);
} else if (option === undefined) {
  const files = await packageFiles();
  write(files, STATIC);
  for (const file of leftOver()) rmSync(join(STATIC, file));
} else {
  console.error("usage: node tools/bundle.mjs [--check | --site DIR]");
  process.exitCode = 2;
}

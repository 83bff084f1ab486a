// The files of Python on the page. A browser fetches no files for a page that was itself opened from a file. So in a
// downloaded copy of the site they are read from scripts, which `pack.py` writes beside them.

const COPY = location.protocol === "file:";
const waiting = new Map(); // the resolve functions of promised files, by name

/** Receive a file from such a script, as compressed text in base64. */
globalThis.qkvFile = (name, text) => waiting.get(name)(text);

/** Load a script. */
function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const problem = () => reject(new Error(`${address.href.split("/").pop()} could not be loaded`));
    script.addEventListener("load", resolve);
    script.addEventListener("error", problem);
    script.src = address;
    document.head.append(script);
  });
}

/** Return the bytes of a file in a folder. */
export async function bytesOf(folder, name) {
  if (!COPY) {
    const response = await fetch(new URL(name, folder));
    if (!response.ok) throw new Error(`${name} could not be loaded`);
    return response.arrayBuffer();
  }
  const text = new Promise((resolve) => {
    waiting.set(name, resolve);
  });
  await loadScript(new URL(`copy/${name}.js`, folder));
  const packed = Uint8Array.from(atob(await text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

export const textOf = async (folder, name) => new TextDecoder().decode(await bytesOf(folder, name));

/** Return the editor's module, which is a script in any case. */
export async function editorOf(folder) {
  if (!globalThis.qkvEditor) await loadScript(new URL("editor.js", folder));
  return globalThis.qkvEditor;
}

/** Return a worker. In a copy it is created from its text, and gets the bytes of the files that it would else fetch. */
export async function workerOf(folder, names) {
  const options = { name: "Python" };
  if (!COPY) return new Worker(new URL("worker.js", folder), options);
  const [program, ...files] = await Promise.all(["worker.js", ...names].map((name) => bytesOf(folder, name)));
  const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const worker = new Worker(address, options);
  worker.postMessage({ files: Object.fromEntries(names.map((name, place) => [name, files[place]])) }, files);
  return worker;
}

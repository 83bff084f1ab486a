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

/** Return the bytes of a file in a folder. `onBytes` is called with the number of bytes that have just come. */
export async function bytesOf(folder, name, onBytes = (_count) => {}) {
  if (COPY) {
    const text = new Promise((resolve) => {
      waiting.set(name, resolve);
    });
    await loadScript(new URL(`copy/${name}.js`, folder));
    const packed = Uint8Array.from(atob(await text), (letter) => letter.charCodeAt(0));
    const bytes = await new Response(unpacked(new Blob([packed]).stream())).arrayBuffer();
    onBytes(bytes.byteLength);
    return bytes;
  }
  const response = await fetch(new URL(name, folder));
  if (!response.ok) throw new Error(`${name} could not be loaded`);
  const counter = new TransformStream({
    transform(chunk, controller) {
      onBytes(chunk.byteLength);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(counter)).arrayBuffer();
}

const unpacked = (stream) => stream.pipeThrough(new DecompressionStream("gzip"));

export const textOf = async (folder, name) => new TextDecoder().decode(await bytesOf(folder, name));

/** Return the editor's module, which is a script in any case. */
export async function editorOf(folder) {
  if (!globalThis.qkvEditor) await loadScript(new URL("editor.js", folder));
  return globalThis.qkvEditor;
}

/**
 * Return the store of Python's memory after all imports. A later start reads it and imports nothing. It is kept in the
 * service worker's cache, if there is one. `made` identifies the files from which the memory came.
 */
export function memoryOf(folder, made) {
  const address = new URL(`memory-${made}`, folder);
  return {
    async read() {
      const found = COPY ? undefined : await globalThis.caches?.match(address);
      return found && new Response(unpacked(found.body)).arrayBuffer();
    },
    async keep(bytes) {
      const names = COPY ? [] : ((await globalThis.caches?.keys()) ?? []);
      const name = names.find((one) => one.startsWith("qkv-python-"));
      const packed = () => new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
      if (name) await (await caches.open(name)).put(address, new Response(packed()));
    },
  };
}

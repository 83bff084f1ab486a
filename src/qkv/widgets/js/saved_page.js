/* Runs the one widget of a saved page (saved.html): its code and its state are in the page. */

import { bytesOf, Model } from "./model.js";

/** @param {string} id */
const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "");

/** @param {string} compressed zlib, in base64 */
async function unpacked(compressed) {
  const stream = new Blob([bytesOf(compressed)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(stream).arrayBuffer());
}

async function show() {
  const { plain, binary } = read("qkv-widget-state");
  const unpacking = Object.entries(binary).map(async ([name, value]) => [name, await unpacked(String(value))]);
  const model = new Model({ ...plain, ...Object.fromEntries(await Promise.all(unpacking)) });
  const address = URL.createObjectURL(new Blob([read("qkv-widget-code")], { type: "text/javascript" }));
  const { default: widget } = await import(address);
  const el = document.createElement("div");
  document.querySelector("main")?.append(el);
  widget.render({ model, el });
}

show();

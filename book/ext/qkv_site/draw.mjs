// Draws widgets. Each line of stdin is a JSON object {stem, saved, id, words}; each line of stdout is one {html} or {error}.
import { register } from "node:module";
import { createInterface } from "node:readline";
import { render } from "@lit-labs/ssr";
import { collectResultSync } from "@lit-labs/ssr/lib/render-result.js";
import { unsafeHTML } from "lit-html/directives/unsafe-html.js";
import { drawStills } from "../../../src/qkv/widgets/js/heatmap.js";
import { withBuffers } from "../../../src/qkv/widgets/js/model.js";
import { still } from "./still.mjs";

const SOURCES = "../../../src/qkv/widgets/js";

register("./files.mjs", import.meta.url);
drawStills((picture) => unsafeHTML(still(picture)));

for await (const line of createInterface({ input: process.stdin })) {
  const { stem, saved, id, words } = JSON.parse(line);
  let answer;
  try {
    const { default: widget } = await import(`${SOURCES}/${stem}.js`);
    const html = collectResultSync(render(widget.first(withBuffers(saved), id, words)));
    // lit writes the property `checked` as an attribute. Any value of that attribute means true, so "false" has to go.
    answer = { html: html.replaceAll(' checked="false"', "") };
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

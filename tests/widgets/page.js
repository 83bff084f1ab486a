/* What the tests of the base and of the host put on an empty page, bundled: the toy widget shows every kind of part. */

import { host, Model } from "../../book/static/host.js";
import * as base from "../../src/qkv/widgets/js/base.js";
import { withBuffers } from "../../src/qkv/widgets/js/model.js";
import predict from "../../src/qkv/widgets/js/predict.js";
import predictBars from "../../src/qkv/widgets/js/predict_bars.js";
import predictMask from "../../src/qkv/widgets/js/predict_mask.js";
import predictNumber from "../../src/qkv/widgets/js/predict_number.js";
import scalingLab from "../../src/qkv/widgets/js/scaling_lab.js";
import sequenceExplorer from "../../src/qkv/widgets/js/sequence_explorer.js";

const { button, choices, html, logSlider, num, numberInput, readings, slider, stepSlider, tables, toggle } = base;

const counts = { views: 0, tidied: 0, saved: 0 };

const toy = base.widget("Toy", {
  own: { open: false },
  says: ({ heads }) => `${heads} heads.`,
  setup: ({ root }) => {
    root.dataset.setUp = "yes";
    return () => {
      counts.tidied += 1;
    };
  },
  view: ({ heads, open, kind, temperature }, set, id) => {
    counts.views += 1;
    if (heads < 0) throw new Error("heads ran out");
    return html`
      ${slider({ label: "heads", value: heads, min: 0, max: 10, onInput: (value) => set({ heads: value }) })}
      ${stepSlider({ label: "power", value: 2 ** heads, values: base.powersOfTwo(10), onInput: (value) => set({ heads: Math.log2(value) }) })}
      ${logSlider({ label: "temperature", value: temperature, min: 0.05, max: 10, onInput: (value) => set({ temperature: value }) })}
      ${toggle({ label: "open", checked: open, onChange: (value) => set({ open: value }) })}
      ${choices({
        label: "kind",
        name: `${id}-kind`,
        value: kind,
        options: ["causal", "window"].map((value) => ({ value, label: value })),
        onChange: (value) => set({ kind: value }),
      })}
      ${numberInput({ label: "exact heads", value: heads, min: 0, max: 10, onInput: (value) => set({ heads: value }) })}
      ${button({ label: "one more", onClick: () => set({ heads: heads + 1 }) })}
      ${readings([
        ["heads", num(heads)],
        ["temperature", num(temperature), "none"],
      ])}
      ${tables(() => [{ caption: "doubled", head: ["n", "twice"], rows: [[heads, 2 * heads]] }])}
      <p id="seen">${heads} ${open ? "open" : "closed"} ${kind} ${temperature}</p>`;
  },
});

/** Draws a widget into a new element at the page's end. Binary traits arrive as { base64 }. With `window.hasKernel` it
 * believes that a kernel answers. */
function show(widget, state) {
  const binary = Object.entries(state).filter(([, value]) => value?.base64 !== undefined);
  const buffers = binary.map(([name, { base64 }]) => ({ path: [name], data: base64 }));
  const model = new Model(withBuffers({ state, buffers }));
  model.hasKernel = Boolean(window.hasKernel);
  model.save_changes = () => {
    counts.saved += 1;
  };
  const el = document.createElement("div");
  document.body.append(el);
  return { model, el, close: widget.render({ model, el }) };
}

const predictions = { predict, predictBars, predictMask, predictNumber };

Object.assign(window, { counts, host, predictions, scalingLab, sequenceExplorer, show, toy });

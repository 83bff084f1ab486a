import { button, html, num, powersOfTwo, stepSlider, toggle, widget } from "./base.js";
import { scalingExperiment } from "./maths.js";

export default widget("ScalingLab", {
  own: { memo: {} },
  view: ({ d_k, scaled, seed, memo }, set) => {
    if (memo.seed !== seed) Object.assign(memo, { seed, levels: scalingExperiment(seed) });
    const level = memo.levels.find((l) => l.d_k === d_k)[scaled ? "scaled" : "plain"];
    return html`<div class="qkv-controls">
      ${stepSlider({ label: html`features in a query and a key, <var>d<sub>k</sub></var>`, value: d_k, values: powersOfTwo(10), onInput: (d_k) => set({ d_k }) })}
      ${toggle({ label: html`divide by √<var>d<sub>k</sub></var>`, checked: scaled, onChange: (scaled) => set({ scaled }) })}
      ${button({ label: "new sample", onClick: () => set({ seed: seed + 1 }) })}
    </div><p>std ${num(level.std)}, entropy ${num(level.entropy)}</p>`;
  },
});

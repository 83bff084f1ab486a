import {
  allHeads,
  contrastOf,
  finding,
  layerTabs,
  lead,
  lookOf,
  matrixOf,
  nameOf,
  oneHead,
  orders,
  scoresTable,
  seenIn,
  sizeOf,
  spaced,
  weightsTable,
} from "./atlas.js";
import { button, choices, html, nothing, num, remember, t, tables, toggle, widget } from "./base.js";
import { whenColoursChange } from "./heatmap.js";

/** @import { Part, Seen } from "./atlas.js" */
/** @import { SetState } from "./base.js" */
/** @typedef {{ loss: number | null, cosine: number, likeliest: [string, number][] }} Measured */
/** @typedef {{ off: number[][], intact: Measured, changed?: Measured, control?: Measured, controls?: number[][],
 *   problem?: string }} Effect */
/** @typedef {{ untrained: boolean, words: string[][], parts: string[], shapes: number[][], packed: DataView, scores: number[][][],
 *   switches: boolean, effects: Effect[], part: number, layer: number, head: number, token: number, matrix: boolean,
 *   contrast: boolean, order: string, off: number[][], repainted: number, hasKernel: boolean }} State */

export default widget("HeadAtlas", {
  own: { repainted: 0, hasKernel: false },
  setup: ({ state, set, hasKernel }) => {
    if (hasKernel) set({ hasKernel });
    return whenColoursChange(() => set({ repainted: state.repainted + 1 }));
  },
  says: (/** @type {State} */ state) => finding(chosen(state)),
  view: (state, set, id) => {
    const seen = chosen(state);
    const part = partOf(state);
    const isOff = (/** @type {number} */ layer, /** @type {number} */ head) =>
      state.off.some((each) => sameHead(each, [part, layer, head]));
    const look = lookOf(state);
    return html`<div class="qkv-atlas ${sizeOf(seen)}">
        ${state.untrained ? html`<p class="qkv-note">${t`Random weights: these maps mean nothing.`}</p>` : nothing}
        ${state.parts.length > 1 ? parts(state, set, id) : nothing}
        ${lead(seen)}
        ${layerTabs(seen, look, set, id)}
        ${oneHead(seen, look, set)}
        ${allHeads(seen, { ...look, isOff }, set, id)}
        <div class="qkv-atlas-below">
          ${state.switches ? (state.hasKernel ? switches(seen, state, set) : measured(state, set, id)) : nothing}
          <details class="qkv-tables"><summary>${t`Order, scores and contrast of heads`}</summary>${orders(seen, look, set, id)}${contrastOf(look, set)}${matrixOf(look, set)}</details>
        </div>
      </div>
      ${tables(() => [weightsTable(seen), ...(seen.scores.length ? [scoresTable(seen)] : [])])}`;
  },
});

/* ---- the state */

/** Return the parts of the model, with their weights as views of the packed numbers.
 * @type {(packed: DataView, words: string[][], names: string[], shapes: number[][], scores: number[][][]) => Part[]} */
const unpacked = remember((packed, words, names, shapes, scores) => {
  const { buffer, byteOffset, byteLength } = packed;
  const isAligned = byteOffset % 2 === 0;
  const all = isAligned
    ? new Uint16Array(buffer, byteOffset, byteLength / 2)
    : new Uint16Array(buffer.slice(byteOffset, byteOffset + byteLength));
  let start = 0;
  return names.map((name, i) => {
    const [layers, heads, n, nKeys] = shapes[i];
    const weights = all.subarray(start, start + layers * heads * n * nKeys);
    start += weights.length;
    const queries = name === "self" || name === "encoder" ? words[0] : words[1];
    const keys = name === "decoder" ? words[1] : words[0];
    return { layers, heads, queries, keys, weights, scores: scores[i] };
  });
});

const partOf = (/** @type {State} */ { part, parts }) => Math.min(part, parts.length - 1);
const chosen = (/** @type {State} */ state) =>
  seenIn(unpacked(state.packed, state.words, state.parts, state.shapes, state.scores)[partOf(state)], lookOf(state));

/** @type {Record<string, () => string>} */
const PARTS = {
  self: () => t`all layers`,
  encoder: () => t`encoder`,
  decoder: () => t`decoder`,
  cross: () => t`decoder on encoder`,
};

/** @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const parts = (state, set, id) =>
  choices({
    label: t`part`,
    name: `${id}-part`,
    value: partOf(state),
    options: state.parts.map((name, value) => ({ value, label: PARTS[name]() })),
    onChange: (part) => set({ part, token: -1 }),
  });

/* ---- heads that are switched off */

const sameHead = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a.every((value, i) => value === b[i]);

/** Return the switch of the chosen head, and what is measured without the heads that are off.
 * @param {Seen} seen
 * @param {State} state
 * @param {SetState<State>} set */
function switches({ layer, head }, state, set) {
  const here = [partOf(state), layer, head];
  const others = state.off.filter((each) => !sameHead(each, here));
  return html`<div class="qkv-atlas-switches">
    <div class="qkv-controls">
      ${toggle({
        label: t`switch head ${nameOf(layer, head)} off`,
        checked: others.length < state.off.length,
        onChange: (off) => set({ off: off ? [...others, here] : others }),
      })}
      ${button({ label: t`all on`, disabled: state.off.length === 0, onClick: () => set({ off: [] }) })}
    </div>
    <div class="qkv-atlas-effect">${effectOf(state)}</div>
  </div>`;
}

/** Return the choice of what was measured before the page was saved: here no Python measures more.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function measured(state, set, id) {
  const { effects } = state;
  if (effects.length === 0)
    return html`<p class="qkv-note">${t`Heads are switched off in a notebook, where the model is. This page has no model.`}</p>`;
  const known = effects.findIndex((each) => isOf(each, state.off));
  return html`<div class="qkv-atlas-switches">
    ${choices({
      label: t`switched off before the page was saved:`,
      name: `${id}-off`,
      value: state.off.length ? known : -1,
      options: [{ value: -1, label: t`none` }, ...effects.map(({ off }, value) => ({ value, label: named(off) }))],
      onChange: (value) => set({ off: effects[value]?.off ?? [] }),
    })}
    <div class="qkv-atlas-effect">${effectOf(state)}</div>
  </div>`;
}

/** Check whether an effect was measured with these heads off, in any order.
 * @param {Effect} effect
 * @param {number[][]} off */
const isOf = (effect, off) =>
  effect.off.length === off.length && off.every((head) => effect.off.some((each) => sameHead(each, head)));

const shown = (/** @type {number} */ number) => num(number, { places: 3 });
const named = (/** @type {number[][]} */ heads) => heads.map(([, layer, head]) => nameOf(layer, head)).join(", ");

/** Return what is measured without the heads that are off, beside all heads and the control.
 * @param {State} state */
function effectOf({ off, effects, hasKernel }) {
  if (off.length === 0)
    return html`<p class="qkv-note">${t`Heads that are off add nothing to the output of their layer.`}</p>`;
  const found = effects.find((each) => isOf(each, off));
  if (!found && hasKernel)
    return html`<p class="qkv-note">${t`The running notebook measures the model without ${named(off)}. If no kernel runs, run the cell again.`}</p>`;
  if (!found) return html`<p class="qkv-note">${t`The model was not measured without ${named(off)}.`}</p>`;
  if (found.problem) return html`<p class="qkv-error">${found.problem}</p>`;
  const { intact, changed, control, controls = [] } = found;
  /** @type {[string, Measured | undefined][]} */
  const rows = [
    [t`all heads on`, intact],
    [t`without ${named(off)}`, changed],
    [control ? t`control: without ${named(controls)}` : t`control: no other heads`, control],
  ];
  const isDecoder = intact.loss !== null;
  const most = Math.max(...rows.map(([, value]) => value?.loss ?? 0));
  return html`<table class="qkv-atlas-measured">
    <thead><tr><td></td>${(isDecoder ? [t`loss (nats)`, t`likeliest next`] : [t`cosine`]).map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([title, value]) => html`<tr><th scope="row">${title}</th>${cells(value, isDecoder, most)}</tr>`,
    )}</tbody>
  </table>`;
}

/** Return the cells of a measure: a decoder's loss, as a bar too, and likeliest tokens, or the cosine of an encoder's vector.
 * @param {Measured | undefined} measured
 * @param {boolean} isDecoder
 * @param {number} most the largest loss of the table */
function cells(measured, isDecoder, most) {
  if (!measured) return isDecoder ? html`<td>–</td><td>–</td>` : html`<td>–</td>`;
  if (measured.loss === null) return html`<td>${shown(measured.cosine)}</td>`;
  const likeliest = measured.likeliest
    .slice(0, 3)
    .map(
      ([token, chance], i) =>
        html`<span class="qkv-atlas-next">${i ? t`, ` : ""}${spaced(token)} ${num(chance, { places: 2 })}</span>`,
    );
  const share = Math.round((100 * measured.loss) / most) / 100;
  return html`<td class="qkv-atlas-loss" style="--qkv-p: ${share}"><i aria-hidden="true"></i>${shown(measured.loss)}</td><td>${likeliest}</td>`;
}

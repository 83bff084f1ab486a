import {
  choices,
  dragged,
  html,
  num,
  partAt,
  readings,
  remember,
  slider,
  svg,
  tables,
  toggle,
  widget,
} from "./base.js";
import { patternErrors, patternMask, seenThrough } from "./patterns.js";

const N = 32;
const PATTERNS = ["full", "window", "window and global", "dilated", "strided"];

export default widget("PatternLab", {
  says: (state) => {
    const { pairs, known } = measured(state);
    return `${state.pattern}: ${num(100 * pairs)} % of the pairs. After ${state.layers} layers token ${state.token} knows of ${known} tokens.`;
  },
  view: (state, set, id) => html`
    <div class="qkv-pattern">
      ${picture(state, set)}
      <div>
        ${slider({ label: "tokens in the window", value: state.window, min: 1, max: 16, onInput: (window) => set({ window }) })}
        ${slider({ label: "layers", value: state.layers, min: 1, max: 6, onInput: (layers) => set({ layers }) })}
        ${slider({ label: "token to follow", value: state.token, min: 1, max: N, onInput: (token) => set({ token }) })}
        ${choices({
          label: "pattern",
          name: `${id}-pattern`,
          value: state.pattern,
          options: PATTERNS.map((value) => ({ value, label: value })),
          onChange: (pattern) => set({ pattern }),
        })}
        ${toggle({ label: "hide the future", checked: state.causal, onChange: (causal) => set({ causal }) })}
        ${numbers(state)}
      </div>
    </div>
    <p class="qkv-note">Queries down, keys across. Full colour: seen in one layer; pale: known after all. Drag to widen the window, press to
      follow a token. An error is the distance to full attention's output; a needle is one far token that matters.</p>
    ${tables(() => [table(state)])}`,
});

const masks = remember((pattern, window, causal) => patternMask(pattern, { n: N, window, causal }), 8);
const errors = remember((mask, all) => patternErrors(mask, all, 10), 8);
const reach = remember(seenThrough, 8);

function measured({ pattern, window, causal, layers, token }) {
  const mask = masks(pattern, window, causal);
  const all = masks("full", 1, causal);
  const seen = reach(mask, layers);
  const count = (rows) => rows.flat().filter(Boolean).length;
  return {
    mask,
    seen,
    pairs: count(mask) / count(all),
    joined: count(seen) / count(all),
    known: seen[token - 1].filter(Boolean).length,
    errors: errors(mask, all),
  };
}

/** The n × n pattern as three shapes, so that a step draws three paths and not a thousand cells. */
function picture(state, set) {
  const { mask, seen } = measured(state);
  const shape = (rows) => rows.flatMap((row, i) => row.map((may, j) => (may ? `M${j} ${i}h1v1h-1z` : ""))).join("");
  const grab = grabbing(set);
  return html`<div class="qkv-pattern-picture" @pointerdown=${grab} @pointermove=${grab}>
    <svg viewBox="0 0 ${N} ${N}" role="img" aria-label="Which of ${N} keys each of ${N} queries may see.">
      ${svg`<path class="qkv-known" d=${shape(seen)} /><path class="qkv-seen" d=${shape(mask)} />
        <rect class="qkv-followed" x="0" y=${state.token - 1} width=${N} height="1" />`}
    </svg>
  </div>`;
}

/** A press follows its row; a stroke makes the window as wide as the pointer is away from the diagonal. */
const grabbing = (set) =>
  dragged(({ x, y, isPress }) => {
    const row = partAt(y, N);
    if (isPress) set({ token: row + 1 });
    else set({ window: Math.min(16, Math.abs(row - partAt(x, N)) + 1) });
  });

const numbers = (state) => {
  const { pairs, joined, known, errors } = measured(state);
  return html`${readings([
    ["pairs in a layer", num(100 * pairs), "%"],
    [`pairs joined after ${state.layers}`, num(100 * joined), "%"],
    [`token ${state.token} knows of`, num(known), "tokens"],
    ["error: random", num(errors.random, { places: 2 })],
    ["error: local", num(errors.local, { places: 2 })],
    ["error: needle", num(errors.needle, { places: 2 })],
  ])}`;
};

const table = (state) => ({
  caption: "Each pattern with these settings: share of the pairs, and errors of one layer",
  head: ["pattern", "pairs (%)", "random", "local", "needle"],
  rows: PATTERNS.map((pattern) => {
    const { window, causal, layers, token } = state;
    const { pairs, errors } = measured({ pattern, window, causal, layers, token });
    const shown = [errors.random, errors.local, errors.needle].map((error) => num(error, { places: 2 }));
    return [pattern, num(100 * pairs), ...shown];
  }),
});

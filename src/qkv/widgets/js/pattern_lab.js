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
import { needleOf, patternErrors, patternMask, seenThrough } from "./patterns.js";

const N = 32;
const NEEDLE = needleOf(N);
/** @type {Kind[]} */
const KINDS = ["random", "local", "needle"];
const PATTERNS = ["full", "window", "window and global", "dilated", "strided"];

/** @import { SetState } from "./base.js" */
/** @import { Kind } from "./patterns.js" */
/** @typedef {{ pattern: string, window: number, causal: boolean, layers: number, token: number, pressed: number | null,
 *   isStroke: boolean }} State */
/** @typedef {Pick<State, "pattern" | "window" | "causal" | "layers" | "token">} Chosen */

export default widget("PatternLab", {
  own: { pressed: null, isStroke: false }, // the cell where the pointer went down, and whether the pointer has left it
  says: (/** @type {State} */ state) => {
    const { pairs, known } = measured(state);
    return `${state.pattern}: ${num(100 * pairs)} % of the pairs. After ${state.layers} layers token ${state.token} knows of ${known} tokens.`;
  },
  view: (state, set, id) => html`
    <div class="qkv-pattern">
      ${picture(state, set)}
      <div class="qkv-pattern-numbers">${numbers(state)}</div>
      <div class="qkv-pattern-controls">
        ${slider({ label: "tokens in the window", value: state.window, min: 1, max: 16, text: windowText(state), onInput: (window) => set({ window }) })}
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
      </div>
    </div>
    <p class="qkv-note">Queries down, keys across. Full colour: seen in one layer; pale: after all layers. Drag to widen the window, press to
      follow a token. The diamond is the needle: token ${N} asks only for token ${NEEDLE + 1}.</p>
    ${tables(() => [table(state)])}`,
});

/** Return the number of tokens that a token in the middle sees, and which further tokens the pattern adds.
 * @param {State} state */
function windowText({ pattern, window, causal }) {
  if (pattern === "full") return "not used";
  /** @type {Record<string, string>} */
  const others = {
    "window and global": ", and 2 global",
    dilated: ", every 3rd",
    strided: `, then every ${ordinal(window)}`,
  };
  return `${causal ? window : 2 * window - 1}${others[pattern] ?? ""}`;
}

const ordinal = (/** @type {number} */ n) => `${n}${["th", "st", "nd", "rd"][n] ?? "th"}`;

/** The number of results that are kept, twice the number of windows: sliders go back and forth. */
const LOOKS = 32;
const masks = remember(
  (/** @type {string} */ pattern, /** @type {number} */ window, /** @type {boolean} */ causal) =>
    patternMask(pattern, { n: N, window, causal }),
  LOOKS,
);
const everything = remember((/** @type {boolean} */ causal) => patternMask("full", { n: N, window: 1, causal }), 2);
const errors = remember(
  (/** @type {boolean[][]} */ mask, /** @type {boolean[][]} */ all) => patternErrors(mask, all, 10),
  LOOKS,
);
const reach = remember(seenThrough, LOOKS);

/** Return the masks, the shares of the pairs, what the token knows of, and the errors.
 * @param {Chosen} chosen */
function measured({ pattern, window, causal, layers, token }) {
  const mask = masks(pattern, window, causal);
  const all = everything(causal);
  const seen = reach(mask, layers);
  const count = (/** @type {boolean[][]} */ rows) => rows.flat().filter(Boolean).length;
  return {
    mask,
    seen,
    pairs: count(mask) / count(all),
    joined: count(seen) / count(all),
    known: seen[token - 1].filter(Boolean).length,
    errors: errors(mask, all),
  };
}

/** Return a pattern as one path: a bar for each run of visible cells in a row. */
const shape = (/** @type {boolean[][]} */ rows) =>
  rows
    .flatMap((row, i) =>
      row.map((may, j) => {
        if (!may || row[j - 1]) return "";
        const end = row.indexOf(false, j);
        const length = (end < 0 ? row.length : end) - j;
        return `M${j} ${i}h${length}v1h-${length}z`;
      }),
    )
    .join("");

/** Return the n × n pattern as two paths, because a thousand cells would make the sliders slow.
 * @param {State} state
 * @param {SetState<State>} set */
function picture(state, set) {
  const { mask, seen } = measured(state);
  const { drag, press } = grabbing(state, set);
  return html`<div class="qkv-pattern-picture" @pointerdown=${drag} @pointermove=${drag} @click=${press}>
    <svg viewBox="0 0 ${N} ${N}" role="img" aria-label="Which of ${N} keys each of ${N} queries may see.">
      ${svg`<path class="qkv-known" d=${shape(seen)} /><path class="qkv-seen" d=${shape(mask)} />
        <rect class="qkv-followed" x="0" y=${state.token - 1} width=${N} height="1" />
        ${["qkv-needle-edge", "qkv-needle"].map((kind) => svg`<path class=${kind} d="M${NEEDLE - 0.4} ${N - 0.5}l0.9 -0.9l0.9 0.9l-0.9 0.9z" />`)}`}
    </svg>
  </div>`;
}

/** Return the listeners of the picture. A press follows the token of its row. A drag makes the window, if the
 * pattern has one, as wide as the pointer's distance from the diagonal.
 * @param {State} state
 * @param {SetState<State>} set */
function grabbing(state, set) {
  const drag = dragged(({ x, y, isPress }) => {
    const [row, column] = [partAt(y, N), partAt(x, N)];
    const cell = row * N + column;
    if (isPress) set({ pressed: cell, isStroke: false });
    else if (state.isStroke || cell !== state.pressed) {
      const window = state.pattern === "full" ? state.window : Math.min(16, Math.abs(row - column) + 1);
      set({ isStroke: true, window });
    }
  });
  const press = () => {
    if (!state.isStroke && state.pressed !== null) set({ token: Math.floor(state.pressed / N) + 1 });
  };
  return { drag, press };
}

const numbers = (/** @type {State} */ state) => {
  const { pairs, joined, known, errors } = measured(state);
  return html`${readings([
    ["pairs in a layer", num(100 * pairs), "%"],
    [`after ${state.layers} ${state.layers > 1 ? "layers" : "layer"}`, num(100 * joined), "%"],
    [`token ${state.token} knows of`, num(known), "tokens"],
  ])}
  <p class="qkv-label">distance to full attention's output, one layer</p>
  ${readings(KINDS.map((kind) => [kind, num(errors[kind], { places: 2 })]))}`;
};

const table = (/** @type {State} */ state) => ({
  caption: "Each pattern with these settings: share of the pairs, and errors of one layer",
  head: ["pattern", "pairs (%)", "random", "local", "needle"],
  rows: PATTERNS.map((pattern) => {
    const { window, causal, layers, token } = state;
    const { pairs, errors } = measured({ pattern, window, causal, layers, token });
    const shown = [errors.random, errors.local, errors.needle].map((error) => num(error, { places: 2 }));
    return [pattern, num(100 * pairs), ...shown];
  }),
});

import { live } from "lit-html/directives/live.js";
import { dragged, html, num, remember, svg, t, tables, toggle, widget } from "./base.js";
import { coneBelow, patternMask, stepOf } from "./patterns.js";

const TEXT = (
  "one evening the cat chased the mouse through the house over the table under the bed round the chair " +
  "and past the old clock on the kitchen wall because it was hungry"
).split(" ");
const N = TEXT.length;
const [IT, CAT] = ["it", "cat"]; // the one needs the other
const NEEDED = TEXT.indexOf(CAT);
const [MOST_LAYERS, WIDEST] = [6, 16];
/** @type {Record<string, () => string>} */
const PATTERNS = {
  full: () => t`full`,
  window: () => t`window`,
  "window and global": () => t`window and global`,
  dilated: () => t`dilated`,
  strided: () => t`strided`,
};

// The drawing: a row of spots for each layer with its number on the left, the words' row at the bottom, and the needed
// word's diamond below it.
const [ACROSS, UP, LEFT, RIGHT, TOP] = [10.4, 37, 30, 10, 36];
const [WIDTH, HEIGHT] = [LEFT + RIGHT + ACROSS * (N - 1), TOP + UP * MOST_LAYERS + 36];
const GRIP = 18; // of a handle, its radius
const NEAR_HANDLE = 22; // a press this near to a handle takes it
const xOf = (/** @type {number} */ token) => LEFT + ACROSS * token;
const yOf = (/** @type {number} */ layer) => TOP + UP * (MOST_LAYERS - layer);
const tokenAt = (/** @type {number} */ x) => clamp(Math.round((x - LEFT) / ACROSS), 0, N - 1);
const layerAt = (/** @type {number} */ y) => MOST_LAYERS - Math.round((y - TOP) / UP);
const clamp = (/** @type {number} */ x, /** @type {number} */ low, /** @type {number} */ high) =>
  Math.min(high, Math.max(low, x));

/** @import { SetState } from "./base.js" */
/** @import { Grip } from "./dragging.js" */
/** @typedef {"" | "top" | "word" | "edge" | "layer"} Held what the pointer has taken: the top token before its first movement
 * and along a row, the window's edge, or a layer */
/** @typedef {{ pattern: string, window: number, causal: boolean, layers: number, token: number, held: Held, from: Place }} State */
/** @typedef {Pick<State, "pattern" | "window" | "causal" | "layers" | "token">} Chosen */
/** @typedef {{ x: number, y: number }} Place a point of the drawing */

export default widget("PatternLab", {
  own: { held: "", from: { x: 0, y: 0 } }, // what is dragged, and where it was pressed
  says: (/** @type {State} */ state) => {
    const { cost, reaching, isReached } = measured(state);
    const word = TEXT[state.token - 1];
    const pattern = PATTERNS[state.pattern]();
    if (word !== IT)
      return t`${state.layers} layers, ${pattern}: ${word} is reached by ${reaching} words, at ${percent(cost)} of the cost of one full layer.`;
    return isReached
      ? t`${state.layers} layers, ${pattern}: ${word} is reached by ${reaching} words, also by ${CAT}, at ${percent(cost)} of the cost of one full layer.`
      : t`${state.layers} layers, ${pattern}: ${word} is reached by ${reaching} words, not by ${CAT}, at ${percent(cost)} of the cost of one full layer.`;
  },
  view: (state, set, id) => html`
    <div class="qkv-cone">
      ${reachAndCost(state)}
      ${patterns(state, set, id)}
      ${picture(state, set)}
      <div class="qkv-cone-beside">
        ${words(state, set)}
      </div>
    </div>
    ${tables(() => [table(state)])}`,
});

/* ---- the choice of a pattern */

const ICON = [12, 3]; // the tokens of a small mask, and its window

/** Return the patterns, folded away, as small masks above the picture that they change, with the switch of the future.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const patterns = (
  state,
  set,
  id,
) => html`<details class="qkv-tables qkv-cone-choice"><summary>${t`Other patterns`}</summary>
  <fieldset class="qkv-control"><legend class="qkv-unseen">${t`what a word sees in one layer`}</legend>
    ${Object.entries(PATTERNS).map(
      ([
        pattern,
        name,
      ]) => html`<label class="qkv-pick"><input class="qkv-over" type="radio" name="${id}-pattern" .checked=${live(pattern === state.pattern)}
        @change=${() => set({ pattern })}>${icon(pattern, state.causal)}<span>${name()}</span></label>`,
    )}
  </fieldset>
  ${toggle({ label: t`hide the future`, checked: state.causal, onChange: (causal) => set({ causal }) })}
</details>`;

/** Return a small mask of a pattern: queries down, keys across.
 * @param {string} pattern
 * @param {boolean} causal */
function icon(pattern, causal) {
  const [n, window] = ICON;
  const rows = patternMask(pattern, { n, window, causal });
  const path = rows.flatMap((row, i) => row.map((sees, j) => (sees ? `M${j} ${i + 0.5}h1` : ""))).join("");
  return html`<svg viewBox="0 0 ${n} ${n}" aria-hidden="true"><path d=${path} /></svg>`;
}

/* ---- what a state means */

/** The number of results that are kept, twice the number of windows: drags go back and forth. */
const LOOKS = 32;
const masks = remember(
  (/** @type {string} */ pattern, /** @type {number} */ window, /** @type {boolean} */ causal) =>
    patternMask(pattern, { n: N, window, causal }),
  LOOKS,
);
const cones = remember(coneBelow, LOOKS);
const count = (/** @type {boolean[]} */ row) => row.filter(Boolean).length;
const pairsIn = remember((/** @type {boolean[][]} */ mask) => count(mask.flat()), LOOKS);
const percent = (/** @type {number} */ share) => `${num(100 * share, { places: 0 })} %`;

/** Return the mask, the cone, the share of the pairs in one layer, the cost of all layers (one layer of full attention
 * costs 1), the number of words that reach the top token, and whether cat is one of them.
 * @param {Chosen} chosen */
function measured({ pattern, window, causal, layers, token }) {
  const mask = masks(pattern, window, causal);
  const cone = cones(mask, layers, token - 1);
  const pairs = pairsIn(mask) / pairsIn(masks("full", 1, causal));
  return {
    mask,
    cone,
    pairs,
    cost: layers * pairs,
    reaching: count(cone[0]),
    isReached: cone[0][NEEDED],
  };
}

/** Return the reach of the top token, and the cost: of all layers as a bar, with a mark at one layer of full attention. Full
 * attention in the most layers fills it.
 * @param {State} state */
function reachAndCost(state) {
  const { cost } = measured(state);
  const most = measured({ ...state, pattern: "full", layers: MOST_LAYERS }).cost;
  const share = (/** @type {number} */ part) => Math.round(1000 * (part / most)) / 1000;
  const bar = html`<i class="qkv-filled" style="--qkv-p: ${share(cost)}; --full: ${share(1)}"><u></u></i>`;
  const number = html`<b data-number="cost">${percent(cost)}</b>`;
  return html`<div class="qkv-cone-says">
    <p>${reach(state)}</p>
    <div class="qkv-cone-cost qkv-label">${t`total cost ${bar} ${number} of one full layer`}</div>
  </div>`;
}

/** Say how many words reach the top token and, if that is the word that needs cat, whether cat does.
 * @param {State} state */
function reach(state) {
  const { reaching, isReached } = measured(state);
  const top = TEXT[state.token - 1];
  const [count, word] = [html`<b class="qkv-cone-count" data-number="reaching">${reaching}</b>`, html`<b>${top}</b>`];
  if (top !== IT) return t`${count} of ${N} words reach ${word}.`;
  return isReached
    ? t`${count} of ${N} words reach ${word}: ${html`<b>${t`${CAT} too ✓`}</b>`}`
    : t`${count} of ${N} words reach ${word}: ${html`<b class="qkv-cone-lost">${t`${CAT} not yet`}</b>`}`;
}

/** Return what a word in the middle sees in one layer, as text.
 * @param {Chosen} chosen */
function seenText({ pattern, window, causal }) {
  const width = causal ? window : 2 * window - 1;
  const words = width === 1 ? t`1 word` : t`${width} words`;
  /** @type {Record<string, () => string>} */
  const texts = {
    full: () => (causal ? t`all words before` : t`all words`),
    window: () => words,
    "window and global": () => t`${words} and the first 2`,
    dilated: () => t`${words}, every 3rd`,
    strided: () => t`${words} and every ${ordinal(window)}`,
  };
  return texts[pattern]();
}

const ordinal = (/** @type {number} */ n) => [t`1st`, t`2nd`, t`3rd`][n - 1] ?? t`${n}th`;

/* ---- the cone */

/** Return the key at the edge of the top token's window, or null for a pattern without a window.
 * @param {Chosen} chosen */
const edgeOf = ({ pattern, window, token }) =>
  pattern === "full" ? null : Math.max(0, token - 1 - stepOf(pattern) * (window - 1));

/** @param {State} state
 * @param {SetState<State>} set */
function picture(state, set) {
  const { mask, cone, isReached } = measured(state);
  const { layers, token } = state;
  const word = TEXT[token - 1];
  const top = { x: xOf(token - 1), y: yOf(layers) };
  const edge = edgeOf(state);
  const grab = dragged(taking(state, set));
  return html`<div class="qkv-cone-picture qkv-drag" @pointerdown=${grab} @pointermove=${grab}>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label=${t`The words that ${word} depends on, layer by layer.`}>
      ${cone.slice(1).map((row, below) => svg`<path class="qkv-cone-links ${below + 1 === layers ? "qkv-cone-first" : ""}" style="--qkv-pale: ${paleness(mask)}" d=${links(mask, row, below)} />`)}
      ${svg`<path class="qkv-cone-spots" d=${spots(cone, false)} /><path class="qkv-cone-spots qkv-cone-unused" d=${unused(layers)} />
        <path class="qkv-cone-spots qkv-cone-in" d=${spots(cone, true)} />`}
      <text class="qkv-cone-layer" x="0" y=${TOP - 14}>${t`layer`}</text>
      ${Array.from({ length: MOST_LAYERS }, (_, below) => layerName(below + 1, layers))}
      ${word === IT ? needed(isReached) : ""}
      ${edge === null ? "" : svg`<circle class="qkv-cone-edge" cx=${xOf(edge)} cy=${yOf(layers - 1)} r=${GRIP} />${arrows(xOf(edge), yOf(layers - 1), false)}`}
      ${svg`<text class="qkv-cone-word" x=${clamp(top.x, LEFT + 16, WIDTH - 24)} y=${top.y - GRIP - 5}>${word}</text>
        <circle class="qkv-cone-top" cx=${top.x} cy=${top.y} r=${GRIP} />${arrows(top.x, top.y, true)}`}
    </svg>
    ${over({ label: t`word`, at: top, value: token, min: 1, max: N, text: word, onInput: (token) => set({ token }) })}
    ${over({
      label: t`window`,
      at: { x: xOf(edge ?? token - 1), y: yOf(layers - 1) },
      value: state.window,
      min: 1,
      max: WIDEST,
      text: seenText(state),
      onInput: (window) => set({ window }),
    })}
    ${over({ label: t`layers`, at: { x: 6, y: yOf(layers) }, value: layers, min: 1, max: MOST_LAYERS, text: num(layers), onInput: (layers) => set({ layers }) })}
  </div>`;
}

/** Return arrows on a handle: where it can be dragged.
 * @param {number} x
 * @param {number} y
 * @param {boolean} isUpToo */
function arrows(x, y, isUpToo) {
  const across = `M${x - 8} ${y}h16m-2 -2l2 2l-2 2M${x - 6} ${y - 2}l-2 2l2 2`;
  const up = `M${x} ${y - 8}v16m-2 -2l2 2l2 -2M${x - 2} ${y - 6}l2 -2l2 2`;
  return svg`<path class="qkv-cone-arrows ${isUpToo ? "qkv-cone-on-top" : ""}" d=${isUpToo ? across + up : across} />`;
}

/** Return the lines from the tokens of the cone in one layer to what they see in the layer below. */
const links = remember(
  (/** @type {boolean[][]} */ mask, /** @type {boolean[]} */ row, /** @type {number} */ below) =>
    row
      .flatMap((inCone, i) =>
        inCone ? mask[i].map((sees, j) => (sees ? `M${xOf(i)} ${yOf(below + 1)}L${xOf(j)} ${yOf(below)}` : "")) : [],
      )
      .join(""),
  8 * MOST_LAYERS,
);

/** Return how pale the lines below the first layer are: the more a pattern has, the paler, or they would be one mass.
 * @param {boolean[][]} mask */
const paleness = (mask) => Math.round(100 * Math.min(1, (FEW_LINKS * N) / pairsIn(mask))) / 100;
const FEW_LINKS = 4; // for each token: as many stay as they are

const spot = (/** @type {number} */ token, /** @type {number} */ layer) => `M${xOf(token)} ${yOf(layer)}h0`; // round by its caps
const spots = (/** @type {boolean[][]} */ cone, /** @type {boolean} */ isIn) =>
  cone.flatMap((row, layer) => row.map((inCone, i) => (inCone === isIn ? spot(i, layer) : ""))).join("");
const unused = (/** @type {number} */ layers) =>
  Array.from({ length: MOST_LAYERS - layers }, (_, i) => TEXT.map((_, j) => spot(j, layers + 1 + i)).join("")).join("");

/** Return the number of a layer beside its row, where no line of the cone is. */
const layerName = (/** @type {number} */ layer, /** @type {number} */ layers) =>
  svg`<text class="qkv-cone-layer ${layer > layers ? "qkv-cone-unused" : ""} ${layer === layers ? "qkv-cone-now" : ""}" x="0" y=${yOf(layer) + 5}>${layer}</text>`;

const needed = (/** @type {boolean} */ isReached) => svg`<g class=${isReached ? "qkv-cone-reached" : "qkv-cone-missed"}>
  <path class="qkv-cone-needed" d="M${xOf(NEEDED)} ${yOf(0) + 9}l9 10l-9 10l-9 -10z" />
  <text x=${xOf(NEEDED) + 15} y=${yOf(0) + 23}>${t`${CAT}, the word it needs`}</text>
</g>`;

/** Return the slider that moves a part of the drawing by keyboard. It lies over that part, and is not seen. A finger
 * grabs its label: an element in an SVG cannot have a touch-action of its own.
 * @param {{ label: string, at: { x: number, y: number }, value: number, min: number, max: number, text: string,
 *   onInput: (value: number) => void }} parts */
const over = ({
  label,
  at,
  value,
  min,
  max,
  text,
  onInput,
}) => html`<label class="qkv-cone-over" style="left: ${(100 * at.x) / WIDTH}%; top: ${(100 * at.y) / HEIGHT}%">
  <span class="qkv-unseen">${label}</span>
  <input class="qkv-over" type="range" min=${min} max=${max} aria-valuetext=${text} .value=${live(String(value))}
    @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => onInput(target.valueAsNumber)}>
</label>`;

/** Return a listener for the drawing. The top token is dragged sideways, or up and down through the layers, as it was
 * first moved; the ring widens the window; a press elsewhere chooses the layer of its row.
 * @param {State} state
 * @param {SetState<State>} set */
const taking =
  (state, set) =>
  (/** @type {Grip} */ { x, y, isPress }) => {
    const at = { x: x * WIDTH, y: y * HEIGHT };
    const from = isPress ? at : state.from;
    const held = isPress ? taken(state, at) : onAxis(state.held, at.x - from.x, at.y - from.y);
    set({ held, from, ...moved(state, held, at) });
  };

/** Return what a press takes: the nearer handle if it is near enough, else the layer of the row.
 * @param {State} state
 * @param {Place} place
 * @returns {Held} */
function taken(state, { x, y }) {
  const { token, layers } = state;
  const edge = edgeOf(state);
  const top = Math.hypot(x - xOf(token - 1), y - yOf(layers));
  const ring = edge === null ? Infinity : Math.hypot(x - xOf(edge), y - yOf(layers - 1));
  if (Math.min(top, ring) > NEAR_HANDLE) return "layer";
  return top <= ring ? "top" : "edge";
}

const SLIP = 8; // a movement of the top token, of this length, chooses between its row and the layers

/** Return what is held after a movement from the press: the top token keeps to the direction of its first movement.
 * @param {Held} held
 * @param {number} across
 * @param {number} down
 * @returns {Held} */
function onAxis(held, across, down) {
  if (held !== "top" || Math.hypot(across, down) < SLIP) return held;
  return Math.abs(across) > Math.abs(down) ? "word" : "layer";
}

/** Return the change of the state when the pointer is at a point with a part of the drawing in hand.
 * @param {State} state
 * @param {Held} held
 * @param {Place} place
 * @returns {Partial<State>} */
function moved({ pattern, token }, held, { x, y }) {
  if (held === "top") return {};
  if (held === "word") return { token: tokenAt(x) + 1 };
  if (held === "edge") {
    const apart = Math.max(0, token - 1 - tokenAt(x));
    return { window: clamp(Math.round(apart / stepOf(pattern)) + 1, 1, WIDEST) };
  }
  return { layers: clamp(layerAt(y), 1, MOST_LAYERS) };
}

/* ---- the text */

/** Return the text, with a mark on the words that reach the top token. A press puts a word on top.
 * @param {State} state
 * @param {SetState<State>} set */
function words(state, set) {
  const { cone } = measured(state);
  const wanted = TEXT[state.token - 1] === IT ? NEEDED : -1;
  const kind = (/** @type {number} */ i) =>
    i === state.token - 1 ? "qkv-cone-asks" : cone[0][i] ? "qkv-cone-reaching" : i === wanted ? "qkv-cone-lost" : "";
  return html`<p class="qkv-cone-text" @click=${(/** @type {{ target: HTMLElement }} */ { target }) => target.dataset.token && set({ token: Number(target.dataset.token) })}>${TEXT.map(
    (word, i) =>
      html`<span class="${kind(i)} ${i === wanted ? "qkv-cone-wanted" : ""}" data-token=${i + 1}>${word}</span> `,
  )}</p>`;
}

const table = (/** @type {State} */ state) => {
  const { window, causal, layers, token } = state;
  return {
    caption: t`Each pattern with these settings: its pairs, and the words that reach ${TEXT[token - 1]} after ${layers} layers`,
    head: [t`pattern`, t`pairs (%)`, t`words that reach it`, CAT],
    rows: Object.entries(PATTERNS).map(([pattern, name]) => {
      const { pairs, reaching, isReached } = measured({ pattern, window, causal, layers, token });
      return [name(), num(100 * pairs), reaching, isReached ? t`in reach` : t`out of reach`];
    }),
  };
};

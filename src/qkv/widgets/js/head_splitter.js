import { guard } from "lit-html/directives/guard.js";
import { live } from "lit-html/directives/live.js";
import {
  dragged,
  gripMark,
  html,
  nearestOf,
  nothing,
  num,
  partAt,
  powersOfTwo,
  remember,
  stepSlider,
  svg,
  tables,
  widget,
} from "./base.js";
import { headEntries, nudgeExperiment } from "./maths.js";

const EXAMPLES = [
  ["中和", "有", "一個", "永和路"],
  ["I", "saw", "a", "saw"],
];
const [BATCH, TOKENS, FEATURES] = [2, 4, 8];
const NAMES = EXAMPLES.flat();
const GLOSSES = ["Zhonghe", "has", "a", "Yonghe Road"];
const SPOKEN = [
  ...EXAMPLES[0].map((name, i) => `${name} (${GLOSSES[i]})`),
  '"I"',
  '"saw" (the first)',
  '"a"',
  '"saw" (the last)',
];
const IN_SENTENCES = [...EXAMPLES[0], "I", "the first saw", "a", "the last saw"];
const range = (count) => Array.from({ length: count }, (_, i) => i);
const NOTHING = 1e-9; // the largest change of an output that counts as none
const STILL = 3; // pixels: the largest move of the pointer that counts as a press, not a drag
const HEADS = html`heads, <var>H</var>`;
const SPLITS = powersOfTwo(3);

const WAYS = {
  right: "split, then transpose",
  "reshape both ways": "reshape alone",
  "reshape in": "reshape on the way in",
  "reshape out": "reshape on the way back",
  "heads first": "heads before sentences",
};

/** @import { Route } from "./maths.js" */
/** @typedef {{ n_heads: number, wrong: Route, nudged: number, causal: boolean, held: number, from: number }} State */

export default widget("HeadSplitter", {
  // `held` is the index, from the left, of the cut that is dragged. `from` is the pointer's x on the screen when the
  // drag began.
  own: { held: 1, from: 0 },
  says: (/** @type {State} */ state) => `${WAYS[state.wrong]}: ${verdict(state, state.wrong)}`,
  view: (state, set, id) => html`
    <div class="qkv-split">${["right", state.wrong].map((route) => way(state, route, set, id))}</div>
    ${stepSlider({ label: HEADS, value: state.n_heads, values: SPLITS, onInput: (value) => set({ n_heads: value }) })}
    <p class="qkv-note">Drag the ring to move the cut. Press a word to change it a little.${
      state.causal ? " With the causal mask, a row reads only itself and the rows above it." : ""
    }</p>
    ${tables(() => numbers(state))}`,
});

/** Return one way into heads: its title, its heads and outputs for each example, and what it does, in words. */
const way = (
  state,
  route,
  set,
  id,
) => html`<div class="qkv-way ${examplesOf(state).length > 1 ? "qkv-both" : ""}" role="group" aria-label=${WAYS[route]}>
  <p class="qkv-way-title">${route === "right" ? html`<b>Right:</b>` : html`<b class="qkv-amiss">Wrong:</b>`} ${WAYS[route]}</p>
  <p class="qkv-way-head" aria-hidden="true"><span>head</span> ${headNumbers(state.n_heads)} <span>output</span></p>
  ${examplesOf(state).map(
    (b) => html`<div class="qkv-way-rows">
    ${route === "right" ? pickedNames(state, b, set, id) : names(state, b, set)} ${sheet(state, route, b, set)} ${results(state, route, b)}
  </div>`,
  )}
  <p class="qkv-way-sentences" data-number=${route === "right" ? "right" : "wrong"}>${sentences(state, route)}</p>
</div>`;

const exampleOf = (row) => Math.floor(row / TOKENS);
const rowsOf = (b) => range(TOKENS).map((i) => TOKENS * b + i);

/** Return the examples that are shown: both if the wrong way mixes them, or the one of the changed word. */
const examplesOf = ({ wrong, nudged }) => (wrong === "heads first" ? range(BATCH) : [exampleOf(nudged)]);

const headNumbers = (n_heads) => html`<span>${range(n_heads).map((h) => html`<span>${h + 1}</span>`)}</span>`;

const name = (row) =>
  html`<span><small>${row + 1}</small> ${NAMES[row]}</span>${GLOSSES[row] ? html`<small>${GLOSSES[row]}</small>` : nothing}`;

/** Return the words of an example as radio buttons for the word that is changed. */
const pickedNames = ({ nudged }, b, set, id) => html`<fieldset class="qkv-control qkv-way-names">
  <legend class="qkv-unseen">change one word</legend>
  ${rowsOf(b).map(
    (row) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-nudged" .checked=${live(row === nudged)} @change=${() => set({ nudged: row })}>
      ${name(row)}
    </label>`,
  )}
</fieldset>`;

/** Return the words of an example for the rows of the wrong way. */
const names = ({ nudged }, b, set) =>
  html`<div class="qkv-way-names">${rowsOf(b).map(
    (row) =>
      html`<span class=${row === nudged ? "qkv-nudged" : ""} @click=${() => set({ nudged: row })}>${name(row)}</span>`,
  )}</div>`;

const shapeOf = (heads) => ({ batch: BATCH, tokens: TOKENS, features: FEATURES, heads });

/** Return the entries of the heads, with the indices where they come from. */
const entriesOf = remember((route, n_heads) => headEntries(route, shapeOf(n_heads)), 20);

/** Return the pieces of rows that are in the heads of an example, head by head. A piece's word is at another row than its own if the
 * piece is misplaced. */
const piecesOf = remember(
  (route, n_heads, b) =>
    entriesOf(route, n_heads)
      .filter((entry) => entry.b === b && entry.column === 0)
      .map(({ h, row, from }) => {
        const token = tokenOf({ from });
        return { h, row, token, isMisplaced: token !== TOKENS * b + row };
      }),
  40,
);

const tokenOf = ({ from }) => Math.floor(from / FEATURES);

/** Return by how much each output row changes, and whether it should. */
const outcome = remember(
  (route, n_heads, causal, nudged) =>
    nudgeExperiment(route, { ...shapeOf(n_heads), causal, nudged }).map((entries, row) => {
      const moved = Math.max(...entries);
      const should = exampleOf(row) === exampleOf(nudged) && (!causal || row >= nudged);
      return { row, moved, should, hears: moved > NOTHING };
    }),
  80,
);
const outputs = ({ n_heads, causal, nudged }, route) => outcome(route, n_heads, causal, nudged);

/** Return which outputs of an example change on one way. An output that should not, or does not but should, is framed. */
const results = (state, route, b) =>
  html`<div class="qkv-way-outputs">${outputs(state, route)
    .slice(TOKENS * b, TOKENS * (b + 1))
    .map(
      ({ should, hears }) =>
        html`<span data-changes=${hears} class=${should === hears ? "" : "qkv-amiss"}>${hears ? "changes" : "same"}</span>`,
    )}</div>`;

/** Return the sentences below a way's picture. */
const sentences = (state, route) =>
  verdictParts(state, route).map(([text, isAmiss]) => (isAmiss ? html`<b class="qkv-amiss">${text}</b>` : text));

/** Return the sentences as one text. */
export const verdict = (state, route) =>
  verdictParts(state, route)
    .map(([text]) => text)
    .join("");

/** Return sentences about where a way puts the pieces and which outputs it changes, in parts: each is a text, and
 * whether it says what is wrong. */
function verdictParts(state, route) {
  const all = outputs(state, route);
  const due = all.filter(({ should }) => should);
  const reached = due.filter(({ hears }) => hears).length;
  const leaks = all.filter(({ should, hears }) => hears && !should).length;
  const change = `${due.length} output${due.length === 1 ? "" : "s"}${state.causal ? " that may read it" : ""} change`;
  return [
    ...placing(state, route),
    [` If ${IN_SENTENCES[state.nudged]} changes, `, false],
    reached < due.length
      ? [`only ${reached} of ${change}`, true]
      : [`${reached} of ${change}, as ${due.length === 1 ? "it" : "they"} should`, false],
    leaks ? [`, and ${leaks} that must not`, true] : ["", false],
    [`.${route === "right" ? "" : whyUnseen(state, route)}`, false],
  ];
}

/** Return where a way puts the pieces, in parts. */
function placing(state, route) {
  const pieces = examplesOf(state).flatMap((b) => piecesOf(route, state.n_heads, b));
  const misplaced = pieces.filter(({ isMisplaced }) => isMisplaced).length;
  if (misplaced)
    return [
      [`${misplaced} of ${pieces.length} pieces`, true],
      [" are in another word’s row.", false],
    ];
  if (route === "right") return [["Every piece is in its word’s row.", false]];
  return [
    [
      state.n_heads === 1 ? "With one head, both ways are the same." : "The heads are right, but are joined wrongly.",
      false,
    ],
  ];
}

/** Return a sentence that says why a wrong way with several heads looks right, or nothing. */
function whyUnseen({ n_heads, causal, nudged }, route) {
  const looksRight = outcome(route, n_heads, causal, nudged).every(({ should, hears }) => should === hears);
  if (n_heads === 1 || !looksRight) return "";
  const isHalf = route === "reshape in" || route === "reshape out";
  return isHalf && !causal ? " Only a causal mask shows the mistake." : " This word does not show the mistake.";
}

/** Return the change of the state at a press or a drag: a press takes the nearest cut, and a drag moves it and with it
 * all other cuts. */
export function splitAt({ n_heads, held }, { x, isPress, event }) {
  const at = Math.max(x, 0.5 / FEATURES);
  if (isPress) return { held: nearestOf(range(n_heads + 1).slice(1), at * n_heads), from: event.clientX };
  return { n_heads: nearestOf(SPLITS, held / at, (one, other) => Math.abs(Math.log(one / other))) };
}

/* ---- a sheet: the contents of the heads for one example. It has a path for each token, so that the entries can glide
 * to their new places, and a name on each piece. */

const UNIT = 100; // the width and the height of an entry in the sheet's own coordinates, which the style stretches
const INSIDE = 96; // the coloured part of it
const SHEET = `0 0 ${UNIT * FEATURES} ${UNIT * TOKENS}`;

const sheet = (state, route, b, set) => {
  const { n_heads, nudged } = state;
  const grab = dragged((grip) => set(splitAt(state, grip)));
  return html`<div class="qkv-sheet qkv-drag" aria-hidden="true" @pointerdown=${grab} @pointermove=${grab} @click=${nudgeAt(state, route, b, set)}>
    ${guard([route, n_heads, b, nudged], () => drawn(route, n_heads, b, nudged))}
    ${route === "right" && b === examplesOf(state)[0] ? html`<svg class="qkv-cut" style="left: ${100 / n_heads}%">${gripMark({ x: 50, y: 100 })}</svg>` : nothing}
  </div>`;
};

/** Return a click listener that changes the word of the piece at the pointer, unless the click ends a drag. */
const nudgeAt =
  (state, route, b, set) =>
  ({ clientX, clientY, currentTarget }) => {
    if (Math.abs(clientX - state.from) > STILL) return;
    const { left, top, width, height } = currentTarget.getBoundingClientRect();
    const h = partAt((clientX - left) / width, state.n_heads);
    const row = partAt((clientY - top) / height, TOKENS);
    const piece = piecesOf(route, state.n_heads, b).find((each) => each.h === h && each.row === row);
    if (piece) set({ nudged: piece.token });
  };

/** Return the colours of the entries, the cuts and the words' names. The names of narrow pieces are numbers. */
const drawn = (route, n_heads, b, nudged) => html`
  <svg viewBox=${SHEET} preserveAspectRatio="none">
    ${boxesOf(route, n_heads, b).map((boxes, token) => svg`<path class=${token === nudged ? "qkv-nudged" : `qkv-sheet-token-${token % TOKENS}`} d=${boxes} />`)}
    <path class="qkv-cuts" d=${range(n_heads + 1)
      .map((h) => `M${(UNIT * FEATURES * h) / n_heads} 0V${UNIT * TOKENS}`)
      .join("")} />
  </svg>
  <div class="qkv-pieces">${piecesOf(route, n_heads, b).map(
    ({ token, isMisplaced }) =>
      html`<span class="${isMisplaced ? "qkv-amiss" : ""} ${token === nudged ? "qkv-nudged" : ""}">${n_heads > 2 ? token + 1 : NAMES[token]}</span>`,
  )}</div>`;

/** Return each token's entries in the heads of an example as thick lines, which are the shortest path for a box. */
const boxesOf = remember((route, n_heads, b) => {
  const entries = entriesOf(route, n_heads).filter((entry) => entry.b === b);
  entries.sort((one, other) => one.from - other.from);
  const left = ({ h, column }) => UNIT * ((h * FEATURES) / n_heads + column);
  const box = (entry) => `M${left(entry)} ${UNIT * entry.row + INSIDE / 2}h${INSIDE}`;
  return range(BATCH * TOKENS).map((token) =>
    entries
      .filter((entry) => tokenOf(entry) === token)
      .map(box)
      .join(""),
  );
}, 40);

function numbers(state) {
  const ways = ["right", state.wrong];
  const [right, wrong] = ways.map((route) => outputs(state, route));
  const [inRight, inWrong] = ways.map((route) => entriesOf(route, state.n_heads));
  const tokensIn = (entries, b, h) =>
    [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => SPOKEN[tokenOf(e)]))].join(", ");
  const everyHead = range(BATCH).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
  return [
    {
      caption: `By how much each output changes with ${SPOKEN[state.nudged]}`,
      head: ["output", "should change", "right way", "wrong way"],
      rows: right.map(({ row, moved, should }) => [
        SPOKEN[row],
        should ? "yes" : "no",
        num(moved),
        num(wrong[row].moved),
      ]),
    },
    {
      caption: "Whose features are in a head",
      head: ["example, head", "right way", "wrong way"],
      rows: everyHead.map(([b, h]) => [`${b}, ${h}`, tokensIn(inRight, b, h), tokensIn(inWrong, b, h)]),
    },
  ];
}

import { guard } from "lit-html/directives/guard.js";
import { live } from "lit-html/directives/live.js";
import { choices, html, num, powersOfTwo, stepSlider, tables, toggle, widget } from "./base.js";
import { headEntries, nudgeExperiment } from "./maths.js";

const EXAMPLES = [
  ["中和", "有", "一個", "永和路"],
  ["I", "saw", "a", "saw"],
];
const [BATCH, TOKENS, FEATURES] = [2, 4, 8];
const NAMES = EXAMPLES.flat();
const SPOKEN = [...EXAMPLES[0], '"I"', '"saw" (the first)', '"a"', '"saw" (the last)'];
const range = (count) => Array.from({ length: count }, (_, i) => i);
const NOTHING = 1e-9;
const GAP = 0.09; // between heads, in widths of an entry; the style keeps room for those of eight heads
const HEADS = html`heads, <var>H</var>`;

const WRONG = [
  { value: "reshape both ways", label: "both: reshape in, reshape out" },
  { value: "reshape in", label: "in: reshape in, right way out" },
  { value: "reshape out", label: "out: right way in, reshape out" },
  { value: "heads first", label: "first: reshape to (H, B, n, d_head)" },
];
const titleOf = (route) =>
  route === "right" ? "right: name the axes, then transpose" : WRONG.find(({ value }) => value === route).label;

export default widget("HeadSplitter", {
  own: { memo: {}, gliding: false },
  says: (state) => verdict(state, state.wrong),
  view: (state, set, id) => html`
    ${controls(state, set, id)}
    <div class="qkv-top ${shown(state).length > 1 ? "qkv-both" : ""}">
      ${guard([state.nudged, shown(state).length], () => input(state, set, id))}
      <p class="qkv-note">
        Entry 12 is feature 2 of token 1. A nudge adds 1 to every feature of one token; Δ marks an output that it moved,
        and beside each row stands by how much. Numbers and projections are random.
      </p>
    </div>
    <div class="qkv-lanes ${state.gliding ? "qkv-gliding" : ""}">${lane(state, "right")} ${lane(state, state.wrong)}</div>
    ${tables(() => numbers(state))}`,
});

const controls = ({ n_heads, wrong, causal }, set, id) => html`<div class="qkv-controls">
  ${stepSlider({ label: HEADS, value: n_heads, values: powersOfTwo(3), onInput: (value) => set({ n_heads: value, gliding: false }) })}
  ${choices({
    label: "the wrong way shown",
    name: `${id}-wrong`,
    value: wrong,
    options: WRONG,
    onChange: (value) => set({ wrong: value, gliding: true }),
  })}
  ${toggle({
    label: "rows of a head see only themselves and the rows above",
    checked: causal,
    onChange: (value) => set({ causal: value }),
  })}
</div>`;

/** The sheet before it is split; its row names choose the token to nudge. */
const input = (state, set, id) => html`<fieldset class="qkv-input">
  <legend class="qkv-label">the sheet of values: nudge one token</legend>
  ${sheets(
    state,
    (b) => range(TOKENS * FEATURES).map((place) => entry(source(TOKENS * FEATURES * b + place, state))),
    (b) => range(TOKENS).map((row) => ({ name: nudge(TOKENS * b + row, state, set, id), end: "" })),
  )}
</fieldset>`;

const nudge = (row, { nudged }, set, id) => html`<label>
  <input type="radio" name="${id}-nudged" .checked=${live(row === nudged)} @change=${() => set({ nudged: row })}>
  ${NAMES[row]}
</label>`;

const exampleOf = (row) => Math.floor(row / TOKENS);

/** What a route makes of this state, computed once: its heads' entries, and by how much each output entry moves. */
function through(route, { n_heads, causal, nudged, memo }) {
  const key = [route, n_heads, causal, nudged].join();
  const shape = { batch: BATCH, tokens: TOKENS, features: FEATURES, heads: n_heads, causal, nudged };
  memo[key] ??= { entries: headEntries(route, shape), moves: nudgeExperiment(route, shape) };
  return memo[key];
}

/** By how much each output row moves, beside what it should do. */
const outputs = (state, route) =>
  through(route, state).moves.map((entries, row) => {
    const moved = Math.max(...entries);
    const should = exampleOf(row) === exampleOf(state.nudged) && (!state.causal || row >= state.nudged);
    return { row, moved, should, hears: moved > NOTHING };
  });

const listOf = (found) => found.map(({ row }) => SPOKEN[row]).join(", ");

/** What the nudge found, in a sentence. */
function verdict(state, route) {
  const found = outputs(state, route);
  const deaf = found.filter(({ should, hears }) => should && !hears);
  const leaks = found.filter(({ should, hears }) => hears && !should);
  const [due, heard] = [found.filter((o) => o.should), found.filter((o) => o.should && o.hears)];
  return [
    `${heard.length} of ${due.length} outputs that should hear ${SPOKEN[state.nudged]} do.`,
    deaf.length ? `Deaf: ${listOf(deaf)}.` : "",
    leaks.length ? `Heard where it must not be: ${listOf(leaks)}.` : "",
  ].join(" ");
}

/** One way into heads and back: what the heads hold, and which outputs moved. */
function lane(state, route) {
  const { entries } = through(route, state);
  const found = outputs(state, route);
  const wrong = found.some(({ should, hears }) => should !== hears);
  return html`<div class="qkv-lane" role="group" aria-label=${titleOf(route)}>
    <p class="qkv-lane-name">${titleOf(route)}</p>
    <p class="qkv-label">${state.n_heads === 1 ? "one head" : `${state.n_heads} heads`}: what each takes for rows 0 to 3</p>
    ${sheets(state, (b) => inHeads(entries, b, state), headRows, "qkv-heads")}
    <p class="qkv-label">merged: the outputs that moved</p>
    ${sheets(
      state,
      (b) => merged(route, b, state),
      (b) => outputRows(found, b),
    )}
    <p class="qkv-verdict" data-number=${route === "right" ? "right" : "wrong"} data-wrong=${wrong}>${verdict(state, route)}</p>
  </div>`;
}

/** The second example is shown where something can happen to it. */
const shown = ({ wrong, nudged }) => (wrong === "heads first" || nudged >= TOKENS ? [0, 1] : [0]);

/** Entries, row by row, with a label before each row and a remark after it. */
const sheets = (state, entriesOf, rowsOf, kind = "") => html`<div class="qkv-sheets ${kind}">
  ${shown(state).map(
    (b) => html`<div class="qkv-sheet">
    <div class="qkv-row-names">${rowsOf(b).map(({ name }) => html`<span>${name}</span>`)}</div>
    <div class="qkv-entries" aria-hidden="true">${entriesOf(b)}</div>
    <div class="qkv-row-ends">${rowsOf(b).map(({ end }) => html`<span>${end}</span>`)}</div>
  </div>`,
  )}
</div>`;

const headRows = () => range(TOKENS).map((row) => ({ name: `row ${row}`, end: "" }));

const outputRows = (found, b) =>
  found.slice(b * TOKENS, (b + 1) * TOKENS).map(({ row, moved, should, hears }) => ({
    name: NAMES[row],
    end: html`${num(moved, { places: 2 })} ${should === hears ? "✓" : "✗"}`,
  }));

/** The entries that heads of example b hold, in the order of the sheet, so that each keeps its element and glides. */
function inHeads(entries, b, state) {
  const here = entries.filter((entry) => entry.b === b).sort((one, other) => one.from - other.from);
  return here.map(({ h, row, column, from }) => {
    const x = (h * FEATURES) / state.n_heads + column + h * GAP;
    return html`<span class="qkv-seat" style="transform: translate(${100 * x}%, ${100 * row}%)">${entry(source(from, state))}</span>`;
  });
}

/** An entry of the input: 100 · example + 10 · token + feature, shaded by its token. */
function source(from, { nudged }) {
  const [row, feature] = [Math.floor(from / FEATURES), from % FEATURES];
  const token = row % TOKENS;
  return {
    kind: `qkv-token-${token} ${exampleOf(row) ? "qkv-second" : ""} ${row === nudged ? "qkv-nudged" : ""}`,
    content: String(100 * exampleOf(row) + 10 * token + feature).padStart(2, "0"),
  };
}

function merged(route, b, state) {
  const moves = through(route, state)
    .moves.slice(b * TOKENS, (b + 1) * TOKENS)
    .flat();
  const cells = (wanted, outline) =>
    moves
      .map((moved, i) => (moved > NOTHING === wanted ? outline(i % FEATURES, Math.floor(i / FEATURES)) : ""))
      .join("");
  return html`<svg viewBox="0 0 ${FEATURES + 7 * GAP} ${TOKENS}" preserveAspectRatio="none">
    <path class="qkv-still" d=${cells(false, CELL)} /><path class="qkv-dots" d=${cells(false, DOT)} />
    <path class="qkv-moved" d=${cells(true, CELL)} /><path class="qkv-deltas" d=${cells(true, DELTA)} />
  </svg>`;
}

// Outlines in a cell whose upper left corner is x, y. A path for all cells of a kind: an element for each would be slow.
const CELL = (x, y) => `M${x} ${y}h.96v.96h-.96z`;
const DELTA = (x, y) => `M${x + 0.33} ${y + 0.7}h.32L${x + 0.49} ${y + 0.26}z`;
const DOT = (x, y) => `M${x + 0.48} ${y + 0.48}h0`;

const entry = ({ kind, content }) => html`<span class="qkv-entry ${kind}">${content}</span>`;

function numbers(state) {
  const ways = ["right", state.wrong];
  const [right, wrong] = ways.map((route) => outputs(state, route));
  const [inRight, inWrong] = ways.map((route) => through(route, state).entries);
  const tokensIn = (entries, b, h) =>
    [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => SPOKEN[Math.floor(e.from / FEATURES)]))].join(
      ", ",
    );
  const heads = shown(state).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
  return [
    {
      caption: `By how much each output moves when ${SPOKEN[state.nudged]} is nudged`,
      head: ["output", "should move", "right way", "wrong way"],
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
      rows: heads.map(([b, h]) => [`${b}, ${h}`, tokensIn(inRight, b, h), tokensIn(inWrong, b, h)]),
    },
  ];
}

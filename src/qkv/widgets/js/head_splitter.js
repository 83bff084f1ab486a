import { live } from "lit-html/directives/live.js";
import { html, num, powersOfTwo, select, stepSlider, tables, toggle, widget } from "./base.js";
import { headEntries, nudgeExperiment } from "./maths.js";

const EXAMPLES = [
  ["中和", "有", "一個", "永和路"],
  ["I", "saw", "a", "saw"],
];
const [BATCH, TOKENS, FEATURES] = [2, 4, 8];
const NAMES = EXAMPLES.flat();
const range = (count) => Array.from({ length: count }, (_, i) => i);
const HEADS = html`heads, <var>H</var>`;

const WRONG = [
  { value: "reshape both ways", label: "A: reshape in and out" },
  { value: "reshape in", label: "B: reshape in, right way out" },
  { value: "reshape out", label: "C: right way in, reshape out" },
  { value: "heads first", label: "D: reshape to (H, B, n, d_head)" },
];
const titleOf = (route) =>
  route === "right" ? "right: name the axes, then transpose" : WRONG.find(({ value }) => value === route).label;

export default widget("HeadSplitter", {
  says: (state) => verdict(state, state.wrong),
  view: (state, set, id) => html`
    ${controls(state, set)}
    ${input(state, set, id)}
    <div class="qkv-lanes">${lane(state, "right")} ${lane(state, state.wrong)}</div>
    <p class="qkv-note">Entry 12 is feature 2 of token 1. A nudge adds 1 to every feature of one token; Δ marks an output that it moved,
      and beside each row stands by how much. Numbers and projections are random.</p>
    ${numbers(state)}`,
});

const controls = ({ n_heads, wrong, causal }, set) => html`<div class="qkv-controls">
  ${stepSlider({ label: HEADS, value: n_heads, values: powersOfTwo(3), onInput: (value) => set({ n_heads: value }) })}
  ${select({ label: "the wrong way shown", value: wrong, options: WRONG, onChange: (value) => set({ wrong: value }) })}
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
    1,
    (b) =>
      range(TOKENS * FEATURES).map((place) =>
        source(TOKENS * FEATURES * b + place, place % FEATURES, Math.floor(place / FEATURES), 0, state),
      ),
    (b) => range(TOKENS).map((row) => ({ name: nudge(TOKENS * b + row, state, set, id), end: "" })),
  )}
</fieldset>`;

const nudge = (row, { nudged }, set, id) => html`<label>
  <input type="radio" name="${id}-nudged" .checked=${live(row === nudged)} @change=${() => set({ nudged: row })}>
  ${NAMES[row]}
</label>`;

const shape = ({ n_heads, causal, nudged }) => ({
  ...{ batch: BATCH, tokens: TOKENS, features: FEATURES },
  ...{ heads: n_heads, causal, nudged },
});

const exampleOf = (row) => Math.floor(row / TOKENS);

/** By how much each output row moves, beside what it should do. */
function outputs(state, route) {
  const moves = nudgeExperiment(route, shape(state)).map((row) => Math.max(...row));
  return moves.map((moved, row) => ({
    ...{ row, moved, hears: moved > 1e-9 },
    should: exampleOf(row) === exampleOf(state.nudged) && (!state.causal || row >= state.nudged),
  }));
}

const nameOf = (row) => (row === 7 ? "saw (the last)" : row === 5 ? "saw (the first)" : NAMES[row]);
const listOf = (found) => found.map(({ row }) => nameOf(row)).join(", ");

/** What the nudge found, in a sentence. */
function verdict(state, route) {
  const found = outputs(state, route);
  const deaf = found.filter(({ should, hears }) => should && !hears);
  const leaks = found.filter(({ should, hears }) => hears && !should);
  const [due, heard] = [found.filter((o) => o.should), found.filter((o) => o.should && o.hears)];
  return [
    `${heard.length} of ${due.length} outputs that should hear ${nameOf(state.nudged)} do.`,
    deaf.length ? `Deaf: ${listOf(deaf)}.` : "",
    leaks.length ? `Heard where it must not be: ${listOf(leaks)}.` : "",
  ].join(" ");
}

/** One way into heads and back: what the heads hold, and which outputs moved. */
function lane(state, route) {
  const entries = headEntries(route, shape(state));
  const found = outputs(state, route);
  const wrong = found.some(({ should, hears }) => should !== hears);
  return html`<section class="qkv-lane" aria-label=${titleOf(route)}>
    <p class="qkv-lane-name">${titleOf(route)}</p>
    <p class="qkv-label">${state.n_heads === 1 ? "one head" : `${state.n_heads} heads`}: what each takes for rows 0 to 3</p>
    ${sheets(state, state.n_heads, (b) => inHeads(entries, b, state), headRows)}
    <p class="qkv-label">merged: the outputs that moved</p>
    ${sheets(
      state,
      1,
      (b) => merged(route, b, state),
      (b) => outputRows(found, b),
    )}
    <p class="qkv-verdict" data-number=${route === "right" ? "right" : "wrong"} data-wrong=${wrong}>${verdict(state, route)}</p>
  </section>`;
}

/** The second example is shown where something can happen to it. */
const shown = ({ wrong, nudged }) => (wrong === "heads first" || nudged >= TOKENS ? [0, 1] : [0]);

/** Entries that glide to their places, with a label before each row and a remark after it. */
const sheets = (state, heads, entriesOf, rowsOf) => html`<div class="qkv-sheets" style="--heads: ${heads}">
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
  return here.map(({ h, row, column, from }) => source(from, (h * FEATURES) / state.n_heads + column, row, h, state));
}

/** An entry of the input: 100 · example + 10 · token + feature, shaded by its token. */
function source(from, x, y, head, { nudged }) {
  const [row, feature] = [Math.floor(from / FEATURES), from % FEATURES];
  const token = row % TOKENS;
  const kind = `qkv-token-${token} ${exampleOf(row) ? "qkv-second" : ""} ${row === nudged ? "qkv-nudged" : ""}`;
  return entry(kind, x, y, head, String(100 * exampleOf(row) + 10 * token + feature).padStart(2, "0"));
}

function merged(route, b, state) {
  const moves = nudgeExperiment(route, shape(state)).slice(b * TOKENS, (b + 1) * TOKENS);
  return moves.flatMap((row, y) =>
    row.map((moved, x) => (moved > 1e-9 ? entry("qkv-moved", x, y, 0, "Δ") : entry("qkv-still", x, y, 0, "·"))),
  );
}

const entry = (kind, x, y, head, content) =>
  html`<span class="qkv-entry ${kind}" style="--x: ${x}; --y: ${y}; --head: ${head}">${content}</span>`;

function numbers(state) {
  const ways = ["right", state.wrong];
  const [right, wrong] = ways.map((route) => outputs(state, route));
  const [inRight, inWrong] = ways.map((route) => headEntries(route, shape(state)));
  const tokensIn = (entries, b, h) =>
    [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => nameOf(Math.floor(e.from / FEATURES))))].join(
      ", ",
    );
  const heads = shown(state).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
  return tables([
    {
      caption: `By how much each output moves when ${nameOf(state.nudged)} is nudged`,
      head: ["output", "should move", "right way", "wrong way"],
      rows: right.map(({ row, moved, should }) => [
        nameOf(row),
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
  ]);
}

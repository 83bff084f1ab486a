import { live } from "lit-html/directives/live.js";
import { choices, html, num, powersOfTwo, stepSlider, tables, toggle, widget } from "./base.js";
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
const range = (count) => Array.from({ length: count }, (_, i) => i);
const NOTHING = 1e-9;
const GAP = 0.09; // between heads, in widths of an entry; the style keeps room for those of eight heads
const HEADS = html`heads, <var>H</var>`;

const WRONG = [
  { value: "reshape both ways", label: "reshape both ways" },
  { value: "reshape in", label: "reshape in only" },
  { value: "reshape out", label: "reshape out only" },
  { value: "heads first", label: "heads, then batch" },
];
const titleOf = (route) => (route === "right" ? "transpose" : WRONG.find(({ value }) => value === route).label);

export default widget("HeadSplitter", {
  own: { memo: {}, gliding: false },
  says: (state) => verdict(state, state.wrong),
  view: (state, set, id) => html`
    ${controls(state, set, id)}
    <div class="qkv-split ${state.gliding ? "qkv-gliding" : ""}" @click=${nudgeAt(set)}>
      <p class="qkv-label">${state.n_heads === 1 ? "one head" : `${state.n_heads} heads`}: press a row to nudge its token</p>
      ${tokens(state, set, id)} ${heads(state, "right")} ${heads(state, state.wrong)}
      <p class="qkv-label">merged: the outputs that moved (Δ)</p>
      ${names((row) => html`<span>${NAMES[row]}</span>`)} ${merged(state, "right")} ${merged(state, state.wrong)}
    </div>
    ${said(state, "right")} ${said(state, state.wrong)}
    <p class="qkv-note qkv-key-to-entries">A digit is a token, from 0<span>; the second is the feature</span>. A nudge adds 1.</p>
    ${tables(() => numbers(state))}`,
});

const controls = ({ n_heads, wrong, causal }, set, id) => html`<div class="qkv-split-controls">
  <div>
    ${stepSlider({ label: HEADS, value: n_heads, values: powersOfTwo(3), onInput: (value) => set({ n_heads: value, gliding: false }) })}
    ${toggle({
      label: html`causal<span class="qkv-unseen">: rows of a head see only themselves and the rows above</span>`,
      checked: causal,
      onChange: (value) => set({ causal: value }),
    })}
  </div>
  ${choices({
    label: "the wrong way shown",
    name: `${id}-wrong`,
    value: wrong,
    options: WRONG,
    onChange: (value) => set({ wrong: value, gliding: true }),
  })}
</div>`;

/** A press on any entry nudges the token that it comes from. */
const nudgeAt =
  (set) =>
  ({ target }) => {
    const entry = target.closest("[data-token]");
    if (entry) set({ nudged: Number(entry.dataset.token) });
  };

/** Both examples, one below the other, so that no way that mixes them needs more room than another. */
const names = (nameOf) =>
  html`<div class="qkv-split-names">${range(BATCH).map(
    (b) => html`<div>${range(TOKENS).map((row) => nameOf(TOKENS * b + row))}</div>`,
  )}</div>`;

const tokens = ({ nudged }, set, id) => html`<fieldset class="qkv-control">
  <legend class="qkv-unseen">nudge one token</legend>
  ${names(
    (row) => html`<label>
      <input type="radio" name="${id}-nudged" .checked=${live(row === nudged)} @change=${() => set({ nudged: row })}>
      ${NAMES[row]}${GLOSSES[row] ? html` <small>${GLOSSES[row]}</small>` : ""}
    </label>`,
  )}
</fieldset>`;

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

/** What the heads hold on one way. */
const heads = (state, route) => html`<div class="qkv-lane" role="group" aria-label="heads, ${titleOf(route)}">
  <p>${titleOf(route)}</p>
  ${range(BATCH).map((b) => html`<div class="qkv-entries">${inHeads(through(route, state).entries, b, state)}</div>`)}
</div>`;

/** Which outputs moved on one way, and whether they should have. */
const merged = (state, route) => html`<div class="qkv-lane" role="group" aria-label="outputs, ${titleOf(route)}">
  ${range(BATCH).map(
    (b) => html`<div class="qkv-outputs">
      <div class="qkv-entries" aria-hidden="true">${movedEntries(state, route, b)}</div>
      <div>${outputs(state, route)
        .slice(b * TOKENS, (b + 1) * TOKENS)
        .map(
          ({ moved, should, hears }) =>
            html`<span><small>${num(moved, { places: 2 })} </small>${should === hears ? "✓" : "✗"}</span>`,
        )}</div>
    </div>`,
  )}
</div>`;

function said(state, route) {
  const wrong = outputs(state, route).some(({ should, hears }) => should !== hears);
  return html`<p class="qkv-verdict" data-number=${route === "right" ? "right" : "wrong"} data-wrong=${wrong}>
    <b>${titleOf(route)}:</b> ${verdict(state, route)}
  </p>`;
}

/** The entries that heads of example b hold, in the order of the sheet, so that each keeps its element and glides. */
function inHeads(entries, b, state) {
  const here = entries.filter((entry) => entry.b === b).sort((one, other) => one.from - other.from);
  return here.map(({ h, row, column, from }) => {
    const x = (h * FEATURES) / state.n_heads + column + h * GAP;
    return html`<span class="qkv-seat" style="transform: translate(${100 * x}%, ${100 * row}%)">${entry(source(from, state))}</span>`;
  });
}

/** An entry of the input, shaded by its token; those of the second example are hatched. */
function source(from, { nudged }) {
  const [row, feature] = [Math.floor(from / FEATURES), from % FEATURES];
  const token = row % TOKENS;
  return {
    row,
    kind: `qkv-token-${token} ${exampleOf(row) ? "qkv-second" : ""} ${row === nudged ? "qkv-nudged" : ""}`,
    token,
    feature,
  };
}

function movedEntries(state, route, b) {
  const moves = through(route, state)
    .moves.slice(b * TOKENS, (b + 1) * TOKENS)
    .flat();
  const cells = (wanted, outline) =>
    moves
      .map((moved, i) => (moved > NOTHING === wanted ? outline(i % FEATURES, Math.floor(i / FEATURES)) : ""))
      .join("");
  return html`<svg viewBox="0 0 ${FEATURES} ${TOKENS}" preserveAspectRatio="none">
    <path class="qkv-still" d=${cells(false, CELL)} /><path class="qkv-dots" d=${cells(false, DOT)} />
    <path class="qkv-moved" d=${cells(true, CELL)} /><path class="qkv-deltas" d=${cells(true, DELTA)} />
  </svg>`;
}

// Outlines in a cell whose upper left corner is x, y. A path for all cells of a kind: an element for each would be slow.
const CELL = (x, y) => `M${x} ${y}h.96v.96h-.96z`;
const DELTA = (x, y) => `M${x + 0.33} ${y + 0.7}h.32L${x + 0.49} ${y + 0.26}z`;
const DOT = (x, y) => `M${x + 0.48} ${y + 0.48}h0`;

const entry = ({ kind, row, token, feature }) =>
  html`<span class="qkv-entry ${kind}" data-token=${row} data-feature=${feature}>${token}</span>`;

function numbers(state) {
  const ways = ["right", state.wrong];
  const [right, wrong] = ways.map((route) => outputs(state, route));
  const [inRight, inWrong] = ways.map((route) => through(route, state).entries);
  const tokensIn = (entries, b, h) =>
    [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => SPOKEN[Math.floor(e.from / FEATURES)]))].join(
      ", ",
    );
  const everyHead = range(BATCH).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
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
      rows: everyHead.map(([b, h]) => [`${b}, ${h}`, tokensIn(inRight, b, h), tokensIn(inWrong, b, h)]),
    },
  ];
}

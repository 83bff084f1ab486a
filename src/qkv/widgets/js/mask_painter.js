import { guard } from "lit-html/directives/guard.js";
import { live } from "lit-html/directives/live.js";
import { button, choices, html, nothing, num, slider, tables, widget } from "./base.js";
import { maskedWeights, presetMask, softmax, sum } from "./maths.js";

const PRESETS = [
  { value: "causal", label: "causal" },
  { value: "padding", label: "padding" },
  { value: "window", label: "window" },
  { value: "all", label: "everything" },
  { value: "top-left", label: "causal, lined up at the start" },
];
const METHODS = [
  { value: "−∞", label: "−∞" },
  { value: "−1e9", label: "−1e9" },
  { value: "0", label: "0" },
  { value: "after", label: "anything: its weight becomes 0" },
];

const IT = 5; // the query that the chapter asks about: the summary is about it until another row is chosen or painted

/** @typedef {{ start: HTMLElement, shown: boolean, moved: boolean, met: Set<HTMLElement> }} Stroke */
/** @typedef {{ preset: string, queries: number, window: number, real: number, flipped: number[], method: string,
 *   scores: number[][], tokens: string[], stroke: { paint: Stroke | null }, told: number }} State */

export default widget("MaskPainter", {
  own: { stroke: { paint: null }, told: IT },
  says: (/** @type {State} */ state) => summary(table(state), state),
  view: (state, set, id) => {
    const rows = table(state);
    return html`
      <div class="qkv-mask-lab">
        <div>${painting(state, set)} ${grid(rows, state, set)}</div>
        <div>
          <p class="qkv-mask-summary" data-number="summary">${summary(rows, state)}</p>
          ${controls(state, set, id)}
          <p class="qkv-note">Queries down, keys across. With the keyboard, use the arrow keys and the space bar.</p>
        </div>
      </div>
      ${tables(() => [numbers(rows, state)])}`;
  },
});

/** Return for each of the last queries its mask, its weights, and the factor by which the mask makes them grow. */
function table(state, queries = state.queries) {
  const n = state.tokens.length;
  const first = n - queries;
  return presetMask(state.preset, { queries, window: state.window, real: state.real, tokens: n }).map((preset, row) => {
    const query = first + row;
    const mask = preset.map((may, key) => may !== state.flipped.includes(n * query + key));
    const free = softmax(state.scores[query]);
    const weights = maskedWeights(state.scores[query], mask, state.method);
    const inSight = sum(free.filter((_, key) => mask[key]));
    return { query, mask, weights, total: sum(weights), growth: 1 / inSight };
  });
}

const english = (token) => token.split(" ").at(-1);
const spoken = (token) => token.replace(/ (.+)/, " ($1)");

/** Return the line above the mask: how to paint it, and a button that undoes all painting. */
const painting = ({ flipped }, set) => html`<div class="qkv-mask-painting">
  <p class="qkv-note">Press a cell, drag over several, or press a row's name.</p>
  ${button({ label: "undo painting", disabled: flipped.length === 0, onClick: () => set({ flipped: [] }) })}
</div>`;

function controls(state, set, id) {
  const { preset, method, queries, window, real, tokens } = state;
  const n = tokens.length;
  return html`<div class="qkv-mask-controls">
    ${choices({
      label: "start from this mask",
      name: `${id}-preset`,
      value: isPainted(state) ? undefined : preset,
      options: PRESETS,
      onChange: (value) => set({ preset: value, flipped: [] }),
    })}
    <div>
      ${slider({ label: "last queries", value: queries, min: 1, max: n, onInput: (value) => set({ queries: value }) })}
      ${preset === "window" ? slider({ label: "window", value: window, min: 1, max: n, onInput: (value) => set({ window: value }) }) : nothing}
      ${preset === "padding" ? slider({ label: "real tokens", value: real, min: 1, max: n, onInput: (value) => set({ real: value }) }) : nothing}
    </div>
    ${choices({
      label: "a hidden score becomes",
      name: `${id}-method`,
      value: method,
      options: METHODS,
      onChange: (value) => set({ method: value }),
    })}
  </div>`;
}

/** Check whether a cell of the mask in sight has been painted. */
const isPainted = ({ flipped, queries, tokens: { length: n } }) => flipped.some((cell) => cell >= n * (n - queries));

/** Return the mask as a table. Queries that are not asked have hidden rows, because adding rows, or laying the table
 * out again, takes long. */
const grid = (rows, state, set) => html`<table class="qkv-mask"
  @keydown=${walk} @pointerdown=${(event) => begin(event, state)} @pointermove=${(event) => drag(event, state, set)}
  @click=${(event) => endOfStroke(event, state)}>
  <colgroup><col class="qkv-names"><col span=${state.tokens.length}><col></colgroup>
  <thead style="--skipped: ${rows[0].query}"><tr>
    <td>${unasked(rows, state)}</td>
    ${state.tokens.map((token) => html`<th scope="col">${name(token)}</th>`)}
    <th scope="col">sum${grows(state) ? html`<small>growth</small>` : nothing}</th>
  </tr></thead>
  <tbody>${everyRow(rows, state).map(
    (row) =>
      html`<tr class=${isSkipped(row, state) ? "qkv-skipped" : ""} aria-hidden=${isSkipped(row, state)}>${guardedCells(row, row === summaryRow(rows, state), state, set)}</tr>`,
  )}</tbody>
</table>`;

/** Return the names of the queries that are not asked, for the place of their rows. */
const unasked = ([{ query }], { tokens }) =>
  html`<span class="qkv-unasked">not asked: ${tokens.slice(0, query).map(english).join(", ")}</span>`;

/** Return a row for every query: hidden rows as if all queries were asked, then the rows in sight. */
const everyRow = (rows, state) => [...table(state, state.tokens.length).slice(0, rows[0].query), ...rows];

/** Return the cells of a row, which are drawn again only when one of them changes. */
const guardedCells = (row, isTold, state, set) =>
  guard([...row.mask, ...row.weights, state.method, state.tokens, isSkipped(row, state), isTold], () =>
    cells(row, isTold, state, set),
  );

const isSkipped = ({ query }, { tokens, queries }) => query < tokens.length - queries;

const cells = (row, isTold, state, set) => html`<th scope="row">
    <button type="button" aria-pressed=${isTold} ?disabled=${isSkipped(row, state)} @click=${() => set({ told: row.query })}>${name(state.tokens[row.query])}</button>
  </th>
  ${row.weights.map((weight, key) => cell(row, key, weight, state, set))}
  <td class="qkv-mask-end">${rowEnd(row, state)}</td>`;

/** Return the word, with its English gloss below it; a comma needs no gloss. */
function name(token) {
  const [word, gloss] = token.split(" ");
  return html`${word}${gloss && /\p{L}/u.test(word) ? html`<small>${gloss}</small>` : nothing}`;
}

function cell({ query, mask }, key, weight, state, set) {
  const { tokens } = state;
  const leak = !mask[key] && weight > 0;
  const kind = `qkv-heat ${mask[key] ? "" : "qkv-hidden"} ${leak ? "qkv-leak" : ""}`;
  const index = tokens.length * query + key;
  return html`<td><label data-cell=${index}>
    <input class="qkv-over" type="checkbox" .checked=${live(mask[key])} ?disabled=${isSkipped({ query }, state)} aria-label="${english(tokens[query])} may attend to ${english(tokens[key])}"
      @change=${() => set({ flipped: toggled(state.flipped, index), told: query })}>
    <span class=${kind} style="--qkv-p: ${weight || 0}">${Number.isNaN(weight) ? "NaN" : num(weight, { places: 2 })}</span>
  </label></td>`;
}

const toggled = (flipped, index) =>
  flipped.includes(index) ? flipped.filter((other) => other !== index) : [...flipped, index];

/** Check whether the method makes the weights in sight grow. */
const grows = ({ method }) => method === "−∞" || method === "−1e9";

const factor = (growth) => `×${num(growth, { places: growth < 9.995 ? 2 : 1 })}`;

function rowEnd({ total, growth }, state) {
  const text = Number.isNaN(total) ? "NaN" : num(total, { places: 2 });
  return html`<b data-wrong=${!(Math.abs(total - 1) < 1e-9)}>${text}</b>
    ${grows(state) && Number.isFinite(growth) ? html`<small>${factor(growth)}</small>` : nothing}`;
}

const numbers = (rows, { tokens }) => ({
  caption: "Weights, queries down and keys across; hidden keys in brackets",
  head: ["query", ...tokens.map(english), "sum"],
  rows: rows.map(({ query, mask, weights, total }) => [
    english(tokens[query]),
    ...weights.map((weight, key) => (mask[key] ? num(weight) : `(${num(weight)})`)),
    num(total, { places: 2 }),
  ]),
});

/** Return the row that the summary is about: the one that the reader chose or painted last, or the last row. */
const summaryRow = (rows, { told }) => rows.find(({ query }) => query === told) ?? rows.at(-1);

/** Return the sentences about what is wrong with the weights, and about one row. */
function summary(rows, state) {
  const { tokens, preset } = state;
  const names = (found) => found.map(({ query }) => english(tokens[query])).join(", ");
  const empty = rows.filter(({ mask }) => !mask.includes(true));
  const leaking = rows.filter((row) => leaks(row).length);
  const short = rows.filter(({ total }) => Math.abs(total - 1) > 1e-9);
  const keys = tokens.filter((_, key) => leaking.some((row) => leaks(row).includes(key))).map(english);
  const shown = [
    preset === "top-left" ? "The first query counts as token 0." : "",
    empty.length ? `Rows with no key in sight: ${names(empty)}.` : "",
    empty.some(({ total }) => Number.isNaN(total)) ? "There the softmax divides 0 by 0." : "",
    leaking.length ? `Hidden keys that get weight: ${keys.join(", ")}.` : "",
    short.length ? `Rows that do not sum to 1: ${names(short)}.` : "",
    !empty.length && !leaking.length && !short.length ? "Hidden keys get nothing and every row sums to 1." : "",
    ofRow(summaryRow(rows, state), state),
  ];
  return shown.filter(Boolean).join(" ");
}

/** Return the hidden keys to which a query gives weight. */
const leaks = ({ mask, weights }) => weights.flatMap((weight, key) => (weight > 0 && !mask[key] ? [key] : []));

function ofRow({ query, mask, weights, growth }, state) {
  const { tokens } = state;
  const seen = mask.filter(Boolean).length;
  if (!seen) return "";
  const top = weights.indexOf(Math.max(...weights));
  const grown = grows(state) ? ` Its weights in sight grow ${factor(growth)}.` : "";
  return `${spoken(tokens[query])} sees ${seen} of ${tokens.length} keys, and looks most at ${spoken(tokens[top])}: ${num(weights[top], { places: 2 })}.${grown}`;
}

/** Move the focus with an arrow key: from cell to cell, and to the rows' names. */
function walk(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (!step) return;
  event.preventDefault();
  const cellNow = event.target.closest("th, td");
  const row = cellNow.parentElement.parentElement.rows[cellNow.parentElement.rowIndex - 1 + step[0]];
  row?.cells[cellNow.cellIndex + step[1]]?.querySelector("input, button")?.focus();
}

/** Begin a stroke at a press on a cell. The stroke gives every cell on its way the same new state. */
function begin(event, { stroke }) {
  const start = event.target.closest("[data-cell]");
  stroke.paint = start && { start, shown: !start.querySelector("input").checked, moved: false, met: new Set() };
}

function drag(event, state, set) {
  const { paint } = state.stroke;
  if (!paint || event.buttons !== 1) return;
  const under = /** @type {HTMLElement | null | undefined} */ (
    document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-cell]")
  );
  if (!under || !event.currentTarget.contains(under) || (under === paint.start && !paint.moved)) return;
  paint.moved = true;
  // Each cell is read once in a stroke, for it may still show the state before it was painted.
  const fresh = [...new Set([paint.start, under])].filter((cell) => !paint.met.has(cell));
  const cells = fresh.filter((cell) => cell.querySelector("input").checked !== paint.shown);
  for (const cell of fresh) paint.met.add(cell);
  const flipped = cells.reduce((list, cell) => toggled(list, Number(cell.dataset.cell)), state.flipped);
  const told = Math.floor(Number(under.dataset.cell) / state.tokens.length);
  if (cells.length) set({ flipped, told });
}

/** Suppress the click at the end of a stroke. A click with the keyboard (detail 0) stays. */
function endOfStroke(event, { stroke }) {
  if (stroke.paint?.moved && event.detail > 0 && event.target.closest("[data-cell]")) event.preventDefault();
}

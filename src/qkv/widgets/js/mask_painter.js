import { guard } from "lit-html/directives/guard.js";
import { live } from "lit-html/directives/live.js";
import { button, dragged, html, nothing, num, slider, t, tables, widget } from "./base.js";
import { maskedWeights, presetMask, softmax, sum } from "./maths.js";

/** @import { SetState } from "./base.js" */
/** @typedef {{ start: HTMLElement, shown: boolean, moved: boolean, met: Set<HTMLElement> }} Stroke */
/** @typedef {{ preset: string, queries: number, window: number, real: number, flipped: number[], method: string,
 *   scores: number[][], tokens: string[], stroke: { paint: Stroke | null }, told: number, spilled: number }} State */
/** @typedef {ReturnType<typeof table>[number]} Row */
/** @typedef {{ value: string, label: () => string, note: (state: State) => string }} Option */

/** @type {Option[]} */
const PRESETS = [
  { value: "causal", label: () => t`causal`, note: () => t`No word sees a later one.` },
  {
    value: "padding",
    label: () => t`padding`,
    note: ({ real }) => t`Words after the first ${real} are filling: drag the edge.`,
  },
  {
    value: "window",
    label: () => t`window`,
    note: ({ window }) => t`Each word sees the last ${window}, itself included.`,
  },
  { value: "all", label: () => t`none`, note: () => t`Every word sees every word.` },
  { value: "top-left", label: () => t`top-left`, note: () => t`Fewer look: the first row counts as word 1.` },
];
/** @type {Option[]} */
const METHODS = [
  { value: "−∞", label: () => t`score −∞`, note: () => t`Right: e to the power −∞ is 0.` },
  { value: "−1e9", label: () => t`score −1e9`, note: () => t`Like −∞, unless a row sees no word.` },
  { value: "0", label: () => t`score 0`, note: () => t`Wrong: e to the power 0 is 1, not 0.` },
  { value: "after", label: () => t`weight 0`, note: () => t`Wrong: too late, the softmax is done.` },
];

const IT = 5; // the query that the chapter asks about: the sentence is about it until another row is chosen or painted

export default widget("MaskPainter", {
  // `told` is the query that the sentence is about, and `spilled` the cell that was painted last.
  own: { stroke: { paint: null }, told: IT, spilled: -1 },
  says: (/** @type {State} */ state) => {
    const rows = table(state);
    const { sight, effect } = ofRow(toldRow(rows, state), state);
    return [sight, effect, ...faults(rows, state)].join(" ");
  },
  view: (state, set, id) => {
    const rows = table(state);
    const told = toldRow(rows, state);
    const { sight, effect, wrong } = ofRow(told, state);
    return html`
      <div class="qkv-mask-lab">
        <div>${starts(state, set, id)} ${grid(rows, told, state, set)}</div>
        <div class="qkv-mask-beside">
          <p class="qkv-mask-summary" data-number="summary">${sight} <span class=${wrong ? "qkv-error" : ""}>${effect}</span></p>
          ${painting(state, set)}
          <p class="qkv-note qkv-mask-keys">${t`With the keyboard, use the arrow keys and the space bar.`}</p>
          ${more(state, set, id)}
        </div>
      </div>
      ${tables(() => [numbers(rows, state)])}`;
  },
});

/** Return for each of the last queries its mask, its weights, and the factor by which the mask makes them grow.
 * @param {State} state */
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

const listed = (/** @type {string[]} */ tokens) => tokens.map(english).join(t`, `);
const english = (/** @type {string} */ token) => /** @type {string} */ (token.split(" ").at(-1));

/** Return the line below the mask: how to paint it, the legend, and a button that undoes all painting.
 * @param {Pick<State, "flipped">} parts
 * @param {SetState<State>} set */
const painting = ({ flipped }, set) => html`<div class="qkv-mask-painting">
  <p class="qkv-note">${t`Press a cell, or drag:`} <span><i class="qkv-hidden"></i> ${t`hidden`}</span> <span><i class="qkv-heat" style="--qkv-p: 0.5"></i> ${t`seen`}</span></p>
  ${button({ label: t`undo painting`, disabled: flipped.length === 0, onClick: () => set({ flipped: [] }) })}
</div>`;

/** Return the masks to start from, above the grid.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const starts = (state, set, id) =>
  picks({
    label: html`<span class="qkv-unseen">${t`start from this mask`}</span>`,
    name: `${id}-preset`,
    value: isPainted(state) ? undefined : state.preset,
    options: PRESETS,
    state,
    onChange: (value) => set({ preset: value, flipped: [], queries: queriesFor(value, state) }),
  });

const FEWER = 4; // queries

/** Return how many queries look when another mask is chosen. If all did, "top-left" would be "causal": fewer do.
 * @param {string} chosen
 * @param {State} state */
function queriesFor(chosen, { preset, queries, tokens }) {
  if (chosen === "top-left") return Math.min(queries, FEWER);
  return preset === "top-left" ? tokens.length : queries;
}

/** Return what is set now and then, folded away.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function more(state, set, id) {
  const { preset, method, queries, window, real, tokens } = state;
  const n = tokens.length;
  return html`<details class="qkv-tables qkv-mask-more">
    <summary>${t`Who looks, and how a word is hidden`}</summary>
    <div class="qkv-mask-sliders">
      ${slider({ label: t`who looks`, value: queries, min: 1, max: n, text: queries === n ? t`all ${n}` : t`last ${queries}`, onInput: (value) => set({ queries: value }) })}
      ${preset === "window" ? slider({ label: t`words in sight`, value: window, min: 1, max: n, onInput: (value) => set({ window: value }) }) : nothing}
      ${preset === "padding" ? slider({ label: t`real words`, value: real, min: 1, max: n, onInput: (value) => set({ real: value }) }) : nothing}
    </div>
    ${picks({
      label: t`to hide a word, make its`,
      name: `${id}-method`,
      value: method,
      options: METHODS,
      state,
      onChange: (value) => set({ method: value }),
    })}
  </details>`;
}

/** Return radio buttons as a row of words in boxes, and below it what the chosen one means.
 * @param {{ label: unknown, name: string, value: string | undefined, options: Option[], state: State,
 *   onChange: (value: string) => void }} parts */
const picks = ({ label, name, value, options, state, onChange }) => html`<fieldset class="qkv-control qkv-mask-picks">
  <legend class="qkv-label">${label}</legend>
  <div>${options.map(
    (option) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name=${name} .checked=${live(option.value === value)} @change=${() => onChange(option.value)}>
      <span>${option.label()}</span>
    </label>`,
  )}</div>
  <p class="qkv-note">${options.find((option) => option.value === value)?.note(state) ?? t`Your own mask.`}</p>
</fieldset>`;

/** Check whether a cell of the mask in sight has been painted.
 * @param {State} parts */
const isPainted = ({ flipped, queries, tokens: { length: n } }) => flipped.some((cell) => cell >= n * (n - queries));

/** Return the mask as a table. Queries that are not asked have hidden rows, because adding rows, or laying the table
 * out again, takes long.
 * @param {Row[]} rows
 * @param {Row} told
 * @param {State} state
 * @param {SetState<State>} set */
const grid = (rows, told, state, set) => html`<table class="qkv-mask"
  @keydown=${walk} @pointerdown=${(/** @type {PointerEvent & { target: Element }} */ event) => begin(event, state)} @pointermove=${(/** @type {PointerEvent & { currentTarget: Element }} */ event) => drag(event, state, set)}
  @click=${(/** @type {MouseEvent & { target: Element }} */ event) => endOfStroke(event, state)}>
  <colgroup><col class="qkv-names"><col span=${state.tokens.length}><col></colgroup>
  <thead style="--skipped: ${rows[0].query}">
    <tr>
      <th class="qkv-mask-who" rowspan="2" scope="col">${t`query ↓`}</th>
      <th colspan=${state.tokens.length} scope="colgroup">${t`key →`}</th>
      <td>${unasked(rows, state)}</td>
    </tr>
    ${keyNames(state, set)}
  </thead>
  <tbody>${everyRow(rows, state).map(
    (row) =>
      html`<tr class=${rowClass(row, row === told, state)} aria-hidden=${isSkipped(row, state)}>${guardedCells(row, row === told, state, set)}</tr>`,
  )}</tbody>
</table>`;

/** Return the names of the keys, on two levels in turn: a column is narrower than a word. Of a padded sentence, a drag
 * moves the right edge of its real words.
 * @param {State} parts
 * @param {SetState<State>} set */
function keyNames({ preset, real, tokens }, set) {
  const grab = dragged(({ area, event: { clientX } }) => {
    const begun = [.../** @type {HTMLTableRowElement} */ (area).cells].slice(0, tokens.length);
    set({ real: Math.max(1, begun.filter((cell) => cell.getBoundingClientRect().left < clientX).length) });
  });
  const kind = (/** @type {number} */ i) => (i === real - 1 ? "qkv-real-end" : i < real ? "" : "qkv-filling");
  const isPadded = preset === "padding";
  return html`<tr class=${isPadded ? "qkv-drag" : ""} @pointerdown=${isPadded ? grab : nothing} @pointermove=${isPadded ? grab : nothing}>
    ${tokens.map((token, i) => html`<th scope="col" class=${isPadded ? kind(i) : ""}><span>${english(token)}</span></th>`)}<th scope="col">${t`sum`}</th>
  </tr>`;
}

/** Return the names of the queries that are not asked, for the place of their rows.
 * @param {Row[]} parts
 * @param {Pick<State, "tokens">} parts */
const unasked = ([{ query }], { tokens }) =>
  html`<span class="qkv-unasked">${t`Their rows were computed before, as with a KV cache: ${listed(tokens.slice(0, query))}.`}</span>`;

/** Return a row for every query: hidden rows as if all queries were asked, then the rows in sight.
 * @param {Row[]} rows
 * @param {State} state */
const everyRow = (rows, state) => [...table(state, state.tokens.length).slice(0, rows[0].query), ...rows];

const rowClass = (/** @type {Row} */ row, /** @type {boolean} */ isTold, /** @type {State} */ state) =>
  isTold ? "qkv-mask-told" : isSkipped(row, state) ? "qkv-skipped" : "";

/** Return the cells of a row, which are drawn again only when one of them changes.
 * @param {Row} row
 * @param {boolean} isTold
 * @param {State} state
 * @param {SetState<State>} set */
const guardedCells = (row, isTold, state, set) =>
  guard([...row.mask, ...row.weights, state.tokens, isSkipped(row, state), isTold, spilledIn(row, state)], () =>
    cells(row, isTold, state, set),
  );

/** Return the cell of a row that was painted last, or −1. */
const spilledIn = (
  /** @type {Row} */ { query },
  /** @type {Pick<State, "tokens" | "spilled">} */ { tokens, spilled },
) => (Math.floor(spilled / tokens.length) === query ? spilled : -1);

const isSkipped = (
  /** @type {Row} */ { query },
  /** @type {Pick<State, "tokens" | "queries">} */ { tokens, queries },
) => query < tokens.length - queries;

const cells = (
  /** @type {Row} */ row,
  /** @type {boolean} */ isTold,
  /** @type {State} */ state,
  /** @type {SetState<State>} */ set,
) => html`<th scope="row">
    <button type="button" aria-pressed=${isTold} ?disabled=${isSkipped(row, state)} @click=${() => set({ told: row.query })}>${name(state.tokens[row.query])}</button>
  </th>
  ${row.weights.map((_, key) => cell(row, key, state, set))}
  <td class="qkv-mask-end">${rowEnd(row)}</td>`;

/** Return a row's name: the English word, and the word itself below it, smaller.
 * @param {string} token */
function name(token) {
  const [word, gloss] = token.split(" ");
  return gloss ? html`<span>${gloss}</span><small>${word}</small>` : word;
}

/** @param {Row} row
 * @param {number} key
 * @param {State} state
 * @param {SetState<State>} set */
function cell(row, key, state, set) {
  const { tokens } = state;
  const { query } = row;
  const weight = row.weights[key];
  const kind = `qkv-heat ${row.mask[key] ? "" : "qkv-hidden"} ${leaks(row, key) ? "qkv-leak" : ""}`;
  const index = tokens.length * query + key;
  const spills = state.spilled === index && !row.mask[key];
  return html`<td><label data-cell=${index} class=${spills ? "qkv-spill" : ""}>
    <input class="qkv-over" type="checkbox" .checked=${live(row.mask[key])} ?disabled=${isSkipped(row, state)} aria-label=${t`${english(tokens[query])} may attend to ${english(tokens[key])}`}
      @change=${() => set({ flipped: toggled(state.flipped, index), told: query, spilled: index })}>
    <span class=${kind} style="--qkv-p: ${weight || 0}">${weight === 0 && !row.mask[key] ? "" : two(weight)}</span>
  </label></td>`;
}

const toggled = (/** @type {number[]} */ flipped, /** @type {number} */ index) =>
  flipped.includes(index) ? flipped.filter((other) => other !== index) : [...flipped, index];

/** Check whether a row of weights has the sum 1.
 * @param {Row} parts */
const sumsToOne = ({ total }) => Math.abs(total - 1) < 1e-9;

const rowEnd = (/** @type {Row} */ row) => html`<b data-wrong=${!sumsToOne(row)}>${two(row.total)}</b>
  ${sumsToOne(row) ? nothing : html`<small>${t`not 1`}</small>`}`;

const numbers = (/** @type {Row[]} */ rows, /** @type {Pick<State, "tokens">} */ { tokens }) => ({
  caption: t`Weights, queries down and keys across; hidden keys in brackets`,
  head: [t`query`, ...tokens.map(english), t`sum`],
  rows: rows.map(({ query, mask, weights, total }) => [
    english(tokens[query]),
    ...weights.map((weight, key) => (mask[key] ? num(weight) : `(${num(weight)})`)),
    num(total, { places: 2 }),
  ]),
});

/** Return the row that the sentence is about: the one that the reader chose or painted last, or the last row.
 * @param {Row[]} rows
 * @param {Pick<State, "told">} parts */
const toldRow = (rows, { told }) => rows.find(({ query }) => query === told) ?? rows[rows.length - 1];

/** Return the sentences about what is wrong in all rows.
 * @param {Row[]} rows
 * @param {Pick<State, "tokens">} parts */
function faults(rows, { tokens }) {
  const list = (/** @type {number[]} */ places) => listed(places.map((place) => tokens[place]));
  const rowsWhere = (/** @type {(row: Row) => boolean} */ test) => list(rows.filter(test).map(({ query }) => query));
  const empty = rowsWhere(({ mask }) => !mask.includes(true));
  const short = rowsWhere((row) => !sumsToOne(row));
  const leaking = list([...tokens.keys()].filter((key) => rows.some((row) => leaks(row, key))));
  return [
    empty && t`Rows with no key in sight: ${empty}.`,
    leaking && t`Hidden keys that get weight: ${leaking}.`,
    short && t`Rows that do not sum to 1: ${short}.`,
  ].filter(Boolean);
}

/** Check whether a query gives weight to a hidden key.
 * @param {Row} parts
 * @param {number} key */
const leaks = ({ mask, weights }, key) => weights[key] > 0 && !mask[key];

/** Return two sentences about a row: how many words it sees, and what that does to its weights.
 * @param {Row} row
 * @param {Pick<State, "tokens">} parts */
function ofRow(row, { tokens }) {
  const seen = row.mask.filter(Boolean).length;
  const leaked = sum(row.weights.filter((_, key) => leaks(row, key)));
  const [word, count] = [t`“${english(tokens[row.query])}”`, tokens.length];
  const sight = seen ? t`${word} sees ${seen} of ${count} words.` : t`${word} sees none of ${count} words.`;
  if (Number.isNaN(row.total)) return { sight, effect: t`The softmax divides 0 by 0: NaN.`, wrong: true };
  if (leaked) return { sight, effect: t`Hidden words still get ${two(leaked)} in all.`, wrong: true };
  if (!sumsToOne(row)) return { sight, effect: t`No weight grows: the sum is ${two(row.total)}.`, wrong: true };
  if (seen === count) return { sight, effect: t`Hide one: the other weights grow.`, wrong: false };
  const grown = factor(row.growth);
  const effect = seen === 1 ? t`Its weight grows ${grown}, to 1.` : t`Their weights grow ${grown} to sum to 1.`;
  return { sight, effect, wrong: false };
}

const two = (/** @type {number} */ value) => (Number.isNaN(value) ? "NaN" : num(value, { places: 2 }));
const factor = (/** @type {number} */ growth) => `×${num(growth, { places: growth < 9.995 ? 2 : 1 })}`;

/** Move the focus with an arrow key: from cell to cell, and to the rows' names.
 * @param {KeyboardEvent & { target: Element }} event */
function walk(event) {
  /** @type {Record<string, number[]>} */
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const step = steps[event.key];
  if (!step) return;
  event.preventDefault();
  const cellNow = /** @type {HTMLTableCellElement} */ (event.target.closest("th, td"));
  const rowNow = /** @type {HTMLTableRowElement} */ (cellNow.parentElement);
  const { rows } = /** @type {HTMLTableSectionElement} */ (rowNow.parentElement);
  const there = rows[rowNow.sectionRowIndex + step[0]]?.cells[cellNow.cellIndex + step[1]];
  /** @type {HTMLElement | null | undefined} */ (there?.querySelector("input, button"))?.focus();
}

/** Check whether a cell of the table shows that its key is seen.
 * @param {HTMLElement} cell */
const isShown = (cell) => /** @type {HTMLInputElement} */ (cell.querySelector("input")).checked;

/** Begin a stroke at a press on a cell. The stroke gives every cell on its way the same new state.
 * @param {PointerEvent & { target: Element }} event
 * @param {State} parts */
function begin(event, { stroke }) {
  const start = /** @type {HTMLElement | null} */ (event.target.closest("[data-cell]"));
  stroke.paint = start && { start, shown: !isShown(start), moved: false, met: new Set() };
}

/** Paint the cells that the stroke has come to.
 * @param {PointerEvent & { currentTarget: Element }} event
 * @param {State} state
 * @param {SetState<State>} set */
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
  const cells = fresh.filter((cell) => isShown(cell) !== paint.shown);
  for (const cell of fresh) paint.met.add(cell);
  const flipped = cells.reduce((list, cell) => toggled(list, Number(cell.dataset.cell)), state.flipped);
  const told = Math.floor(Number(under.dataset.cell) / state.tokens.length);
  if (cells.length) set({ flipped, told, spilled: Number(under.dataset.cell) });
}

/** Suppress the click at the end of a stroke. A click with the keyboard (detail 0) stays.
 * @param {MouseEvent & { target: Element }} event
 * @param {State} parts */
function endOfStroke(event, { stroke }) {
  if (stroke.paint?.moved && event.detail > 0 && event.target.closest("[data-cell]")) event.preventDefault();
}

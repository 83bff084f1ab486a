import { live } from "lit-html/directives/live.js";
import { dragged, html, nothing, t } from "./base.js";
import { isChecked, prediction, rich } from "./predicting.js";

/** @import { SetState } from "./base.js" */
/** @import { Typed } from "./controls.js" */
/** @import { Grip } from "./dragging.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {boolean[][]} Mask a row for each query, a column for each key */
/** @typedef {Asking & { rows: string[], columns: string[], answer: Mask, why: string, guess: Mask,
 *   draft: Mask | null, paint: boolean | null }} State */

export default prediction("PredictMask", {
  own: { paint: null },
  isRight: ({ answer }, guess) => differences(answer, guess) === 0,
  verdict: (/** @type {State} */ { answer, guess }) => {
    const wrong = differences(answer, guess);
    return wrong ? t`${wrong} of ${answer.flat().length} cells differ from the answer.` : t`That is right.`;
  },
  form: (state, _, set) => {
    const draw = isChecked(state) ? nothing : dragged((grip) => paint(state, set, grip));
    return html`<table class="qkv-painted qkv-drag" @pointerdown=${draw} @pointermove=${draw}>
      <thead><tr><td><span class="qkv-painted-who">${t`query`} ↓</span> <span class="qkv-painted-what">${t`key`} →</span></td>${state.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${state.rows.map(
        (name, row) =>
          html`<tr><th scope="row">${name}</th>${state.columns.map((_, column) => cell(state, set, row, column))}</tr>`,
      )}</tbody>
    </table>
    <p class="qkv-note">${isChecked(state) ? nothing : t`Drag over cells:`} ${legend()} ${isChecked(state) ? differs() : nothing}</p>`;
  },
  explained: ({ why }) => html`<p class="qkv-why">${rich(why)}</p>`,
});

const legend = () =>
  html`<span><i data-may="true"></i> ${t`seen`}</span> <span><i data-may="false"></i> ${t`hidden`}</span>`;
const differs = () => html`<span><i class="qkv-differs"><i data-may="true"></i></i> ${t`corner: yours`}</span>`;

/** Count the cells in which two masks differ.
 * @param {Mask} answer
 * @param {Mask} guess */
const differences = (answer, guess) => answer.flat().filter((may, i) => may !== guess.flat()[i]).length;

/** Return the reader's mask: the guess or the draft, at first an empty one.
 * @param {State} state
 * @returns {Mask} */
const maskOf = (state) =>
  isChecked(state) ? state.guess : (state.draft ?? state.answer.map((row) => row.map(() => false)));

/** Return a cell. Its colour is the reader's before the check and the answer after it, with the reader's in a corner if it
 * differs.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {number} row
 * @param {number} column */
const cell = (state, set, row, column) => {
  const mine = maskOf(state)[row][column];
  const may = isChecked(state) ? state.answer[row][column] : mine;
  const names = t`${state.rows[row]} may attend to ${state.columns[column]}`;
  return html`<td data-cell="${row} ${column}" data-may=${may} class=${may === mine ? "" : "qkv-differs"}>
    <input class="qkv-over qkv-keys" type="checkbox" .checked=${live(mine)} aria-label=${names}
      @change=${(/** @type {Typed} */ { target }) => set({ draft: changed(maskOf(state), row, column, target.checked) })}>
    ${may === mine ? nothing : html`<i data-may=${mine}></i><span class="qkv-unseen">${may ? t`The answer is yes.` : t`The answer is no.`}</span>`}
  </td>`;
};

/** Return a mask with another state of one cell.
 * @param {Mask} mask
 * @param {number} row
 * @param {number} column
 * @param {boolean} may */
const changed = (mask, row, column, may) =>
  mask.map((entries, i) => entries.map((entry, j) => (i === row && j === column ? may : entry)));

/** Paint with the pointer: a press changes its cell, and the rest of the stroke gives other cells the same state.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {Grip} grip */
function paint(state, set, { event, isPress }) {
  const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("td");
  const at = under?.dataset.cell;
  if (!at || !(/** @type {Element} */ (event.target).closest("table")?.contains(under))) return;
  const [row, column] = at.split(" ").map(Number);
  const mask = maskOf(state);
  const may = isPress ? !mask[row][column] : state.paint;
  if (may !== null && mask[row][column] !== may) set({ draft: changed(mask, row, column, may), paint: may });
}

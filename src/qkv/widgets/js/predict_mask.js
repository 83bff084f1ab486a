import { live } from "lit-html/directives/live.js";
import { html, nothing } from "./base.js";
import { asked, prediction, rich } from "./predicting.js";

/** @import { Asking } from "./predicting.js" */
/** @typedef {Asking & { rows: string[], columns: string[], answer: boolean[][], why: string, guess: boolean[][],
 *   mask: boolean[][] | null, paint: boolean | null }} State */

export default prediction("PredictMask", {
  own: { mask: null, paint: null },
  leaning: (/** @type {State} */ { mask }) => mask ?? undefined,
  isRight: ({ answer }, guess) => differences(answer, guess) === 0,
  verdict: ({ answer, guess }) => {
    const wrong = differences(answer, guess);
    return wrong ? `${wrong} of ${answer.flat().length} cells are not right.` : "That is right.";
  },
  ask: (state, set) => html`<fieldset>
    <legend>${asked(state.question)}</legend>
    ${grid(
      state,
      (row, column) => paintedCell(state, set, row, column),
      (event) => paint(event, state, set),
    )}
    <p class="qkv-note">Queries down, keys across. Press a cell, or drag over several; with the keyboard, the space bar paints.</p>
  </fieldset>`,
  show: (state) => html`${grid(state, (row, column) => shownCell(state, row, column))}
    <p class="qkv-why">${rich(state.why)}</p>`,
});

const differences = (answer, guess) => answer.flat().filter((may, i) => may !== guess.flat()[i]).length;
const maskOf = ({ mask, answer }) => mask ?? answer.map((row) => row.map(() => false));

const grid = ({ rows, columns }, cell, onPaint) => html`<table class="qkv-painted"
  @pointerdown=${onPaint ?? nothing} @pointermove=${onPaint ?? nothing}>
  <thead><tr><td></td>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
  <tbody>${rows.map(
    (name, row) => html`<tr><th scope="row">${name}</th>${columns.map((_, column) => cell(row, column))}</tr>`,
  )}</tbody>
</table>`;

const paintedCell = (state, set, row, column) => {
  const may = maskOf(state)[row][column];
  return html`<td data-cell="${row} ${column}" data-may=${may}>
    <input class="qkv-over qkv-keys" type="checkbox" .checked=${live(may)} aria-label="${state.rows[row]} may attend to ${state.columns[column]}"
      @change=${({ target }) => set({ mask: changed(maskOf(state), row, column, target.checked) })}>
  </td>`;
};

const changed = (mask, row, column, may) =>
  mask.map((entries, i) => entries.map((entry, j) => (i === row && j === column ? may : entry)));

/** Paint with the pointer: a press changes its cell, and the rest of the stroke gives other cells the same state. */
function paint(event, state, set) {
  if (event.type === "pointermove" && event.buttons !== 1) return;
  const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("td");
  const at = under?.dataset.cell;
  if (!at || !event.currentTarget.contains(under)) return;
  const [row, column] = at.split(" ").map(Number);
  const mask = maskOf(state);
  const may = event.type === "pointerdown" ? !mask[row][column] : state.paint;
  if (mask[row][column] !== may) set({ mask: changed(mask, row, column, may), paint: may });
}

const shownCell = ({ answer, guess, rows, columns }, row, column) => {
  const right = answer[row][column] === guess[row][column];
  const word = answer[row][column] ? "sees" : "does not see";
  return html`<td data-may=${answer[row][column]} class=${right ? "qkv-right" : "qkv-wrong"}>
    <span aria-hidden="true">${right ? "✓" : "✗"}</span>
    <span class="qkv-unseen">${rows[row]} ${word} ${columns[column]}: your guess is ${right ? "right" : "wrong"}.</span>
  </td>`;
};

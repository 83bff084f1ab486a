import { dragged, html, nothing, num, partAt, svg, t } from "./base.js";
import { amount, isChecked, prediction, rich } from "./predicting.js";

const STEPS = 50; // from 0 to the top: an arrow key moves a bar by a step, and a drag is rounded to steps
const FOOT = 0.04; // of the height: a press or a drag below this means 0
const ROUNDING = 0.015; // the numbers of an answer are rounded
const NEAR_MIDDLE = 0.05; // of a column's width: a press this near to the middle counts as one in the middle

/** @import { SetState } from "./base.js" */
/** @import { Typed } from "./controls.js" */
/** @import { Grip } from "./dragging.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {{ x: number, y: number }} Point shares of the width and of the height, from the top left */
/** @typedef {{ x: number, y: number, column: number, home: number, passed: Record<number, number> }} Stroke */
/** @typedef {Asking & { labels: string[], answer: number[], near: number, top: number, line: boolean, given: number[], given_name: string,
 *   unit: string, why: string, guess: number[], draft: number[] | null, stroke: Stroke | null }} State */

export default prediction("PredictBars", {
  own: { stroke: null },
  isRight: (state, guess) => meanError(state, guess) <= state.near,
  verdict: (/** @type {State} */ state) => {
    const off = meanError(state, state.guess);
    if (off < 1e-9) return t`That is right.`;
    const mean = amount(off, state.unit);
    return off <= state.near
      ? t`That is close. On average you are off by ${mean}.`
      : t`That is not close. On average you are off by ${mean}.`;
  },
  form: (state, _, set) => html`<p class="qkv-note">${hint(state)}</p>
    ${drawing(state, set)}`,
  explained: ({ why }) => html`<p class="qkv-why">${rich(why)}</p>`,
});

/** @param {State} state */
const hint = (state) => {
  if (isChecked(state)) return t`Dashed: your guess. Solid: the answer.`;
  return areShares(state) ? t`Drag the handles. The bars always sum to 1.` : t`Drag the handles.`;
};

/** Check whether the bars are the shares of one whole, such as the weights of a softmax. Then they keep the sum 1.
 * @param {State} state */
const areShares = ({ answer, line, top, unit }) => !line && top === 1 && !unit && Math.abs(sum(answer) - 1) < ROUNDING;

const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0);

/** Return the reader's heights: the guess or the draft. At first shares are equal, and all others are in the middle, where a
 * handle is seen and grabbed.
 * @param {State} state
 * @returns {number[]} */
const heightsOf = (state) =>
  isChecked(state)
    ? state.guess
    : (state.draft ?? state.answer.map(() => (areShares(state) ? 1 / state.answer.length : state.top / 2)));

/** Return heights in which the column that was moved is as it is and, for shares, the others yield.
 * @param {State} state
 * @param {number[]} heights
 * @param {number} moved */
function yielding(state, heights, moved) {
  if (!areShares(state) || heights.length < 2) return heights;
  const others = sum(heights) - heights[moved];
  const left = Math.max(0, 1 - heights[moved]);
  const share = (/** @type {number} */ height) => (others ? (height / others) * left : left / (heights.length - 1));
  return heights.map((height, i) => (i === moved ? height : share(height)));
}

/** Return by how much a guess is off, on average over the columns.
 * @param {State} state
 * @param {number[]} guess */
const meanError = ({ answer }, guess) =>
  answer.reduce((total, value, i) => total + Math.abs(value - guess[i]), 0) / answer.length;

/** Return the picture: the reader's heights, after the check with the answer, and a table of both.
 * @param {State} state
 * @param {SetState<State>} set */
function drawing(state, set) {
  const { labels, top, line, unit, answer } = state;
  const heights = heightsOf(state);
  const shown = isChecked(state) ? answer : [];
  const put = (/** @type {number} */ index, /** @type {number} */ value) =>
    set({
      draft: yielding(
        state,
        heightsOf(state).map((height, i) => (i === index ? value : height)),
        index,
      ),
    });
  const draw = isChecked(state) ? nothing : dragged((grip) => set(drawnOn(state, grip)));
  return html`<div class="qkv-drawn" data-line=${line} data-new=${!isChecked(state) && !state.draft}>
    ${axis(state)}
    <div class="qkv-drawn-area qkv-drag" @pointerdown=${draw} @pointermove=${draw}>
      ${grid(state)}
      ${line && shown.length ? curve(shown, top, "qkv-answer-line") : nothing}
      ${line ? curve(heights, top, "qkv-yours-line") : nothing}
      ${heights.map(
        (height, i) => html`<span class="qkv-drawn-bar" style="--qkv-p: ${height / top}">
          ${shown.length ? html`<i class="qkv-drawn-answer" style="--qkv-p: ${shown[i] / top}"></i>` : nothing}
          <i class="qkv-drawn-handle"></i>
          <input class="qkv-over" type="range" min="0" max=${top} step=${top / STEPS} aria-label=${labels[i]}
            aria-valuetext=${amount(height, unit)} .value=${String(height)}
            @input=${(/** @type {Typed} */ { target }) => put(i, target.valueAsNumber)}>
        </span>`,
      )}
    </div>
    ${table(state, heights)}
  </div>`;
}

/** Return the change of the state when a stroke comes to `x`, `y`. Each column gets the height of the stroke at the
 * column's middle. Before the stroke passes the middle, and while it stays in its first column, the column follows
 * the pointer.
 * @param {State} state
 * @param {Grip} grip
 * @returns {Partial<State>} */
function drawnOn(state, { x, y, isPress }) {
  const { labels, top } = state;
  const count = labels.length;
  const column = partAt(x, count);
  const last = isPress || !state.stroke ? { x, y, column, home: column, passed: {} } : state.stroke;
  const passed = { ...last.passed };
  if (column !== last.column) delete passed[column];
  for (let i = 0; i < count; i++) {
    const at = heightInMiddle((i + 0.5) / count, NEAR_MIDDLE / count, last, { x, y });
    if (at !== undefined) passed[i] = at;
  }
  const home = column === last.home ? column : -1;
  const places = { ...passed, ...(home === column || !(column in passed) ? { [column]: y } : {}) };
  const heights = heightsOf(state).map((height, i) => (i in places ? stepAt(1 - places[i]) * (top / STEPS) : height));
  return { draft: yielding(state, heights, column), stroke: { x, y, column, home, passed } };
}

/** Return the number of steps that is nearest to a share of the height. */
const stepAt = (/** @type {number} */ share) => (share < FOOT ? 0 : Math.round(share * STEPS));

/** Return the height at which the line between two points passes a column's middle, or undefined if it does not.
 * @param {number} middle
 * @param {number} slack
 * @param {Point} from
 * @param {Point} to */
function heightInMiddle(middle, slack, from, to) {
  const [first, last] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
  if (middle < first - slack || middle > last + slack) return undefined;
  const share = to.x === from.x ? 1 : Math.min(1, Math.max(0, (middle - from.x) / (to.x - from.x)));
  return from.y + share * (to.y - from.y);
}

/* ---- the scale: 0, half of the top, the top, and in bold the values that the question gives */

const APART = 0.1; // of the height: a number of the scale that is nearer to a given value is left out

const axis = (
  /** @type {State} */ { top, given, given_name: name },
) => html`<div class="qkv-drawn-axis" aria-hidden="true">
  ${[0, 0.5, 1]
    .filter((share) => given.every((value) => Math.abs(value / top - share) > APART))
    .map((share) => html`<span style="--qkv-p: ${share}">${num(share * top, { digits: 2 })}</span>`)}
  ${given.map((value, i) => html`<b style="--qkv-p: ${value / top}">${num(value, { digits: 2 })}${name && i === 0 ? html`<small>${name}</small>` : nothing}</b>`)}
</div>`;

const grid = (/** @type {State} */ { top, given }) => html`
  ${[0.5, 1].map((share) => html`<i class="qkv-drawn-tick" style="--qkv-p: ${share}"></i>`)}
  ${given.map((value) => html`<i class="qkv-drawn-tick qkv-drawn-given" style="--qkv-p: ${value / top}"></i>`)}`;

/** Return a curve through the middles of the columns.
 * @param {number[]} heights
 * @param {number} top
 * @param {string} kind */
const curve = (heights, top, kind) => {
  const points = heights.map((height, i) => `${(100 * (i + 0.5)) / heights.length},${100 - (100 * height) / top}`);
  return html`<svg class="qkv-drawn-line" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
    ${svg`<polyline class=${kind} points=${points.join(" ")} />`}
  </svg>`;
};

/** Return the numbers, each below its column of the drawing. The answer has its place before it is known.
 * @param {State} state
 * @param {number[]} heights */
const table = (state, heights) => {
  const numbers = (/** @type {number[]} */ values, /** @type {boolean} */ isKnown) =>
    values.map((value) => html`<td>${isKnown ? amount(value) : "?"}</td>`);
  return html`<table class="qkv-drawn-table">
    <thead><tr><td></td>${state.labels.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
    <tbody>
      <tr><th scope="row">${t`you`}</th>${numbers(heights, isChecked(state) || state.draft !== null)}</tr>
      <tr data-known=${isChecked(state)}><th scope="row">${t`answer`}</th>${numbers(state.answer, isChecked(state))}</tr>
    </tbody>
  </table>`;
};

import { dragged, html, nothing, num, partAt, svg } from "./base.js";
import { asked, prediction, rich } from "./predicting.js";

const STEPS = 50; // from 0 to the top: what an arrow key moves, and what a drag is rounded to

export default prediction("PredictBars", {
  own: { heights: null },
  leaning: ({ heights }) => heights ?? undefined,
  isRight: (state, guess) => meanError(state, guess) <= state.near,
  verdict: (state) => {
    const off = meanError(state, state.guess);
    return `${off <= state.near ? "That is close." : "Not yet."} On average you are off by ${num(off, { digits: 2 })}.`;
  },
  ask: (state, set) => html`<fieldset>
    <legend>${asked(state.question)}</legend>
    ${drawing(state, state.heights ?? state.answer.map(() => 0), set)}
    <p class="qkv-note">${state.line ? "Draw the curve" : "Drag the bars"} with the mouse or a finger, or move each value with the arrow keys.</p>
  </fieldset>`,
  show: (state) => html`${compared(state)}<p class="qkv-why">${rich(state.why)}</p>`,
});

const meanError = ({ answer }, guess) =>
  answer.reduce((total, value, i) => total + Math.abs(value - guess[i]), 0) / answer.length;

function drawing({ labels, top, line, unit }, heights, set) {
  const put = (index, value) => set({ heights: heights.map((height, i) => (i === index ? value : height)) });
  // A stroke across the area draws one value after the other.
  const draw = dragged(({ x, y }) => put(partAt(x, labels.length), (Math.round((1 - y) * STEPS) * top) / STEPS));
  return html`<div class="qkv-drawn" data-line=${line}>
    <div class="qkv-drawn-area" @pointerdown=${draw} @pointermove=${draw}>
      ${line ? curve(heights, top, "qkv-yours-line") : nothing}
      ${heights.map(
        (height, i) => html`<span class="qkv-drawn-bar" style="--qkv-p: ${height / top}">
          <input class="qkv-over" type="range" min="0" max=${top} step=${top / STEPS} aria-label=${labels[i]}
            aria-valuetext=${withUnit(height, unit)} .value=${String(height)}
            @input=${({ target }) => put(i, target.valueAsNumber)}>
        </span>`,
      )}
    </div>
    ${names(labels, heights)}
  </div>`;
}

const withUnit = (value, unit) => (unit ? `${num(value)} ${unit}` : num(value));

const names = (labels, heights) => html`<div class="qkv-drawn-names" aria-hidden="true">
  ${labels.map((label, i) => html`<span>${label}<b>${num(heights[i], { digits: 2 })}</b></span>`)}
</div>`;

/** A curve through the middles of the columns. */
const curve = (heights, top, kind) => {
  const points = heights.map((height, i) => `${(100 * (i + 0.5)) / heights.length},${100 - (100 * height) / top}`);
  return html`<svg class="qkv-drawn-line" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
    ${svg`<polyline class=${kind} points=${points.join(" ")} />`}
  </svg>`;
};

/** The guess beside the answer: as outlines and solid shapes, and as numbers. */
const compared = ({ labels, guess, answer, top, line }) => html`<div class="qkv-drawn" data-line=${line}>
    <div class="qkv-drawn-area qkv-is-shown" role="img" aria-label="Your guess as an outline, the answer solid; the numbers follow.">
      ${line ? html`${curve(answer, top, "qkv-answer-line")}${curve(guess, top, "qkv-yours-line")}` : nothing}
      ${answer.map(
        (height, i) =>
          html`<span class="qkv-drawn-bar" style="--qkv-p: ${height / top}; --qkv-yours: ${guess[i] / top}"></span>`,
      )}
    </div>
    <table class="qkv-drawn-table">
      <thead><tr><td></td>${labels.map((label) => html`<th scope="col">${label}</th>`)}</tr></thead>
      <tbody>
        ${numbers("you", guess)} ${numbers("answer", answer)}
      </tbody>
    </table>
  </div>`;

const numbers = (who, values) =>
  html`<tr><th scope="row">${who}</th>${values.map((value) => html`<td>${num(value, { digits: 2 })}</td>`)}</tr>`;

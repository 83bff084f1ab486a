import { html, num, t } from "./base.js";
import { prediction, rich } from "./predicting.js";
import { linear, logarithmic } from "./scales.js";

/** @import { Typed } from "./controls.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {Asking & { answer: number, near: number, unit: string, why: string, guess: number[],
 *   draft: number[] | null }} State */

export default prediction("PredictNumber", {
  isRight: ({ answer, near }, [guess]) => isNear(guess, answer, near),
  verdict: (/** @type {State} */ state) => t`${howFar(state)} The answer is ${withUnit(state.answer, state.unit)}.`,
  form: ({ unit }, mine, set) => html`<label class="qkv-typed">
    <span class="qkv-label">${t`your guess`}</span>
    <input type="number" step="any" inputmode="decimal" .value=${mine ? String(mine[0]) : ""}
      @input=${(/** @type {Typed} */ { target }) => set({ draft: Number.isFinite(target.valueAsNumber) ? [target.valueAsNumber] : null })}>
    ${unit}
  </label>`,
  explained: (state) => html`${numberLine(state)}<p class="qkv-why">${rich(state.why)}</p>`,
});

const FAR = 20; // from this factor between the guess and the answer, the line is logarithmic

/** Return a line with the guess, the answer, and the numbers that count as near it.
 * @param {State} state */
function numberLine({ guess: [guess], answer, near, unit }) {
  const place = lineFor([guess, answer - near, answer, answer + near]);
  const share = (/** @type {number} */ value) => `${Math.round(1000 * place(value)) / 10}%`;
  const mark = (/** @type {string} */ kind, /** @type {number} */ value, /** @type {string} */ name) =>
    html`<span class="qkv-line-mark ${kind}" style="--qkv-at: ${share(value)}">${name} <b>${num(value)}</b></span>`;
  return html`<div class="qkv-number-line" role="img" aria-label=${t`On a line: your guess ${num(guess)}, the answer ${withUnit(answer, unit)}.`}>
    <i style="left: ${share(answer - near)}; right: calc(100% - ${share(answer + near)})"></i>
    ${mark("qkv-line-guess", guess, t`you`)} ${mark("qkv-line-answer", answer, t`answer`)}
  </div>`;
}

/** Return a scale for a line with these numbers: linear with 0 on it, or logarithmic if they are far apart.
 * @param {number[]} values */
function lineFor(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low > 0 && high / low >= FAR) return logarithmic([low / 2, 2 * high], [0, 1]);
  const [from, to] = [Math.min(0, 1.15 * low), Math.max(0, 1.15 * high)];
  return linear([from, to === from ? from + 1 : to], [0, 1]);
}

/** @param {number} guess
 * @param {number} answer
 * @param {number} near */
const isNear = (guess, answer, near) => Math.abs(guess - answer) <= near;

/** @param {number} value
 * @param {string} unit */
const withUnit = (value, unit) => (unit ? `${num(value)} ${unit}` : num(value));

/** Return a sentence with the error of the guess: a factor if the guess is at least twice or at most half of the
 * answer, else a difference.
 * @param {State} state */
function howFar({ guess: [guess], answer, near, unit }) {
  if (isNear(guess, answer, near)) return guess === answer ? t`That is right.` : t`That is close.`;
  const ratio = guess / answer;
  if (ratio >= 2) return t`Your guess is ${num(ratio, { digits: 2 })} times too large.`;
  if (ratio > 0 && ratio <= 0.5) return t`Your guess is ${num(1 / ratio, { digits: 2 })} times too small.`;
  return t`Your guess is off by ${withUnit(Math.abs(guess - answer), unit)}.`;
}

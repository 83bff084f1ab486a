import { html, num } from "./base.js";
import { prediction, rich } from "./predicting.js";

/** @import { Typed } from "./controls.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {Asking & { answer: number, near: number, unit: string, why: string, guess: number[],
 *   draft: number[] | null }} State */

export default prediction("PredictNumber", {
  isRight: ({ answer, near }, [guess]) => isNear(guess, answer, near),
  verdict: (/** @type {State} */ state) => `${howFar(state)} The answer is ${withUnit(state.answer, state.unit)}.`,
  form: ({ unit }, mine, set) => html`<label class="qkv-typed">
    <span class="qkv-label">your guess</span>
    <input type="number" step="any" inputmode="decimal" .value=${mine ? String(mine[0]) : ""}
      @input=${(/** @type {Typed} */ { target }) => set({ draft: Number.isFinite(target.valueAsNumber) ? [target.valueAsNumber] : null })}>
    ${unit}
  </label>`,
  explained: ({ why }) => html`<p class="qkv-why">${rich(why)}</p>`,
});

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
  if (isNear(guess, answer, near)) return guess === answer ? "That is right." : "That is close.";
  const ratio = guess / answer;
  if (ratio >= 2) return `Your guess is ${num(ratio, { digits: 2 })} times too large.`;
  if (ratio > 0 && ratio <= 0.5) return `Your guess is ${num(1 / ratio, { digits: 2 })} times too small.`;
  return `Your guess is off by ${withUnit(Math.abs(guess - answer), unit)}.`;
}

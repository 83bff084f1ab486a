import { dragged, html, nothing, num, t } from "./base.js";
import { isChecked, prediction, rich } from "./predicting.js";
import { linear, logarithmic, roundStep } from "./scales.js";

/** @import { SetState } from "./base.js" */
/** @import { Typed } from "./controls.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {Asking & { answer: number, near: number, unit: string, ends: number[], why: string, guess: number[],
 *   draft: number[] | null }} State */

export default prediction("PredictNumber", {
  isRight: ({ answer, near }, [guess]) => isNear(guess, answer, near),
  verdict: (/** @type {State} */ state) => t`${howFar(state)} The answer is ${withUnit(state.answer, state.unit)}.`,
  form: (state, mine, set) => html`<div class="qkv-guessed">
    ${state.ends.length ? numberLine(state, mine, set) : nothing}
    <label class="qkv-typed">
      <span class="qkv-label">${t`your guess`}</span>
      <span><input type="number" step="any" inputmode="decimal" .value=${mine ? String(mine[0]) : ""}
        @input=${(/** @type {Typed} */ { target }) => set({ draft: Number.isFinite(target.valueAsNumber) ? [target.valueAsNumber] : null })}>
      ${state.unit}</span>
    </label>
  </div>`,
  explained: (state) =>
    html`${state.ends.length ? nothing : numberLine(state, state.guess)}<p class="qkv-why">${rich(state.why)}</p>`,
});

const FAR = 20; // from this factor between its ends, the line is logarithmic
const STEPS = 200; // of a linear line, at most: a drag is rounded to steps

/** Return the line on which the reader drags the guess, if it has ends. After the check, the answer and the numbers that
 * count as near it are on it. For the keyboard there is the field.
 * @param {State} state
 * @param {number[] | null} mine
 * @param {SetState<State>} [set] */
function numberLine(state, mine, set) {
  const { answer, near, unit, ends } = state;
  const place = lineFor(state);
  const share = (/** @type {number} */ value) => `${Math.round(1000 * Math.min(1, Math.max(0, place(value)))) / 10}%`;
  const mark = (/** @type {string} */ kind, /** @type {string} */ at, /** @type {unknown} */ text) =>
    html`<span class="qkv-line-mark ${kind}" style="--qkv-at: ${at}">${text}</span>`;
  if (isChecked(state) && mine) {
    return html`<div class="qkv-number-line" role="img" aria-label=${t`On a line: your guess ${num(mine[0])}, the answer ${withUnit(answer, unit)}.`}>
      <i style="left: ${share(answer - near)}; right: calc(100% - ${share(answer + near)})"></i>
      ${mark("qkv-line-guess", share(mine[0]), t`you ${html`<b>${num(mine[0])}</b>`}`)}
      ${mark("qkv-line-answer", share(answer), t`answer ${html`<b>${num(answer)}</b>`}`)}
    </div>`;
  }
  const drag = dragged(({ x }) => set?.({ draft: [valueAt(state, x)] }));
  return html`<div class="qkv-number-line qkv-drag" aria-hidden="true" @pointerdown=${drag} @pointermove=${drag}>
    ${mine ? mark("qkv-line-guess", share(mine[0]), html`<b>${num(mine[0])}</b>`) : mark("qkv-line-guess qkv-line-ready", "50%", "?")}
    ${ends.map((end) => html`<small>${num(end, { digits: 1 })}</small>`)}
  </div>`;
}

/** Check whether a line between two numbers is logarithmic.
 * @param {number} low
 * @param {number} high */
const isWide = (low, high) => low > 0 && high / low >= FAR;

/** Return the scale of the line, from 0 to 1. A guess beyond its ends makes the line longer. A line without ends has all
 * its numbers on it, and 0 or, if it is logarithmic, some room.
 * @param {State} state */
function lineFor({ guess, answer, near, ends }) {
  const all = ends.length ? [...ends, ...guess] : [...guess, answer - near, answer, answer + near];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = ends.length ? 1 : 2;
  if (isWide(low, high)) return logarithmic([low / room, room * high], [0, 1]);
  if (ends.length) return linear([low, high], [0, 1]);
  const [from, to] = [Math.min(0, 1.15 * low), Math.max(0, 1.15 * high)];
  return linear([from, to === from ? from + 1 : to], [0, 1]);
}

/** Return the number at a share of the line before the check: one that is quickly read, and whole if the answer is.
 * @param {State} state
 * @param {number} share */
function valueAt({ ends: [low, high], answer }, share) {
  if (isWide(low, high)) {
    const value = low * (high / low) ** share;
    return Number(value.toPrecision(value < 9.5 ? 1 : 2));
  }
  const step = Math.max(roundStep([low, high], STEPS), Number.isInteger(answer) ? 1 : 0);
  return Number((Math.round((low + share * (high - low)) / step) * step).toPrecision(6));
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

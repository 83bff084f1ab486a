import { dragged, html, nothing, num, t } from "./base.js";
import { amount, isChecked, prediction, rich } from "./predicting.js";
import { linear, logarithmic, roundNumbers, roundStep } from "./scales.js";

/** @import { SetState } from "./base.js" */
/** @import { Typed } from "./controls.js" */
/** @import { Grip } from "./dragging.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {{ hold: number, from: number, isTap: boolean }} Hold how far from the handle's middle it is held, where the
 *   drag began, and whether it has not moved yet */
/** @typedef {Asking & { answer: number, near: number, unit: string, ends: number[], why: string, guess: number[],
 *   draft: number[] | null, grip: Hold }} State */

const FAR = 20; // from this factor between its ends, the line is logarithmic
const STEPS = 200; // of a linear line, at most: a drag is rounded to steps
const TICKS = 4; // about so many steps between the numbers on a linear line
const [MOST_RUNGS, MANY_POWERS] = [30, 4]; // short lines between the ticks; powers of ten on a line
const SLACK = 4; // pixels: a press that moves less is a tap, which opens the number for typing
const [SHORTEST, LONGEST] = [2, 8]; // digits for which the handle has room

export default prediction("PredictNumber", {
  own: { grip: { hold: 0, from: 0, isTap: false } },
  isRight: ({ answer, near }, [guess]) => isNear(guess, answer, near),
  verdict: (/** @type {State} */ state) => t`${howFar(state)} The answer is ${amount(state.answer, state.unit)}.`,
  form: (state, mine, set) =>
    state.ends.length
      ? numberLine(state, mine, set)
      : html`<div class="qkv-typed">${field(mine, set, "any")} ${state.unit}</div>`,
  explained: (state) =>
    html`${state.ends.length ? nothing : numberLine(state, state.guess)}<p class="qkv-why">${rich(state.why)}</p>`,
});

/** Return the field for the guess, which is as wide as its number. An arrow key changes it by `step`.
 * @param {number[] | null} mine
 * @param {SetState<State>} set
 * @param {number | "any"} step */
function field(mine, set, step) {
  const text = mine ? String(mine[0]) : "";
  const put = (/** @type {Typed} */ { target }) =>
    set({ draft: Number.isFinite(target.valueAsNumber) ? [target.valueAsNumber] : null });
  return html`<label style="--qkv-digits: ${Math.min(LONGEST, Math.max(SHORTEST, text.length))}">
    <span class="qkv-unseen">${t`your guess`}</span>
    <input type="number" step=${step} inputmode="decimal" placeholder="?" .value=${text} @input=${put}>
  </label>`;
}

/** Return the line with the guess, which is its handle: it is dragged, and a tap on it opens it for typing. After the
 * check, the answer and the numbers that count as near it are on the line, too.
 * @param {State} state
 * @param {number[] | null} mine
 * @param {SetState<State>} [set] nothing for a line that only shows */
function numberLine(state, mine, set) {
  const { unit } = state;
  const place = lineFor(state);
  const at = (/** @type {number} */ value) => `--qkv-at: ${percent(place(value))}`;
  const drag = dragged((grip) => set?.(dragTo(state, grip)));
  const ticks = ticksOf(state);
  const tickText = (/** @type {number} */ tick, /** @type {number} */ i) =>
    `${num(tick, { digits: 1 })}${i === ticks.length - 1 && unit ? ` ${unit}` : ""}`;
  return html`<div class="qkv-number-line qkv-drag" @pointerdown=${drag} @pointermove=${drag} @click=${(/** @type {MouseEvent & { currentTarget: Element }} */ event) => typeAfterTap(event, state)}>
    ${rungsOf(state).map((rung) => html`<u style=${at(rung)}></u>`)}
    ${ticks.map((tick, i) => html`<small aria-hidden="true" style=${at(tick)}>${tickText(tick, i)}</small>`)}
    ${isChecked(state) ? answerOn(state, place) : nothing}
    <div class="qkv-line-guess" style=${mine ? at(mine[0]) : "--qkv-at: 50%"}>${set ? field(mine, set, stepOf(state)) : html`<b>${amount(state.guess[0])}</b>`}</div>
  </div>`;
}

const percent = (/** @type {number} */ share) => `${Math.round(1000 * Math.min(1, Math.max(0, share))) / 10}%`;

/** Return what the check adds to the line: the numbers near the answer, the way from the guess to it, and the answer.
 * @param {State} state
 * @param {import("./scales.js").Scale} place */
function answerOn({ answer, near, unit, guess: [guess] }, place) {
  const span = (/** @type {number} */ from, /** @type {number} */ to) =>
    `left: ${percent(place(Math.min(from, to)))}; right: calc(100% - ${percent(place(Math.max(from, to)))})`;
  return html`<i class="qkv-line-near" style=${span(answer - near, answer + near)}></i>
    <i class="qkv-line-error" data-up=${answer > guess} style=${span(guess, answer)}></i>
    <span class="qkv-line-answer" style="--qkv-at: ${percent(place(answer))}"><span>${t`answer ${html`<b>${amount(answer, unit)}</b>`}`}</span></span>`;
}

/** Return the change of the state for a press or a drag. A press beside the handle brings it there; one on the handle
 * holds it as it is.
 * @param {State} state
 * @param {Grip} grip
 * @returns {Partial<State>} */
function dragTo(state, { x, area, event, isPress }) {
  const from = event.clientX;
  if (!isPress) {
    const { hold, from, isTap } = state.grip;
    if (isTap && Math.abs(event.clientX - from) < SLACK) return {};
    const { left, width } = area.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - hold - left) / width));
    return { grip: { hold, from, isTap: false }, draft: [valueAt(state, share)] };
  }
  const handle = /** @type {Element} */ (event.target).closest(".qkv-line-guess");
  if (!handle) return { grip: { hold: 0, from, isTap: false }, draft: [valueAt(state, x)] };
  event.preventDefault(); // a drag selects no digits
  const { left, width } = handle.getBoundingClientRect();
  return { grip: { hold: from - left - width / 2, from, isTap: true } };
}

/** Open the number for typing after a tap on the handle.
 * @param {MouseEvent & { currentTarget: Element }} event
 * @param {State} state */
function typeAfterTap({ currentTarget }, { grip: { isTap } }) {
  const field = isTap ? currentTarget.querySelector("input") : null;
  field?.focus();
  field?.select();
}

/** Return round numbers for the line before the check, and for a longer one after it.
 * @param {State} state */
function ticksOf({ ends, guess, answer }) {
  const all = ends.length ? [...ends, ...guess] : [0, ...guess, answer];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  if (!isWide(low, high)) return roundNumbers([low, high], TICKS);
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, i) => Number((10 ** (first + i)).toPrecision(1)));
}

/** Return the numbers between the ticks that have a short line: on a logarithmic line 2, 3, … 9 of each power of ten, or
 * 2 and 5 of many powers; on a linear line the whole numbers, if there are few.
 * @param {State} state
 * @returns {number[]} */
function rungsOf(state) {
  const { ends, guess } = state;
  if (ends.length === 0) return [];
  const [low, high] = [Math.min(...ends, ...guess), Math.max(...ends, ...guess)];
  if (isWide(low, high)) {
    const ticks = ticksOf(state);
    const digits = ticks.length > MANY_POWERS ? [2, 5] : [2, 3, 4, 5, 6, 7, 8, 9];
    const powers = [ticks[0] / 10, ...ticks];
    return powers.flatMap((power) => digits.map((digit) => digit * power)).filter((each) => each > low && each < high);
  }
  const [first, last] = [Math.ceil(low), Math.floor(high)];
  const isSnapping = stepOf(state) === 1 && last - first <= MOST_RUNGS;
  return isSnapping ? Array.from({ length: last - first + 1 }, (_, i) => first + i) : [];
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

/** Return the step between the numbers of a linear line.
 * @param {State} state
 * @returns {number | "any"} */
const stepOf = ({ ends: [low, high], answer }) =>
  isWide(low, high) ? "any" : Math.max(roundStep([low, high], STEPS), Number.isInteger(answer) ? 1 : 0);

/** Return the number at a share of the line before the check: one that is quickly read, and whole if the answer is.
 * @param {State} state
 * @param {number} share */
function valueAt(state, share) {
  const [low, high] = state.ends;
  if (isWide(low, high)) {
    const value = low * (high / low) ** share;
    return Number(value.toPrecision(value < 9.5 ? 1 : 2));
  }
  const step = Number(stepOf(state));
  return Number((Math.round((low + share * (high - low)) / step) * step).toPrecision(6));
}

/** @param {number} guess
 * @param {number} answer
 * @param {number} near */
const isNear = (guess, answer, near) => Math.abs(guess - answer) <= near;

/** Return a sentence with the error of the guess: a factor if the guess is at least twice or at most half of the
 * answer, else a difference.
 * @param {State} state */
function howFar({ guess: [guess], answer, near, unit }) {
  if (isNear(guess, answer, near)) return guess === answer ? t`That is right.` : t`That is close.`;
  const ratio = guess / answer;
  if (ratio >= 2) return t`Your guess is ${num(ratio, { digits: 2 })} times too large.`;
  if (ratio > 0 && ratio <= 0.5) return t`Your guess is ${num(1 / ratio, { digits: 2 })} times too small.`;
  return t`Your guess is off by ${amount(Math.abs(guess - answer), unit)}.`;
}

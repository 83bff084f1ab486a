/* The common part of all predictions: the question, a form for the guess, a button that checks it, and the explanation.
 *
 * The form and the button stay in their places when the guess is checked: the answer is drawn into the form, and the
 * explanation opens below the button. */

import { button, html, nothing, num, t, widget } from "./base.js";

/** @import { SetState } from "./base.js" */
/** @typedef {string | any[]} Guess */
/** @typedef {{ question: string, guess: Guess, sure: boolean, draft: any, isSure: boolean }} Asking */

/** Return a widget that asks for a guess and then shows the answer. Its state has the traits `question`, `guess` (empty
 * before the check) and `sure`. This view alone has `draft`, which is the guess before the check or null, and `isSure`.
 *
 *   own                           further state of this view alone
 *   form(state, mine, set, id)    returns the controls for a guess, with the answer once `guess` is not empty; `mine` is
 *                                 the guess or the draft
 *   explained(state)              returns the explanation
 *   isRight(state, guess)         checks whether a guess counts as right
 *   verdict(state)                returns one sentence about the guess
 *
 * @template {Asking} S
 * @param {string} name
 * @param {object} parts
 * @param {Partial<S>} [parts.own]
 * @param {(state: S, mine: any, set: SetState<S>, id: string) => unknown} parts.form
 * @param {(state: S) => unknown} parts.explained
 * @param {(state: S, guess: any) => boolean} parts.isRight
 * @param {(state: S) => string} parts.verdict */
export const prediction = (name, { own, form, explained, isRight, verdict }) =>
  widget(name, {
    own: /** @type {Partial<S>} */ ({ ...own, draft: null, isSure: false }),
    says: (/** @type {S} */ state) => (isChecked(state) ? verdict(state) : ""),
    // The button is the same element before and after the check, so that it keeps the focus.
    view: (state, set, id) => html`<div class="qkv-predict" @keydown=${checkOnEnter}>
      <fieldset class="qkv-guess-form" ?disabled=${isChecked(state)}>
        <legend><span class="qkv-chip">${t`Predict`}</span> ${rich(state.question)}</legend>
        ${form(state, isChecked(state) ? state.guess : state.draft, set, id)}
      </fieldset>
      <div class="qkv-commit">
        ${sureness(state, set, id)}
        ${isChecked(state) ? again(state, set) : check(state, set, isRight)}
      </div>
      ${isChecked(state) ? result(verdict(state), isRight(state, state.guess), explained(state)) : nothing}
    </div>`,
  });

/** Check whether the guess was checked: then the answer is shown.
 * @param {Asking} state */
export const isChecked = ({ guess }) => guess.length > 0;

/** Return the sentence about the guess, with a sign, and the explanation.
 * @param {string} verdict
 * @param {boolean} isRight
 * @param {unknown} explained */
const result = (verdict, isRight, explained) => html`<div class="qkv-explained">
  <p class="qkv-judged">${tick(isRight)}<b>${verdict}</b></p>${explained}
</div>`;

/** Return a guess or an answer as text. Below 1 it has two decimals, as weights do: 0.09, not 0.0900.
 * @param {number} value
 * @param {string} [unit] */
export const amount = (value, unit = "") => {
  const size = Math.abs(value);
  const text = size < 1 && size >= LEAST ? num(value, { places: 2 }) : num(value);
  return unit ? `${text} ${unit}` : text;
};
const LEAST = 0.01; // a smaller number needs more decimals

/** Return the sign of a right or a wrong answer. For a screen reader, words stand beside it.
 * @param {boolean} isRight */
export const tick = (isRight) =>
  html`<span class="qkv-tick" data-mark=${isRight} aria-hidden="true">${isRight ? "✓" : "✗"}</span>`;

/** Return the two buttons that ask how sure the reader is. They are seen once there is a guess; their place is kept.
 * @param {Asking} state
 * @param {SetState<any>} set
 * @param {string} id */
const sureness = (state, set, id) => {
  const isSure = isChecked(state) ? state.sure : state.isSure;
  const option = (/** @type {boolean} */ value, /** @type {string} */ label) => html`<label>
    <input class="qkv-over" type="radio" name="${id}-sure" .checked=${isSure === value} @change=${() => set({ isSure: value })}>
    <span>${label}</span>
  </label>`;
  const isIdle = !isChecked(state) && state.draft === null;
  return html`<fieldset class="qkv-sure" data-idle=${isIdle} ?disabled=${isChecked(state) || isIdle}>
    <legend>${t`How sure?`}</legend> ${option(false, t`guessing`)} ${option(true, t`sure`)}
  </fieldset>`;
};

/** Return the button that checks the draft.
 * @param {Asking} state
 * @param {SetState<any>} set
 * @param {(state: any, guess: any) => boolean} isRight */
const check = (state, set, isRight) =>
  button({
    label: t`check`,
    disabled: state.draft === null,
    onClick: (/** @type {Event} */ { currentTarget }) => {
      const { draft, isSure } = state;
      set({ guess: draft, sure: isSure });
      report(currentTarget, "qkv-predicted", { isRight: isRight(state, draft), isSure });
    },
  });

/** Return the button for another guess. It empties the guess, which is a string or a list, and keeps it as the draft.
 * @param {Asking} state
 * @param {SetState<any>} set */
const again = ({ guess, sure }, set) =>
  button({
    label: t`try again`,
    onClick: (/** @type {Event} */ { currentTarget }) => {
      set({ draft: guess, isSure: sure, guess: guess.slice(0, 0), sure: false });
      report(currentTarget, "qkv-guesses-again");
    },
  });

/** Press the button when the reader presses Enter in a field for a number.
 * @param {KeyboardEvent & { target: HTMLElement, currentTarget: HTMLElement }} event */
const checkOnEnter = ({ key, target, currentTarget }) => {
  if (key !== "Enter" || !target.matches("input[type=number]")) return;
  const check = /** @type {HTMLButtonElement} */ (currentTarget.querySelector(".qkv-commit > .qkv-button"));
  if (check.disabled) return;
  check.focus(); // the field is disabled now
  check.click();
};

/** Report to the page what the reader did: it covers what answers the question.
 * @param {EventTarget | null} element
 * @param {string} name
 * @param {object} [detail] */
const report = (element, name, detail) => element?.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));

/** Return a text as a template, with `code`, *emphasis* and subscripts: d_k, W_Q, d_model.
 * @param {string} text
 * @returns {unknown[]} */
export function rich(text) {
  return text.split(/(`[^`]+`|\*[^*]+\*|[\p{L}]_\p{L}+|[\p{L}]_\d)/u).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part[0] === "`") return html`<code>${part.slice(1, -1)}</code>`;
    if (part[0] === "*") return html`<em>${part.slice(1, -1)}</em>`;
    return html`<var>${part[0]}<sub>${part.slice(2)}</sub></var>`;
  });
}

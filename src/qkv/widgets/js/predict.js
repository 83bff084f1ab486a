import { html, nothing, t } from "./base.js";
import { isChecked, prediction, rich, tick } from "./predicting.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** @import { SetState } from "./base.js" */
/** @import { Asking } from "./predicting.js" */
/** @typedef {Asking & { options: [string, string][], answer: string, guess: string, draft: string | null }} State */
/** @typedef {{ text: string, index: number, mine: string | null, set: SetState<State>, id: string }} Option */
/** @typedef {{ why: string, letter: string, answer: string, guess: string }} Reason */

export default prediction("Predict", {
  isRight: ({ answer }, guess) => guess === answer,
  verdict: (/** @type {State} */ { guess, answer }) =>
    guess === answer ? t`That is right.` : t`You said ${guess}. The answer is ${answer}.`,
  form: (state, mine, set, id) => state.options.map(([text], index) => option(state, { text, index, mine, set, id })),
  explained: ({ options, answer, guess }) => {
    const reasons = options.map(([, why], index) => ({ why, letter: LETTERS[index], answer, guess }));
    const [first, others] = [true, false].map((isFirst) =>
      reasons.filter(({ letter }) => [answer, guess].includes(letter) === isFirst),
    );
    return html`<ol>${first.map(reason)}</ol>
      ${others.length ? html`<details class="qkv-tables"><summary>${t`Why the others are wrong`}</summary><ol>${others.map(reason)}</ol></details>` : nothing}`;
  },
});

/** Return an option: a row to press, with its letter in a circle. After the check, a sign replaces the letter of the right
 * option and of the guess.
 * @param {State} state
 * @param {Option} option */
const option = (state, { text, index, mine, set, id }) => {
  const letter = LETTERS[index];
  const isRight = letter === state.answer;
  const isMarked = isChecked(state) && (isRight || letter === mine);
  return html`<label class="qkv-option" data-mark=${isMarked ? isRight : nothing}>
    <input class="qkv-over" type="radio" name="${id}-guess" .checked=${letter === mine} @change=${() => set({ draft: letter })}>
    <b class="qkv-option-letter" aria-hidden="true">${isMarked ? tick(isRight) : letter}</b>
    <span><span class="qkv-unseen">${letter}. </span>${rich(text)}</span>
  </label>`;
};

const reason = (/** @type {Reason} */ { why, letter, answer, guess }) => {
  const isRight = letter === answer;
  return html`<li data-mark=${isRight}>
    ${tick(isRight)}
    <p>
      <span class="qkv-unseen">${isRight ? t`Right:` : t`Wrong:`}</span>
      <b>${letter}.</b> ${letter === guess ? html`<small class="qkv-yours">${t`your guess`}</small>` : nothing}
      <span class="qkv-why">${rich(why)}</span>
    </p>
  </li>`;
};

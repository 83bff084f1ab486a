import { html, nothing } from "./base.js";
import { asked, prediction, rich } from "./predicting.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** @import { Asking } from "./predicting.js" */
/** @typedef {Asking & { options: [string, string][], answer: string, guess: string, leaning: string }} State */

export default prediction("Predict", {
  own: { leaning: "" },
  leaning: (/** @type {State} */ { leaning }) => leaning || undefined,
  isRight: ({ answer }, guess) => guess === answer,
  verdict: ({ guess, answer }) => (guess === answer ? "That is right." : `The answer is ${answer}.`),
  ask: (state, set, id) => html`<fieldset>
    <legend>${asked(state.question)}</legend>
    ${state.options.map(([option], index) => choice({ option, letter: LETTERS[index], leaning: state.leaning, set, id }))}
  </fieldset>`,
  show: ({ options, answer, guess }) =>
    html`<ol>${options.map(([option, why], index) => reason({ option, why, letter: LETTERS[index], answer, guess }))}</ol>`,
});

const choice = ({ option, letter, leaning, set, id }) => html`<label class="qkv-option">
  <input type="radio" name="${id}-guess" .checked=${letter === leaning} @change=${() => set({ leaning: letter })}>
  <span><b>${letter}.</b> ${rich(option)}</span>
</label>`;

function reason({ option, why, letter, answer, guess }) {
  const right = letter === answer;
  return html`<li class=${right ? "qkv-right" : "qkv-wrong"}>
    <p>
      <span class="qkv-tick" aria-hidden="true">${right ? "✓" : "✗"}</span>
      <span class="qkv-unseen">${right ? "Right:" : "Wrong:"}</span>
      <b>${letter}.</b> ${rich(option)} ${letter === guess ? html`<small class="qkv-yours">your guess</small>` : nothing}
    </p>
    <p class="qkv-why">${rich(why)}</p>
  </li>`;
}

import { button, html, nothing, widget } from "./base.js";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

export default widget("Predict", {
  own: { leaning: "" },
  says: ({ guess, answer }) => (guess ? `You guessed ${guess}. ${verdict(guess, answer)}` : ""),
  // One button in one place, so that the focus stays on it when the reader commits.
  view: (state, set, id) => html`<div class="qkv-predict">
    ${state.guess ? reasons(state) : options(state, set, id)}
    <div class="qkv-commit">
      ${state.guess ? html`<b>${verdict(state.guess, state.answer)}</b>` : nothing}
      ${button(state.guess ? { label: "guess again", onClick: () => set({ guess: "" }) } : commit(state, set))}
    </div>
  </div>`,
});

const verdict = (guess, answer) => (guess === answer ? "That is right." : `The answer is ${answer}.`);

const commit = ({ leaning }, set) => ({
  label: leaning ? `commit to ${leaning}` : "choose one first",
  disabled: !leaning,
  onClick: () => set({ guess: leaning }),
});

const head = (question) => html`<span class="qkv-chip">Predict</span> ${rich(question)}`;

const options = (state, set, id) => html`<fieldset>
  <legend>${head(state.question)}</legend>
  ${state.options.map(([option], index) => choice({ option, letter: LETTERS[index], leaning: state.leaning, set, id }))}
</fieldset>`;

const choice = ({ option, letter, leaning, set, id }) => html`<label class="qkv-option">
  <input type="radio" name="${id}-guess" .checked=${letter === leaning} @change=${() => set({ leaning: letter })}>
  <span><b>${letter}.</b> ${rich(option)}</span>
</label>`;

const reasons = ({ question, options, answer, guess }) => html`<p class="qkv-question">${head(question)}</p>
  <ol>${options.map(([option, why], index) => reason({ option, why, letter: LETTERS[index], answer, guess }))}</ol>`;

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

/** Plain text with `code`, *emphasis* and subscripts: d_k, W_Q, d_model. */
function rich(text) {
  return text.split(/(`[^`]+`|\*[^*]+\*|[\p{L}]_\p{L}+|[\p{L}]_\d)/u).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part[0] === "`") return html`<code>${part.slice(1, -1)}</code>`;
    if (part[0] === "*") return html`<em>${part.slice(1, -1)}</em>`;
    return html`<var>${part[0]}<sub>${part.slice(2)}</sub></var>`;
  });
}

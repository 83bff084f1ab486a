/* The common part of all predictions: the question, a button that commits, and the answer, which is shown then. */

import { button, html, toggle, widget } from "./base.js";

/** @import { SetState } from "./base.js" */
/** @typedef {{ question: string, guess: string | any[], sure: boolean, isSure: boolean }} Asking */

/** Return a widget that asks for a guess and then shows the answer. Its state has the traits `question`, `guess` (empty
 * before the reader commits) and `sure`, and `isSure` of this view alone.
 *
 *   own                    the state of this view alone, with the guess before the reader commits to it
 *   ask(state, set, id)    returns the controls with which the reader makes a guess
 *   leaning(state)         returns the guess before the reader commits to it, or undefined
 *   show(state)            returns the guess beside the answer
 *   isRight(state, guess)  checks whether a guess counts as right
 *   verdict(state)         returns one sentence about the committed guess
 *
 * @template {Asking} S
 * @param {string} name
 * @param {object} parts
 * @param {Partial<S>} parts.own
 * @param {(state: S, set: SetState<S>, id: string) => unknown} parts.ask
 * @param {(state: S) => S["guess"] | undefined} parts.leaning
 * @param {(state: S) => unknown} parts.show
 * @param {(state: S, guess: S["guess"]) => boolean} parts.isRight
 * @param {(state: S) => string} parts.verdict */
export const prediction = (name, { own, ask, leaning, show, isRight, verdict }) =>
  widget(name, {
    own: /** @type {Partial<S>} */ ({ ...own, isSure: false }),
    says: (/** @type {S} */ state) => (isCommitted(state) ? verdict(state) : ""),
    // The same element is the button before and after the commitment, so that it keeps the focus.
    view: (state, set, id) => html`<div class="qkv-predict">
      ${isCommitted(state) ? answer(state, show) : ask(state, set, id)}
      <div class="qkv-commit">
        ${isCommitted(state) ? html`<b>${verdict(state)}</b>` : sureness(state, set)}
        ${isCommitted(state) ? again(state, set) : commit(state, set, leaning(state), isRight)}
      </div>
    </div>`,
  });

const isCommitted = ({ guess }) => guess.length > 0;

const answer = (state, show) => html`<p class="qkv-question">${asked(state.question)}</p>${show(state)}`;

const sureness = ({ isSure }, set) => html`
  ${toggle({ label: "I am sure", checked: isSure, onChange: (now) => set({ isSure: now }) })}
  <span class="qkv-note">${isSure ? "counts as sure" : "counts as a guess"}</span>`;

/** Return the button for another guess. It empties the guess, which is a string or a list. */
const again = ({ guess }, set) =>
  button({ label: "guess again", onClick: () => set({ guess: guess.slice(0, 0), sure: false }) });

const commit = (state, set, guess, isRight) =>
  button({
    label: guess === undefined ? "guess first" : typeof guess === "string" ? `commit to ${guess}` : "commit",
    disabled: guess === undefined,
    onClick: ({ currentTarget }) => {
      const { isSure } = state;
      set({ guess, sure: isSure });
      const detail = { isRight: isRight(state, guess), isSure };
      currentTarget.dispatchEvent(new CustomEvent("qkv-predicted", { bubbles: true, detail }));
    },
  });

/** Return the question after a label that asks for a prediction. */
export const asked = (question) => html`<span class="qkv-chip">Predict</span> ${rich(question)}`;

/** Return a text as a template, with `code`, *emphasis* and subscripts: d_k, W_Q, d_model. */
export function rich(text) {
  return text.split(/(`[^`]+`|\*[^*]+\*|[\p{L}]_\p{L}+|[\p{L}]_\d)/u).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part[0] === "`") return html`<code>${part.slice(1, -1)}</code>`;
    if (part[0] === "*") return html`<em>${part.slice(1, -1)}</em>`;
    return html`<var>${part[0]}<sub>${part.slice(2)}</sub></var>`;
  });
}

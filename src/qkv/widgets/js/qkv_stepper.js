import { live } from "lit-html/directives/live.js";
import { button, choices, dragged, html, num, tables, toggle, widget } from "./base.js";
import { singleHead, transpose } from "./maths.js";

const TOKENS = ["cat", "chased", "mouse"];
const MOST = 1000; // the largest number that can be entered
const [PIXELS, STEP] = [8, 0.5]; // a drag changes a number by STEP for every PIXELS

/** The steps: the matrices that are multiplied (`left` by `top`), the result, its colour, and what it means. */
const STEPS = {
  queries: { left: "x", top: "w_q", result: "q", kind: "query", says: "what each token looks for" },
  keys: { left: "x", top: "w_k", result: "k", kind: "key", says: "what each token can be found by" },
  values: { left: "x", top: "w_v", result: "v", kind: "value", says: "what each token hands over" },
  scores: { left: "q", top: "kT", result: "scores", kind: "ink", says: "every query meets every key" },
  weights: { left: "scores", result: "weights", kind: "weight", says: "each row sums to 1" },
  output: { left: "weights", top: "v", result: "out", kind: "output", says: "a mixture of values" },
};
const NAMES = Object.keys(STEPS);
const TYPE_A_NUMBER = "Type a number, such as 2 or −0.5.";
const IN_A_NUMBER = /^[-\d.,+eE−]*$/;
const LETTERS = { x: "X", w_q: "W Q", w_k: "W K", w_v: "W V" };
const TITLES = {
  x: html`<i>X</i>: type, or drag sideways`,
  w_q: html`<i>W<sub>Q</sub></i>`,
  w_k: html`<i>W<sub>K</sub></i>`,
  w_v: html`<i>W<sub>V</sub></i>`,
  queries: html`queries, <i>Q</i>`,
  keys: html`keys, <i>K</i>`,
  values: html`values, <i>V</i>`,
  scores: "scores",
  weights: "weights",
  output: "output",
};

/** @typedef {{ x: number[][], w_q: number[][], w_k: number[][], w_v: number[][], scaled: boolean }} Given */
/** @typedef {Given & { step: string, row: number, column: number, first: Given | null,
 *   grip: { from: number, at: number } | null, changed: Record<string, boolean[][]>, edits: number, answer: string,
 *   draft: Record<string, string> }} State */

export default widget("QKVStepper", {
  // `first` has the matrices before the first edit, `grip` the number and the pointer when a drag began. `changed`
  // marks the results that the last edit changed, and `edits` counts the edits. `answer` is a message about an invalid
  // number, `draft` the text that is being typed, by cell.
  own: { first: null, grip: null, changed: {}, edits: 0, answer: "", draft: {} },
  says: (/** @type {State} */ state) =>
    state.answer ||
    `${state.step}, row ${state.row + 1}, column ${state.column + 1}: ${spelled(state, worked(state)).join(" ")}`,
  view: (state, set, id) => {
    const parts = worked(state);
    return html`${controls(state, set, id)} ${canvas(state, set, parts)} ${legend(state)}
      <p class="qkv-spelled">${
        state.answer
          ? html`<b>${state.answer}</b>`
          : html`${place(state)} ${spelled(state, parts).map((term) => html`<span>${term}</span> `)}`
      }</p>
      ${tables(() => everything(parts))}`;
  },
});

/** Return all matrices of the worked example for a state. */
function worked({ x, w_q, w_k, w_v, scaled }) {
  const parts = singleHead({ x, wQ: w_q, wK: w_k, wV: w_v, scaled });
  return { ...parts, x, w_q, w_k, w_v, kT: transpose(parts.k) };
}

function controls(state, set, id) {
  const at = NAMES.indexOf(state.step);
  const go = (index) => set({ step: NAMES[index], answer: "" });
  const { first } = state;
  return html`<div class="qkv-controls">
    ${choices({
      label: "step",
      name: `${id}-step`,
      value: state.step,
      options: NAMES.map((name, i) => ({ value: name, label: `${i + 1} ${name}` })),
      onChange: (step) => set({ step, answer: "" }),
    })}
    <div class="qkv-walk">
      ${button({ label: html`←<span class="qkv-unseen"> back</span>`, disabled: at === 0, onClick: () => go(at - 1) })}
      ${button({ label: html`<span class="qkv-unseen">next </span>→`, disabled: at === NAMES.length - 1, onClick: () => go(at + 1) })}
      ${toggle({ label: "divide by √3", checked: state.scaled, onChange: (scaled) => set(edit(state, { scaled })) })}
      ${button({
        label: html`undo<span class="qkv-unseen"> edits</span>`,
        disabled: !first || areSame(first, given(state)),
        onClick: () => set(markedChanges(state, first)),
      })}
    </div>
  </div>`;
}

/** Return the values from which the results are computed. */
const given = ({ x, w_q, w_k, w_v, scaled }) => ({ x, w_q, w_k, w_v, scaled });

/** Check whether two given examples have the same numbers. */
function areSame(one, other) {
  const [numbers, others] = [one, other].map((each) => Object.values(each).flat(2));
  return numbers.every((number, i) => number === others[i]);
}

/** Return the change of the state for an edit, which also keeps the values before the first edit. */
const edit = (state, changes) => ({ first: state.first ?? given(state), ...markedChanges(state, changes) });

/** Return changes of the state, with marks for the entries of the results that they change. */
function markedChanges(state, changes) {
  const before = given(state);
  const [was, is] = [worked(before), worked({ ...before, ...changes })];
  const changed = Object.fromEntries(
    NAMES.map((name) => {
      const { result } = STEPS[name];
      return [name, is[result].map((row, i) => row.map((entry, j) => entry !== was[result][i][j]))];
    }),
  );
  return { ...changes, changed, edits: state.edits + 1, answer: "" };
}

/* ---- one canvas: the given matrices and the six results, with the entries lit up that made the chosen one */

function canvas(state, set, parts) {
  const lit = litBy(state);
  const start = (part) => editable(state, set, part, lit[part] ?? (() => false));
  const result = (name) => outcome(state, set, parts, name, lit[STEPS[name].result] ?? (() => false));
  return html`<div class="qkv-canvas" data-flash=${state.edits % 2}>
    <div class="qkv-given">${start("x")}<p>${formula(state)}<small>${STEPS[state.step].says}</small></p></div>
    <div>${["w_q", "w_k", "w_v"].map(start)}</div>
    <div>${["queries", "keys", "values"].map(result)}</div>
    <div>${["scores", "weights", "output"].map(result)}</div>
  </div>`;
}

/** Return the legend of the bar in changed cells, which is hidden while there is none. */
const legend = ({ changed }) =>
  html`<p class="qkv-note qkv-changed-legend ${
    NAMES.some((name) => changed[name]?.flat().some(Boolean)) ? "" : "qkv-changed-none"
  }"><i></i> changed by the last edit</p>`;

/** Return for each matrix that the chosen entry depends on a function that checks whether an entry is part of that. */
function litBy({ step, row, column }) {
  const inRow = (i) => i === row;
  const inColumn = (_, j) => j === column;
  if (step === "scores") return { q: inRow, k: (i) => i === column };
  if (step === "weights") return { scores: inRow };
  const { left, top } = STEPS[step];
  return { [left]: inRow, [top]: inColumn };
}

/** Return the result to choose while the number at i, j of `part` is edited. If the chosen result does not depend on
 * that number, this is one of the same step that does. All weights and outputs depend on X, W_Q and W_K. */
function dependent({ step, column }, part, i, j) {
  if (part === "x") return isProduct(step) || (step === "scores" && column !== i) ? { row: i } : {};
  return STEPS[step].top === part || (step === "output" && part === "w_v") ? { column: j } : {};
}

const isProduct = (step) => STEPS[step].left === "x";

const formula = ({ step, scaled }) =>
  ({
    queries: html`<b><i class="qkv-q">Q</i> = <i>X W<sub>Q</sub></i></b>`,
    keys: html`<b><i class="qkv-k">K</i> = <i>X W<sub>K</sub></i></b>`,
    values: html`<b><i class="qkv-v">V</i> = <i>X W<sub>V</sub></i></b>`,
    scores: html`<b><i class="qkv-q">Q</i> <i class="qkv-k">K</i>ᵀ${scaled ? " / √3" : ""}</b>`,
    weights: html`<b>softmax by row</b>`,
    output: html`<b>weights <i class="qkv-v">V</i></b>`,
  })[step];

/** @param {(i: number) => unknown} [head] */
const matrix = (title, rows, cell, kind, head = () => "") => html`<table class="qkv-matrix3 qkv-${kind}-table">
  <caption>${title}</caption>
  <tbody>${rows.map((row, i) => html`<tr>${head(i)}${row.map((entry, j) => cell(entry, i, j))}</tr>`)}</tbody>
</table>`;

const named = (i) => html`<th scope="row">${i + 1} ${TOKENS[i]}</th>`;

/** Return a matrix of fields for numbers, which can also be dragged sideways. */
const editable = (state, set, part, lit) =>
  matrix(
    TITLES[part],
    state[part],
    (entry, i, j) => {
      const put = (value) =>
        set({
          draft: {},
          ...edit(state, { [part]: withEntry(state[part], i, j, value) }),
          ...dependent(state, part, i, j),
        });
      const name = `${part} ${i} ${j}`;
      const drag = dragged(({ event, isPress }) => {
        if (isPress) set({ grip: { from: entry, at: event.clientX } });
        const steps = Math.round((event.clientX - state.grip.at) / PIXELS);
        if (steps || state[part][i][j] !== state.grip.from) put(within(state.grip.from + STEP * steps));
      });
      return html`<td class=${lit(i, j) ? "qkv-lit" : ""}>
        <label><span class="qkv-unseen">${LETTERS[part]}, row ${i + 1}, column ${j + 1}</span>
          <input class="qkv-drag" type="number" step="any" .value=${live(state.draft[name] ?? String(entry))} @pointerdown=${drag} @pointermove=${drag}
            @click=${selectText} @dragstart=${preventDrag} @beforeinput=${({ data }) => warnOfLetter(data, state, set)}
            @input=${({ target }) => set({ draft: { [name]: target.value } })}
            @change=${({ target }) => acceptTyped(target, put, set)} @blur=${() => set({ draft: {} })}></label>
      </td>`;
    },
    part,
    part === "x" ? named : undefined,
  );

const within = (value) => Math.min(MOST, Math.max(-MOST, value));

// A click selects the number, so that typing replaces it. The browser must not drag the selected text, because a drag
// changes the number.
const selectText = ({ target }) => target.select();
const preventDrag = (event) => event.preventDefault();

/** Show a message when the reader types a letter, which most browsers silently keep out of a number field. */
function warnOfLetter(data, { answer }, set) {
  const now = IN_A_NUMBER.test(data ?? "") ? "" : TYPE_A_NUMBER;
  if (now !== answer) set({ answer: now });
}

/** Accept the number that was typed, limited to the range, or show a message about it. */
function acceptTyped(target, put, set) {
  const value = target.valueAsNumber;
  if (Number.isNaN(value)) return set({ answer: TYPE_A_NUMBER, draft: {} });
  put(within(value));
  if (within(value) !== value)
    set({ answer: `${num(value)} is out of range: numbers go from −1,000 to 1,000. It is ${num(within(value))} now.` });
}

const withEntry = (rows, i, j, value) =>
  rows.map((row, r) => row.map((entry, c) => (r === i && c === j ? value : entry)));

/** Return a matrix of results, each a button that shows how it was computed. A bar marks what the last edit changed. */
function outcome(state, set, parts, name, lit) {
  const cell = (entry, i, j) => {
    const here = name === state.step && i === state.row && j === state.column;
    const point = () => set({ step: name, row: i, column: j, answer: "" });
    const kinds = [
      name === "weights" ? "qkv-heat" : "",
      here ? "qkv-chosen" : "",
      lit(i, j) ? "qkv-lit" : "",
      state.changed[name]?.[i][j] ? "qkv-changed" : "",
    ];
    return html`<td class=${kinds.join(" ")} style="--qkv-p: ${name === "weights" ? entry : 0}">
      <button type="button" class="qkv-outcome" aria-pressed=${here} @click=${point} @focus=${point}
        aria-label="${name}, row ${i + 1}, column ${j + 1}: ${brief(entry)}"
        @pointerenter=${({ pointerType }) => pointerType === "mouse" && name === state.step && point()}>${brief(entry)}</button>
    </td>`;
  };
  return matrix(TITLES[name], parts[STEPS[name].result], cell, STEPS[name].kind);
}

const place = ({ step, row, column }) => {
  const [asker, other] = [TOKENS[row], TOKENS[column]];
  if (step === "scores") return html`<b>${asker}'s query on ${other}'s key:</b>`;
  if (step === "weights") return html`<b>${asker} reads ${other} with weight:</b>`;
  return html`<b>${asker}, ${step} ${column + 1}:</b>`;
};

/** Return the computation of the chosen entry in full, as pieces between which a line may break. */
function spelled({ step, row, column, scaled }, parts) {
  const { left, top, result } = STEPS[step];
  const value = `= ${short(parts[result][row][column])}`;
  if (step === "weights") {
    const powers = parts.scores[row].map((score) => `e^${signed(score)}`);
    return [`${powers[column]} / (${powers[0]}`, `+ ${powers[1]}`, `+ ${powers[2]})`, value];
  }
  const terms = parts[left][row].map(
    (entry, f) => `${f ? `+ ${signed(entry)}` : short(entry)} · ${signed(parts[top][f][column])}`,
  );
  if (step !== "scores" || !scaled) return [...terms, value];
  return [`(${terms[0]}`, ...terms.slice(1, -1), `${terms.at(-1)})`, "/ √3", value];
}

const signed = (x) => (x < 0 ? `(${short(x)})` : short(x));
/** Return a number with all its decimal places if it has at most three, else rounded. */
function short(x) {
  const enough = [0, 1, 2, 3].find((places) => Number(x.toFixed(places)) === x);
  return num(x, { places: enough ?? (Math.abs(x) < 10 ? 3 : 1) });
}

/** Return a number that fits into a cell: with three digits, or fewer if it is negative. */
function brief(x) {
  const size = Math.abs(x) * (x < 0 ? 10 : 1);
  if (Math.abs(x) >= 999.5) return x.toExponential(0).replace("e+", "e").replace("-", "−");
  return Number.isInteger(x) ? num(x) : num(x, { places: size < 9.995 ? 2 : size < 99.95 ? 1 : 0 });
}

const everything = ({ q, k, v, scores, weights, out }) =>
  Object.entries({ Q: q, K: k, V: v, scores, weights, output: out }).map(([caption, rows]) => ({
    caption,
    head: ["token", "1", "2", "3"],
    rows: rows.map((row, i) => [TOKENS[i], ...row.map((entry) => num(entry, { digits: 5 }))]),
  }));

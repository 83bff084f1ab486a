import { button, choices, html, nothing, num, numberInput, tables, toggle, widget } from "./base.js";
import { singleHead, transpose } from "./maths.js";

const TOKENS = ["token 1", "token 2", "token 3"];
const LETTER = {
  x: html`<i>X</i>`,
  w_q: html`<i>W<sub>Q</sub></i>`,
  w_k: html`<i>W<sub>K</sub></i>`,
  w_v: html`<i>W<sub>V</sub></i>`,
};

/** What each step multiplies (left by top), what comes out, and in which colour. A trait's name makes an operand editable. */
const STEPS = {
  queries: { left: "x", top: "w_q", result: "q", name: "Q", kind: "query", says: "what each token looks for" },
  keys: { left: "x", top: "w_k", result: "k", name: "K", kind: "key", says: "what each token can be found by" },
  values: { left: "x", top: "w_v", result: "v", name: "V", kind: "value", says: "what each token hands over" },
  scores: { left: "q", top: "kT", result: "scores", name: "scores", kind: "ink", says: "every query meets every key" },
  weights: {
    left: "scores",
    result: "weights",
    name: "weights",
    kind: "weight",
    says: "each row shares out a total of 1",
  },
  output: {
    left: "weights",
    top: "v",
    result: "out",
    name: "output",
    kind: "output",
    says: "a mixture of values for each token",
  },
};
const NAMES = Object.keys(STEPS);
const SHOWN = { q: "Q", v: "V", kT: "Kᵀ", scores: "scores", weights: "weights" };
const KINDS = { q: "query", kT: "key", v: "value", scores: "ink", weights: "weight" };

export default widget("QKVStepper", {
  own: { first: null },
  says: (state) =>
    `${STEPS[state.step].name}, row ${state.row + 1}, column ${state.column + 1}: ${spelled(state, worked(state))}`,
  view: (state, set, id) => {
    const parts = worked(state);
    return html`${controls(state, set, id)} ${tableau(state, set, parts)}
      <p class="qkv-spelled">${place(state)} <span>${spelled(state, parts)}</span></p>
      ${tables(() => everything(parts))}`;
  },
});

/** All tables of the worked example, as this state has them. */
function worked({ x, w_q, w_k, w_v, scaled }) {
  const parts = singleHead({ x, wQ: w_q, wK: w_k, wV: w_v, scaled });
  return { ...parts, x, w_q, w_k, w_v, kT: transpose(parts.k) };
}

function controls(state, set, id) {
  const at = NAMES.indexOf(state.step);
  const go = (index) => set({ step: NAMES[index] });
  const { x, w_q, w_k, w_v, first } = state;
  return html`<div class="qkv-controls">
    ${choices({
      label: "step",
      name: `${id}-step`,
      value: state.step,
      options: NAMES.map((name, i) => ({ value: name, label: `${i + 1} ${name}` })),
      onChange: (step) => set({ step }),
    })}
    <div class="qkv-walk">
      ${button({ label: "← back", disabled: at === 0, onClick: () => go(at - 1) })}
      ${button({ label: "next →", disabled: at === NAMES.length - 1, onClick: () => go(at + 1) })}
      ${toggle({ label: "divide scores by √3", checked: state.scaled, onChange: (scaled) => set({ scaled }) })}
      ${button({
        label: "undo edits",
        disabled: !first || JSON.stringify(first) === JSON.stringify({ x, w_q, w_k, w_v }),
        onClick: () => set({ ...first }),
      })}
    </div>
  </div>`;
}

/** The operand on the left, the one on top, and the result where their rows and columns meet. */
function tableau(state, set, parts) {
  const { left, top, result, name, kind, says } = STEPS[state.step];
  const edit = (trait) => (i, j) => (value) => {
    const { x, w_q, w_k, w_v } = state;
    const changed = state[trait].map((row, r) => row.map((entry, c) => (r === i && c === j ? value : entry)));
    set({ first: state.first ?? { x, w_q, w_k, w_v }, [trait]: changed });
  };
  const operand = (part, lit) =>
    part in LETTER ? editable(part, parts[part], lit, edit(part)) : fixed(part, parts[part], lit);
  const wholeRow = state.step === "weights";
  return html`<div class="qkv-tableau qkv-${kind}-result">
    <div class="qkv-product">${formula(state)}<small>${says}</small></div>
    <div class="qkv-operand-top">${top ? operand(top, (_, j) => j === state.column) : nothing}</div>
    <div class="qkv-operand-left">${operand(left, (i) => i === state.row)}</div>
    <div class="qkv-operand-result">
      ${caption(name)}
      <table><tbody>
        ${parts[result].map(
          (row, i) => html`<tr>
            ${row.map((entry, j) => resultCell({ state, set, entry, i, j, name, wholeRow }))}
          </tr>`,
        )}
      </tbody></table>
    </div>
  </div>`;
}

const caption = (name) => html`<p class="qkv-label">${name}</p>`;

const formula = ({ step, scaled }) =>
  ({
    queries: html`<b><i class="qkv-q">Q</i> = <i>X W<sub>Q</sub></i></b>`,
    keys: html`<b><i class="qkv-k">K</i> = <i>X W<sub>K</sub></i></b>`,
    values: html`<b><i class="qkv-v">V</i> = <i>X W<sub>V</sub></i></b>`,
    scores: html`<b><i class="qkv-q">Q</i> <i class="qkv-k">K</i>ᵀ${scaled ? " / √3" : ""}</b>`,
    weights: html`<b>softmax, row by row</b>`,
    output: html`<b>weights · <i class="qkv-v">V</i></b>`,
  })[step];

const editable = (part, rows, lit, edit) => html`${caption(LETTER[part])}
  <table><tbody>
    ${rows.map(
      (row, i) => html`<tr>
        ${row.map(
          (entry, j) => html`<td class=${lit(i, j) ? "qkv-lit" : ""}>
            ${numberInput({
              label: `${part.toUpperCase().replace("_", " ")}, row ${i + 1}, column ${j + 1}`,
              value: entry,
              min: -1000,
              max: 1000,
              inCell: true,
              onInput: edit(i, j),
            })}
          </td>`,
        )}
      </tr>`,
    )}
  </tbody></table>`;

const fixed = (part, rows, lit) => html`${caption(SHOWN[part])}
  <table class="qkv-${KINDS[part]}-operand"><tbody>
    ${rows.map((row, i) => html`<tr>${row.map((entry, j) => html`<td class=${lit(i, j) ? "qkv-lit" : ""}>${short(entry)}</td>`)}</tr>`)}
  </tbody></table>`;

function resultCell({ state, set, entry, i, j, name, wholeRow }) {
  const here = i === state.row && j === state.column;
  const lit = here ? "qkv-chosen" : wholeRow && i === state.row ? "qkv-lit" : "";
  const point = () => set({ row: i, column: j });
  const heat = name === "weights" ? "qkv-heat" : "";
  return html`<td>
    <button type="button" class="qkv-outcome ${heat} ${lit}" style="--qkv-p: ${name === "weights" ? entry : 0}"
      aria-pressed=${here} aria-label="${name}, row ${i + 1}, column ${j + 1}: ${short(entry)}"
      @click=${point} @focus=${point} @pointerenter=${point}>${short(entry)}</button>
  </td>`;
}

const place = ({ step, row, column }) => {
  const [asker, other] = [TOKENS[row], TOKENS[column]];
  if (step === "scores") return html`<b>${asker}'s query on ${other}'s key:</b>`;
  if (step === "weights") return html`<b>${asker} reads ${other} with weight:</b>`;
  return html`<b>${asker}, ${STEPS[step].name} ${column + 1}:</b>`;
};

/** The arithmetic behind the chosen entry, in full. */
function spelled({ step, row, column, scaled }, parts) {
  const { left, top, result } = STEPS[step];
  const value = short(parts[result][row][column]);
  if (step === "weights") {
    const powers = parts.scores[row].map((score) => `e^${signed(score)}`);
    return `${powers[column]} / (${powers.join(" + ")}) = ${value}`;
  }
  const terms = parts[left][row].map((entry, f) => `${short(entry)} · ${signed(parts[top][f][column])}`).join(" + ");
  return step === "scores" && scaled ? `(${terms}) / √3 = ${value}` : `${terms} = ${value}`;
}

const signed = (x) => (x < 0 ? `(${short(x)})` : short(x));
const short = (x) => (Number.isInteger(x) ? num(x) : num(x, { places: Math.abs(x) < 10 ? 3 : 1 }));

const everything = ({ q, k, v, scores, weights, out }) =>
  Object.entries({ Q: q, K: k, V: v, scores, weights, output: out }).map(([caption, rows]) => ({
    caption,
    head: ["token", "1", "2", "3"],
    rows: rows.map((row, i) => [i + 1, ...row.map((entry) => num(entry, { digits: 5 }))]),
  }));

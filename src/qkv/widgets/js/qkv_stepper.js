import { live } from "lit-html/directives/live.js";
import { button, dragged, html, nearestOf, num, t, tables, toggle, widget } from "./base.js";
import { singleHead, transpose } from "./maths.js";
import { fitting, MOST as MOST_DRAGGED, queryPicture } from "./query_picture.js";

const MOST = 1000; // the largest number that can be entered
const [PIXELS, STEP] = [8, 0.5]; // a drag changes a number by STEP for every PIXELS

/** @import { SetState } from "./base.js" */
/** @typedef {"x" | "w_q" | "w_k" | "w_v"} GivenPart */
/** @typedef {GivenPart | "q" | "k" | "v" | "kT" | "scores" | "weights" | "out"} Part a matrix */
/** @typedef {"queries" | "keys" | "values" | "scores" | "weights" | "output"} Step */
/** @typedef {Record<GivenPart, number[][]> & { scaled: boolean }} Given */
/** @typedef {Given & { tokens: string[], matrices: boolean, step: Step, row: number, column: number, first: Given | null,
 *   grip: { from: number, at: number } | null, changed: Record<string, boolean[][]>, moved: number, was: number[], touched: boolean, answer: string,
 *   draft: Record<string, string> }} State */
/** @typedef {ReturnType<typeof worked>} Worked all matrices of the example */
/** @typedef {{ row?: number, column?: number }} Frame around a row or a column of a matrix */
/** @typedef {(value: number) => Partial<State>} Put the change of the state for a new number */

/** The steps: the matrices that are multiplied (`left` by `top`), the result, and its colour.
 * @type {Record<Step, { left: Part, top?: Part, result: Part, kind: string }>} */
const STEPS = {
  queries: { left: "x", top: "w_q", result: "q", kind: "query" },
  keys: { left: "x", top: "w_k", result: "k", kind: "key" },
  values: { left: "x", top: "w_v", result: "v", kind: "value" },
  scores: { left: "q", top: "kT", result: "scores", kind: "ink" },
  weights: { left: "scores", result: "weights", kind: "weight" },
  output: { left: "weights", top: "v", result: "out", kind: "output" },
};
const NAMES = /** @type {Step[]} */ (Object.keys(STEPS));
const typeANumber = () => t`Type a number, such as 2 or −0.5.`;
const IN_A_NUMBER = /^[-\d.,+eE−]*$/;
const LETTERS = { x: "X", w_q: "W Q", w_k: "W K", w_v: "W V" };
/** @type {Record<GivenPart | Step, () => unknown>} */
const TITLES = {
  x: () => t`tokens, ${html`<i>X</i>`}`,
  w_q: () => html`<i>W<sub>Q</sub></i>`,
  w_k: () => html`<i>W<sub>K</sub></i>`,
  w_v: () => html`<i>W<sub>V</sub></i>`,
  queries: () => t`1 queries, ${html`<i>Q</i>`}`,
  keys: () => t`2 keys, ${html`<i>K</i>`}`,
  values: () => t`3 values, ${html`<i>V</i>`}`,
  scores: () => t`4 scores`,
  weights: () => t`5 weights`,
  output: () => t`6 output`,
};
/** @type {Record<Step, () => string>} */
const NAMED = {
  queries: () => t`queries`,
  keys: () => t`keys`,
  values: () => t`values`,
  scores: () => t`scores`,
  weights: () => t`weights`,
  output: () => t`output`,
};
/** The matrix of weights that a narrow screen shows at each step.
 * @type {Record<Step, GivenPart>} */
const FACTORS = { queries: "w_q", keys: "w_k", values: "w_v", scores: "w_q", weights: "w_q", output: "w_v" };

export default widget("QKVStepper", {
  // `first` has the matrices before the first edit, and `grip` the number and the pointer when a drag began. `changed`
  // marks the results that the last edit changed. `moved` is the number of the opening that was moved last, and `was` the
  // weights before it was moved. Before the opening is `touched`, it shows less. `answer` is a message about an invalid number, `draft` the text that is
  // being typed, by cell.
  own: { first: null, grip: null, changed: {}, moved: -1, was: [], touched: false, answer: "", draft: {} },
  says: (/** @type {State} */ state) =>
    state.answer ||
    (state.matrices ? "" : fits(state, worked(state))) ||
    `${place(state)} ${spelled(state, worked(state), (score) => `e^${score}`)
      .flat()
      .join(" ")}`,
  view: (state, set, id) => {
    const parts = worked(state);
    if (!state.matrices) return opening(state, set, id, parts);
    return html`<p class="qkv-lead qkv-spelled">${
      state.answer
        ? html`<b>${state.answer}</b>`
        : html`<b>${place(state)}</b> <span>${formula(state)}:</span> ${spelled(state, parts, power).map((term) => html`<span>${term}</span> `)}`
    }</p>
      ${canvas(state, set, parts)} ${legend(state, set)}
      ${tables(() => everything(parts, state.tokens))}`;
  },
});

/** Return all matrices of the worked example for a state.
 * @param {Given} parts */
function worked({ x, w_q, w_k, w_v, scaled }) {
  const parts = singleHead({ x, wQ: w_q, wK: w_k, wV: w_v, scaled });
  return { ...parts, x, w_q, w_k, w_v, kT: transpose(parts.k) };
}

/* ---- the opening: one word asks */

/** @param {Given & Pick<State, "tokens" | "row">} state
 * @param {Worked} parts */
const meetingOf = ({ x, w_q, tokens, row }, { q, k, scores, weights }) => ({
  tokens,
  row,
  numbers: x[row],
  matrix: w_q,
  query: q[row],
  keys: k,
  scores: scores[row],
  weights: weights[row],
});

/** @param {State} state
 * @param {Worked} parts */
function fits(state, parts) {
  const { asker, best, weight } = fitting(meetingOf(state, parts));
  const [whom, other] = best.map((i) => state.tokens[i]);
  if (best.length === 1) return t`${asker} asks, and the key of ${whom} fits best: weight ${weight}.`;
  return best.length === 2
    ? t`${asker} asks, and the keys of ${whom} and ${other} fit equally: weight ${weight} each.`
    : t`${asker} asks, and ${best.length} keys fit equally: weight ${weight} each.`;
}

/** Return who is asked, or what the number that was moved has done to the weights.
 * @param {State} state
 * @param {import("./query_picture.js").Meeting} meeting */
function lead({ moved, was }, meeting) {
  const { asker, best, weight } = fitting(meeting);
  const [whom, other] = best.map((i) => html`<b>${meeting.tokens[i]}</b>`);
  const now = html`<b class="qkv-weight-name">${weight}</b>`;
  const [before, ofOther] = best.map((i) => num(was[i] ?? 0, { places: 2 }));
  if (moved >= 0 && best.length === 1) return t`${whom} fits best: weight ${before} → ${now}.`;
  if (moved >= 0 && best.length === 2) return t`${whom} ${before} → ${now}, ${other} ${ofOther} → ${now}.`;
  const who = html`<b class="qkv-query-name">${asker}</b>`;
  if (best.length === 1) return t`${who} asks. The key of ${whom} fits best.`;
  return best.length === 2
    ? t`${who} asks. ${whom} and ${other} fit equally.`
    : t`${who} asks. ${best.length} keys fit equally.`;
}

/** Return the picture of one query among the keys. A press on a word lets that word ask.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id
 * @param {Worked} parts */
function opening(state, set, id, parts) {
  const meeting = meetingOf(state, parts);
  const was = (/** @type {number} */ j) => (j === state.moved ? state.was : meeting.weights);
  const turns = meeting.numbers.map((_, j) => turningPoint(state, meeting, j));
  const asked =
    state.moved < 0
      ? nearestOf([...turns.keys()], 0, (j) => Math.abs((turns[j]?.at ?? 1e9) - meeting.numbers[j]))
      : state.moved;
  return html`<p class="qkv-lead qkv-query-lead">${lead(state, meeting)}</p>
    ${queryPicture(meeting, {
      name: `${id}-asks`,
      moved: state.moved,
      asked,
      turn: turns[asked]?.at,
      isFresh: !state.touched,
      put: (j, value) =>
        set({ touched: true, moved: j, was: was(j), ...edit(state, { x: withEntry(state.x, state.row, j, value) }) }),
      ask: (row) => set({ touched: true, row, moved: -1 }),
    })}
    <div class="qkv-edited qkv-query-turn"><p class="qkv-note">↕ ${turnText(turns[asked], asked)}</p>${undo(state, set)}</div>
    ${tables(() => everything(parts, state.tokens))}`;
}

const STEPS_OF_SEARCH = 64;
const AT_END = 1e-4; // so near to its track's end, a number cannot be dragged beyond a value

/** Return the nearest value of a number, above it or else below it, from which another word's key fits best.
 * @param {State} state
 * @param {import("./query_picture.js").Meeting} meeting
 * @param {number} j
 * @returns {{ at: number, isAbove: boolean, whom: string } | undefined} */
function turningPoint(state, meeting, j) {
  const { best } = fitting(meeting);
  const value = meeting.numbers[j];
  const bestAt = (/** @type {number} */ entry) => {
    const scores = worked({ ...given(state), x: withEntry(state.x, state.row, j, entry) }).scores[state.row];
    return scores.indexOf(Math.max(...scores));
  };
  for (const end of best.length === 1 ? [MOST_DRAGGED, 0] : []) {
    const along = (/** @type {number} */ share) => value + (end - value) * share;
    const steps = Array.from({ length: STEPS_OF_SEARCH }, (_, i) => (i + 1) / STEPS_OF_SEARCH);
    const found = steps.find((share) => bestAt(along(share)) !== best[0]);
    if (found === undefined) continue;
    let [same, other] = [found - 1 / STEPS_OF_SEARCH, found];
    while (other - same > 1e-6) {
      const middle = (same + other) / 2;
      if (bestAt(along(middle)) === best[0]) same = middle;
      else other = middle;
    }
    if (Math.abs(along(other) - end) < AT_END) continue; // there the keys only fit equally
    return { at: along(other), isAbove: end > value, whom: state.tokens[bestAt(along(other))] };
  }
}

/** Say from which value of a number another word's key fits best.
 * @param {ReturnType<typeof turningPoint>} turn
 * @param {number} j */
function turnText(turn, j) {
  if (!turn) return t`Drag a number, or press a word.`;
  const at = html`<b>${num(turn.at, { places: 2 })}</b>`;
  const whom = html`<b>${turn.whom}</b>`;
  return turn.isAbove ? t`Number ${j + 1} above ${at}: ${whom} wins.` : t`Number ${j + 1} below ${at}: ${whom} wins.`;
}

/** Return the values from which the results are computed.
 * @param {Given} parts */
const given = ({ x, w_q, w_k, w_v, scaled }) => ({ x, w_q, w_k, w_v, scaled });

/** Check whether two given examples have the same numbers.
 * @param {Given} one
 * @param {Given} other */
function areSame(one, other) {
  const [numbers, others] = [one, other].map((each) => Object.values(each).flat(2));
  return numbers.every((number, i) => number === others[i]);
}

/** Return the change of the state for an edit, which also keeps the values before the first edit.
 * @param {State} state
 * @param {Partial<Given>} changes */
const edit = (state, changes) => ({ first: state.first ?? given(state), ...markedChanges(state, changes) });

/** Return changes of the state, with marks for the entries of the results that they change.
 * @param {State} state
 * @param {Partial<Given>} changes */
function markedChanges(state, changes) {
  const before = given(state);
  const [was, is] = [worked(before), worked({ ...before, ...changes })];
  const changed = Object.fromEntries(
    NAMES.map((name) => {
      const { result } = STEPS[name];
      return [name, is[result].map((row, i) => row.map((entry, j) => entry !== was[result][i][j]))];
    }),
  );
  return { ...changes, changed, answer: "" };
}

/* ---- one canvas: the given matrices and all results. Those of the step are lit, with frames around what made the entry */

/** @param {State} state
 * @param {SetState<State>} set
 * @param {Worked} parts */
function canvas(state, set, parts) {
  const framed = framedBy(state);
  const start = (/** @type {GivenPart} */ part) => editable(state, set, part, framed[part]);
  const result = (/** @type {Step} */ name) => outcome(state, set, parts, name, framed[STEPS[name].result]);
  return html`<div class="qkv-canvas qkv-canvas-${STEPS[state.step].kind}">
    <div class="qkv-given">${/** @type {GivenPart[]} */ (["x", "w_q", "w_k", "w_v"]).map(start)}</div>
    <div>${NAMES.slice(0, 3).map(result)}</div>
    <div>${NAMES.slice(3).map(result)}</div>
  </div>`;
}

/** Check whether a matrix takes part in the chosen step.
 * @param {State} parts
 * @param {Part} part */
const isLit = ({ step }, part) => {
  const { left, top, result } = STEPS[step];
  return [left, top === "kT" ? "k" : top, result].includes(part);
};

/** Return a line that says how to edit a number or, after an edit, what marks the cells that it changed; and the switch.
 * @param {State} state
 * @param {SetState<State>} set */
function legend(state, set) {
  const { changed, scaled } = state;
  const isMarked = NAMES.some((name) => changed[name]?.flat().some(Boolean));
  return html`<div class="qkv-edited">
    <p class="qkv-note">${isMarked ? t`${html`<i></i>`} changed by the last edit` : t`Press a result, or ↔ drag a number.`}</p>
    ${undo(state, set)}
    ${toggle({ label: t`divide by √3`, checked: scaled, onChange: (on) => set(edit(state, { scaled: on })) })}
  </div>`;
}

/** @param {State} state
 * @param {SetState<State>} set */
const undo = (state, set) =>
  button({
    label: html`<span aria-hidden="true">${t`undo`}</span><span class="qkv-unseen">${t`undo edits`}</span>`,
    disabled: !state.first || areSame(state.first, given(state)),
    onClick: () => set({ ...state.first, changed: {}, moved: -1, answer: "" }),
  });

/** Return the row or the column of each matrix from which the chosen entry is computed.
 * @param {State} state
 * @returns {Partial<Record<Part, Frame>>} */
function framedBy({ step, row, column }) {
  if (step === "scores") return { q: { row }, k: { row: column } };
  if (step === "weights") return { scores: { row } };
  const { left, top } = STEPS[step];
  return { [left]: { row }, [/** @type {Part} */ (top)]: { column } };
}

/** Return the result to choose while the number at i, j of `part` is edited. If the chosen result does not depend on
 * that number, this is one of the same step that does. All weights and outputs depend on X, W_Q and W_K.
 * @param {State} state
 * @param {GivenPart} part
 * @param {number} i
 * @param {number} j
 * @returns {Partial<State>} */
function dependent({ step, column }, part, i, j) {
  if (part === "x") return isProduct(step) || (step === "scores" && column !== i) ? { row: i } : {};
  return STEPS[step].top === part || (step === "output" && part === "w_v") ? { column: j } : {};
}

const isProduct = (/** @type {Step} */ step) => STEPS[step].left === "x";

const formula = (/** @type {State} */ { step, scaled }) =>
  ({
    queries: html`<b><i>X W<sub>Q</sub></i></b>`,
    keys: html`<b><i>X W<sub>K</sub></i></b>`,
    values: html`<b><i>X W<sub>V</sub></i></b>`,
    scores: html`<b><i class="qkv-q">Q</i> <i class="qkv-k">K</i>ᵀ${scaled ? " / √3" : ""}</b>`,
    weights: html`<b>${t`softmax by row`}</b>`,
    output: html`<b>${t`weights ${html`<i class="qkv-v">V</i>`}`}</b>`,
  })[step];

/** Return a matrix with a frame around a row or a column, which the first cell in that row or column draws.
 * @param {{ title: unknown, rows: number[][], cell: (entry: number, i: number, j: number) => { content: unknown,
 *   kinds?: string, weight?: number }, kind: string, lit: boolean, framed?: Frame,
 *   head?: (i: number) => unknown }} parts */
function matrix({ title, rows, cell, kind, lit, framed = {}, head = () => "" }) {
  const entryCell = (/** @type {number} */ entry, /** @type {number} */ i, /** @type {number} */ j) => {
    const { content, kinds = "", weight = 0 } = cell(entry, i, j);
    const isInside = framed.row === i || framed.column === j;
    const isFirst = isInside && (framed.row === i ? j : i) === 0;
    const frame = isFirst ? "qkv-used qkv-framed" : isInside ? "qkv-used" : "";
    return html`<td class="${kinds} ${frame}" style="--qkv-p: ${weight}">${content}</td>`;
  };
  const [across, down] = framed.row === undefined ? [1, rows.length] : [rows[0].length, 1];
  return html`<table class="qkv-matrix3 qkv-${kind}-table ${lit ? "qkv-lit" : ""}" style="--across: ${across}; --down: ${down}">
    <caption>${title}</caption>
    <tbody>${rows.map((row, i) => html`<tr>${head(i)}${row.map((entry, j) => entryCell(entry, i, j))}</tr>`)}</tbody>
  </table>`;
}

/** Return a matrix of fields for numbers, which can also be dragged sideways.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {GivenPart} part
 * @param {Frame} [framed] */
function editable(state, set, part, framed) {
  const cell = (/** @type {number} */ entry, /** @type {number} */ i, /** @type {number} */ j) => {
    /** @type {Put} */
    const put = (value) => ({
      ...edit(state, { [part]: withEntry(state[part], i, j, value) }),
      ...dependent(state, part, i, j),
    });
    const name = `${part} ${i} ${j}`;
    const drag = dragged(({ event, isPress }) => {
      if (isPress) set({ grip: { from: entry, at: event.clientX } });
      const { from, at } = /** @type {NonNullable<State["grip"]>} */ (state.grip);
      const steps = Math.round((event.clientX - at) / PIXELS);
      if (steps || state[part][i][j] !== from) set({ draft: {}, ...put(within(from + STEP * steps)) });
    });
    const content = html`<label><span class="qkv-unseen">${t`${LETTERS[part]}, row ${i + 1}, column ${j + 1}`}</span>
      <input class="qkv-drag" type="number" step="any" .value=${live(state.draft[name] ?? String(entry))} @pointerdown=${drag} @pointermove=${drag}
        @click=${selectText} @dragstart=${preventDrag} @beforeinput=${(/** @type {InputEvent} */ { data }) => warnOfLetter(data, state, set)}
        @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ draft: { [name]: target.value }, ...typed(target, put) })}
        @blur=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ draft: {}, ...(isNumber(target) ? {} : { answer: typeANumber() }) })}></label>`;
    return { content };
  };
  const head = part === "x" ? (/** @type {number} */ i) => html`<th scope="row">${state.tokens[i]}</th>` : undefined;
  const kind = part === "x" || part === FACTORS[state.step] ? part : "folded";
  return matrix({ title: TITLES[part](), rows: state[part], cell, kind, lit: isLit(state, part), framed, head });
}

const within = (/** @type {number} */ value) => Math.min(MOST, Math.max(-MOST, value));

// A click selects the number, so that typing replaces it. The browser must not drag the selected text, because a drag
// changes the number.
const selectText = (/** @type {{ target: HTMLInputElement }} */ { target }) => target.select();
const preventDrag = (/** @type {Event} */ event) => event.preventDefault();

/** Show a message when the reader types a letter, which most browsers silently keep out of a number field.
 * @param {string | null} data
 * @param {State} parts
 * @param {SetState<State>} set */
function warnOfLetter(data, { answer }, set) {
  const now = IN_A_NUMBER.test(data ?? "") ? "" : typeANumber();
  if (now !== answer) set({ answer: now });
}

const isNumber = (/** @type {HTMLInputElement} */ target) => !Number.isNaN(target.valueAsNumber);

/** Return the change of the state for a number that is being typed, limited to the range, with a message if it is not
 * in the range. An unfinished number changes nothing.
 * @param {HTMLInputElement} target
 * @param {Put} put */
function typed(target, put) {
  if (!isNumber(target)) return {};
  const value = target.valueAsNumber;
  const nearest = within(value);
  if (nearest === value) return put(value);
  const answer = t`${num(value)} is out of range: numbers go from −1,000 to 1,000. It is ${num(nearest)} now.`;
  return { ...put(nearest), answer };
}

const withEntry = (
  /** @type {number[][]} */ rows,
  /** @type {number} */ i,
  /** @type {number} */ j,
  /** @type {number} */ value,
) => rows.map((row, r) => row.map((entry, c) => (r === i && c === j ? value : entry)));

/** Return a matrix of results, each a button that shows how it was computed. A bar marks what the last edit changed.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {Worked} parts
 * @param {Step} name
 * @param {Frame} [framed] */
function outcome(state, set, parts, name, framed) {
  const cell = (/** @type {number} */ entry, /** @type {number} */ i, /** @type {number} */ j) => {
    const here = name === state.step && i === state.row && j === state.column;
    const point = () => set({ step: name, row: i, column: j, answer: "" });
    const content = html`<button type="button" class="qkv-outcome" aria-pressed=${here} @click=${point} @focus=${point}
      aria-label=${t`${NAMED[name]()}, row ${i + 1}, column ${j + 1}: ${brief(entry)}`}
      @pointerenter=${(/** @type {PointerEvent} */ { pointerType }) => pointerType === "mouse" && name === state.step && point()}>${brief(entry)}</button>`;
    const marks = [here ? "qkv-chosen" : "", state.changed[name]?.[i][j] ? "qkv-changed" : ""];
    return name === "weights"
      ? { content, kinds: `qkv-heat ${marks.join(" ")}`, weight: entry }
      : { content, kinds: marks.join(" ") };
  };
  const { result, kind } = STEPS[name];
  return matrix({ title: TITLES[name](), rows: parts[result], cell, kind, lit: isLit(state, result), framed });
}

/** @param {State} parts */
function place({ step, row, column, tokens }) {
  const [asker, other] = [tokens[row], tokens[column]].map((token) => t`“${token}”`);
  if (step === "scores") return t`The query of ${asker} on the key of ${other}:`;
  if (step === "weights") return t`${asker} reads ${other} with the weight:`;
  const entry = column + 1;
  if (step === "queries") return t`The query of ${asker}, entry ${entry}:`;
  if (step === "keys") return t`The key of ${asker}, entry ${entry}:`;
  return step === "values" ? t`The value of ${asker}, entry ${entry}:` : t`The output of ${asker}, entry ${entry}:`;
}

const power = (/** @type {string} */ exponent) => html`<i>e</i><sup>${exponent}</sup>`;

/** Return the computation of the chosen entry in full, as pieces between which a line may break. `power` writes a power
 * of e.
 * @param {State} state
 * @param {Worked} parts
 * @param {(exponent: string) => unknown} power
 * @returns {unknown[]} */
function spelled({ step, row, column, scaled }, parts, power) {
  const { left, top, result } = STEPS[step];
  const value = `= ${short(parts[result][row][column])}`;
  if (step === "weights") {
    const powers = parts.scores[row].map((score) => power(short(score)));
    return [[powers[column], " / (", powers[0]], ["+ ", powers[1]], ["+ ", powers[2], ")"], value];
  }
  const terms = parts[left][row].map(
    (entry, f) => `${f ? `+ ${signed(entry)}` : short(entry)} · ${signed(parts[/** @type {Part} */ (top)][f][column])}`,
  );
  if (step !== "scores" || !scaled) return [...terms, value];
  return [`(${terms[0]}`, ...terms.slice(1, -1), `${terms.at(-1)})`, "/ √3", value];
}

const signed = (/** @type {number} */ x) => (x < 0 ? `(${short(x)})` : short(x));
/** Return a number with all its decimal places if they are few, else rounded. A small number keeps two digits, and a number
 * that is not whole does not look whole.
 * @param {number} x */
function short(x) {
  const size = Math.abs(x);
  if (size >= 1e7) return scientific(x, 2);
  const places = size < 100 ? [0, 1, 2, 3] : [0];
  const enough = places.find((count) => Number(x.toFixed(count)) === x);
  if (enough !== undefined) return num(x, { places: enough });
  if (size >= 10) return num(x, { places: 1 });
  const isPlain = (/** @type {number} */ count) =>
    Number(x.toFixed(count)) !== Math.round(x) && Number(x.toFixed(count)) !== 0;
  const digits = size < 0.01 ? Math.ceil(-Math.log10(size)) + 1 : 3;
  return digits > 8
    ? scientific(x, 1)
    : num(x, { places: [digits, 4, 5, 6, 7, 8].find((count) => count >= digits && isPlain(count)) ?? 3 });
}

/** Return a number that fits into a cell: with three digits, or fewer if it is negative.
 * @param {number} x */
function brief(x) {
  const size = Math.abs(x) * (x < 0 ? 10 : 1);
  if (Math.abs(x) >= 999.5) return scientific(x, 0);
  return Number.isInteger(x) ? num(x) : num(x, { places: size < 9.995 ? 2 : size < 99.95 ? 1 : 0 });
}

const scientific = (/** @type {number} */ x, /** @type {number} */ digits) =>
  x.toExponential(digits).replace("e+", "e").replaceAll("-", "−");

const everything = (/** @type {Worked} */ { q, k, v, scores, weights, out }, /** @type {string[]} */ tokens) =>
  Object.entries({ Q: q, K: k, V: v, [t`scores`]: scores, [t`weights`]: weights, [t`output`]: out }).map(
    ([caption, rows]) => ({
      caption,
      head: [t`token`, "1", "2", "3"],
      rows: rows.map((row, i) => [tokens[i], ...row.map((entry) => num(entry, { digits: 5 }))]),
    }),
  );

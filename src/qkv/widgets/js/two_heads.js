import { live } from "lit-html/directives/live.js";
import stored from "../../models/two-heads.json";
import { dragged, html, num, partAt, svg, t, tables, widget } from "./base.js";
import { dot, softmax, sum } from "./maths.js";

const [LOW, HIGH] = [1, 9]; // the prices
const [USUAL, SPREAD] = [5, 2.5]; // the layer reads (price − USUAL) / SPREAD
const FIRST = 2; // the first day with two days before it
const TODAY = USUAL; // on the last day, the price is not known yet: the layer reads the usual one
const SEEN = 0.05; // a smaller weight is not drawn
const ROUND = 20; // pixels from the end of the picture to the middle of the highest and the lowest ring

/** @import { SetState } from "./base.js" */
/** @typedef {{ heads: 1 | 2, prices: number[], held: number }} State */
/** @typedef {{ day: number, answer: number, change: number, isRight: boolean }} Answer */
/** @typedef {typeof stored["one head"]} Layer */

export default widget("TwoHeads", {
  own: { held: 0 }, // the day whose price is dragged
  says: (/** @type {State} */ state) => `${headline(state)}. ${reading(state)}`,
  view: (state, set, id) => html`
    ${choice(state, set, id)}
    <p class="qkv-two-lead"><b data-number="headline">${headline(state)}</b><span>${reading(state)}</span></p>
    <div class="qkv-two" data-heads=${state.heads}>${pricesOf(state, set)} ${lines(state)} ${bars(state)}</div>
    ${tables(() => [numbers(state)])}`,
});

/* ---- the layers */

const layerOf = (/** @type {number} */ heads) => stored[heads === 1 ? "one head" : "two heads"];

/** Return a layer's projection of rows: x Wᵀ + b.
 * @param {Layer} layer
 * @param {"q" | "k" | "v" | "o"} which
 * @param {number[][]} rows */
const project = (layer, which, rows) => {
  const [weight, bias] = [layer[`w_${which}.weight`], layer[`w_${which}.bias`]];
  return rows.map((row) => weight.map((each, i) => dot(each, row) + bias[i]));
};

/** Return what a trained layer does with prices: the weights of each head, (heads, n, n), and its answer on each day.
 * @param {{ heads: number, prices: number[] }} state */
export function run({ heads, prices }) {
  const layer = layerOf(heads);
  const rows = [...prices, TODAY].map((price, i) => [(price - USUAL) / SPREAD, ...layer.places[i]]);
  const [q, k, v] = /** @type {const} */ (["q", "k", "v"]).map((which) => project(layer, which, rows));
  const width = q[0].length / heads;
  const columns = (/** @type {number[]} */ row, /** @type {number} */ h) => row.slice(h * width, (h + 1) * width);
  const weights = Array.from({ length: heads }, (_, h) =>
    q.map((query) => softmax(k.map((key) => dot(columns(query, h), columns(key, h)) / Math.sqrt(width)))),
  );
  const found = rows.map((_, i) =>
    v[0].map((_, c) => sum(v.map((value, j) => weights[Math.floor(c / width)][i][j] * value[c]))),
  );
  return { weights, answers: project(layer, "o", found).map(([first]) => first * SPREAD) };
}

/** Return the sign with which a head passes a price on: that of the entry of W_V W_O from the price to the answer.
 * @param {number} heads
 * @param {number} h */
export function signOf(heads, h) {
  const layer = layerOf(heads);
  const width = layer["w_v.weight"].length / heads;
  const through = layer["w_v.weight"].map((row, c) => row[0] * layer["w_o.weight"][0][c]);
  return Math.sign(sum(through.slice(h * width, (h + 1) * width)));
}

/** Return the answers on all days with two days before them, beside the changes that they should be.
 * @param {State} state
 * @returns {Answer[]} */
const answersOf = (state) =>
  run(state)
    .answers.map((answer, day) => {
      const change = state.prices[day - 1] - state.prices[day - 2];
      return { day, answer, change, isRight: Math.round(answer) === change };
    })
    .slice(FIRST);

/* ---- what is said */

/** @param {State} state */
function headline(state) {
  const answers = answersOf(state);
  const right = answers.filter(({ isRight }) => isRight).length;
  return state.heads === 1
    ? t`One head: ${right} of ${answers.length} right`
    : t`Two heads: ${right} of ${answers.length} right`;
}

const reading = (/** @type {State} */ { heads }) =>
  heads === 1 ? t`It reads yesterday, not the day before.` : t`They read yesterday and the day before.`;

const dayName = (/** @type {number} */ day) => t`day ${day + 1}`;
/** Return a change as a whole number with its sign.
 * @param {number} value */
const signed = (value) => {
  const whole = Math.round(value);
  return `${whole > 0 ? "+" : whole < 0 ? "−" : ""}${Math.abs(whole)}`;
};

/* ---- the picture: prices above, lines from each answer to what it reads, and below them the answers */

/** Return the choice between the two layers.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const choice = ({ heads }, set, id) => html`<fieldset class="qkv-two-choice">
  <legend class="qkv-unseen">${t`heads of the layer`}</legend>
  ${
    /** @type {const} */ ([1, 2]).map(
      (count) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-heads" .checked=${live(count === heads)} @change=${() => set({ heads: count })}>
      ${count === 1 ? t`one head` : t`two heads`}
    </label>`,
    )
  }
</fieldset>`;

/** Return the prices as rings that are dragged up and down.
 * @param {State} state
 * @param {SetState<State>} set */
function pricesOf(state, set) {
  const { prices } = state;
  const put = (/** @type {number} */ day, /** @type {number} */ value) =>
    set({ held: day, prices: state.prices.map((each, i) => (i === day ? value : each)) });
  const drag = dragged(({ x, y, isPress, area }) => {
    const { height } = area.getBoundingClientRect();
    const at = HIGH - ((y * height - ROUND) / (height - 2 * ROUND)) * (HIGH - LOW);
    put(
      isPress ? Math.min(prices.length - 1, partAt(x, prices.length + 1)) : state.held,
      Math.min(HIGH, Math.max(LOW, Math.round(at))),
    );
  });
  const share = (/** @type {number} */ value) => (HIGH - value) / (HIGH - LOW);
  return html`<div class="qkv-two-prices qkv-drag" role="group" aria-label=${t`prices`} @pointerdown=${drag} @pointermove=${drag}>
    <span class="qkv-two-name" aria-hidden="true">${t`price`}</span>
    <svg viewBox="0 0 ${prices.length + 1} 1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${prices.map((value, i) => `${i + 0.5},${share(value)}`).join(" ")}></polyline>
    </svg>
    ${prices.map(
      (value, i) => html`<label class="qkv-knob" style="--day: ${i}; --at: ${share(value)}">
        <span aria-hidden="true">${value}</span>
        <input class="qkv-over" type="range" min=${LOW} max=${HIGH} step="1" aria-label=${t`price on ${dayName(i)}`}
          .value=${live(String(value))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => put(i, target.valueAsNumber)}>
      </label>`,
    )}
  </div>`;
}

/** Return the days, and a line from each answer to each day that a head reads, as wide as its weight.
 * @param {State} state */
function lines(state) {
  const { weights } = run(state);
  const drawn = weights.flatMap((table, h) =>
    table.flatMap((row, i) => row.map((weight, j) => ({ h, i, j, weight })).filter((line) => line.weight > SEEN)),
  );
  const shown = drawn.filter(({ i }) => i >= FIRST);
  return html`<div class="qkv-two-days" aria-hidden="true">${weights[0].map((_, i) => html`<span>${dayName(i)}</span>`)}</div>
  <div class="qkv-two-lines" aria-hidden="true">
    <svg viewBox="0 0 ${weights[0].length} 1" preserveAspectRatio="none">${shown.map(
      ({ h, i, j, weight }) =>
        svg`<line class="qkv-two-${h ? "second" : "first"}" x1=${j + 0.5} y1="0" x2=${i + 0.5} y2="1" stroke-width=${num(3 * weight)}></line>`,
    )}</svg>
    ${shown.map(
      ({ h, i, j }) =>
        html`<b class="qkv-two-${h ? "second" : "first"}" style="--from: ${j}; --to: ${i}">${signOf(state.heads, h) > 0 ? "+" : "−"}</b>`,
    )}
  </div>`;
}

/** Return the answers as bars from a line at 0, each in the outline of the change that it should be, and both as numbers.
 * @param {State} state */
function bars(state) {
  const answers = answersOf(state);
  const share = (/** @type {number} */ value) => (value / (HIGH - LOW)).toFixed(3);
  return html`<div class="qkv-two-bars" aria-hidden="true">${answers.map(
    ({ answer, change, isRight }) =>
      html`<span data-right=${isRight}><i class="qkv-two-answer" style="--to: ${share(answer)}"></i><i class="qkv-two-change" style="--to: ${share(change)}"></i></span>`,
  )}</div>
  <dl class="qkv-two-numbers">
    <div class="qkv-two-answer-row"><dt>${t`answer`}</dt>${answers.map(({ answer, isRight }) => html`<dd data-right=${isRight}>${signed(answer)} <small>${isRight ? "✓" : "✗"}</small></dd>`)}</div>
    <div class="qkv-two-change-row"><dt>${t`true change`}</dt>${answers.map(({ change }) => html`<dd>${signed(change)}</dd>`)}</div>
  </dl>`;
}

/** @param {State} state */
function numbers(state) {
  const { weights } = run(state);
  return {
    caption: t`Answers, and the largest weight of each head`,
    head: [t`day`, t`answer`, ...weights.map((_, h) => t`head ${h + 1}`)],
    rows: answersOf(state).map(({ day, answer }) => [
      dayName(day),
      num(answer, { places: 2 }),
      ...weights.map((table) => num(Math.max(...table[day]), { places: 2 })),
    ]),
  };
}

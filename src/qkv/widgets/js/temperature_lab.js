import { live } from "lit-html/directives/live.js";
import {
  button,
  curve,
  dragged,
  gripMark,
  html,
  nearestOf,
  nothing,
  num,
  panel,
  plot,
  powersOfTwo,
  readings,
  remember,
  rule,
  stepSlider,
  svg,
  tables,
  widget,
  words,
  xAxis,
  yAxis,
} from "./base.js";
import { picked, scoreForWeight, temperedRow } from "./maths.js";
import { linear, logarithmic } from "./scales.js";

const D_KS = powersOfTwo(6);
const DK = html`<var>d<sub>k</sub></var>`;
// Eighths of an octave: every √d_k is one of them, and so is 1.
const TEMPERATURES = [0.05, ...Array.from({ length: 61 }, (_, i) => 2 ** ((i - 34) / 8)), 10];
const CURVE = Array.from({ length: 93 }, (_, i) => 0.05 * 200 ** (i / 92));
const SEEN = 6; // drawn words that are shown

const warmth = logarithmic([0.05, 10], [0, 100]);

/** @import { Point } from "./chart.js" */
/** @typedef {{ scores: number[], tokens: string[], temperature: number, d_k: number, first: number[] | null,
 *   drawn: number[], drawnWith: number[] | null }} State */

export default widget("TemperatureLab", {
  // The scores before the first drag; the indices of the drawn tokens, and the weights with which they were drawn.
  own: { first: null, drawn: [], drawnWith: null },
  says: (/** @type {State} */ state) => {
    const { weights, spread } = measured(state);
    const top = weights.indexOf(Math.max(...weights));
    const last = drawnNow(state).at(-1);
    const next = last === undefined ? "" : ` Drawn: ${state.tokens[last]}.`;
    return `T ${num(state.temperature)}: ${state.tokens[top]} has weight ${share(weights[top])}, entropy ${num(spread)} nats.${next}`;
  },
  view: (state, set) => html`
    <div class="qkv-temperature">
      <div>${rows(state, set)} ${sampling(state, set)} ${summary(state)}</div>
      <div>${temperaturePanel(state, set)} ${widthSlider(state, set)}</div>
    </div>
    ${tables(() => numbers(state))}`,
});

const share = (weight) => num(weight, { places: 3 });

const tempered = remember((scores, d_k, temperature) => temperedRow({ scores, d_k, temperature }), 24);
const measured = ({ scores, d_k, temperature }) => tempered(scores, d_k, temperature);

/** Return the points of the entropy's curve, which does not depend on the temperature that is set. */
const spreads = remember((scores, d_k) =>
  CURVE.map((t) => [warmth(t), temperedRow({ scores, d_k, temperature: t }).spread]),
);

/* ---- the scores and the weights: a row for each token, with two bars that can be dragged */

function rows(state, set) {
  const { weights } = measured(state);
  const reach = reachOf(state);
  const often = countsOf(state);
  return html`<div class="qkv-keys">
    <p class="qkv-key qkv-note" aria-hidden="true"><span></span><span>score, ±${num(reach)}</span><span>${weightTitle(state)}</span></p>
    ${state.tokens.map((token, i) => {
      const put = (score) => set(moved(state, i, score, reach));
      return html`<div class="qkv-key">
        <span class="qkv-key-name">${token}</span>
        ${scoreBar({ token, score: state.scores[i], reach, put })}
        ${weightBar({ weight: weights[i], often: often ? often[i] : null, put: (weight) => put(scoreFor(state, i, weight)) })}
        <b>${share(weights[i])}</b>
      </div>`;
    })}
    ${limits(state)}
  </div>`;
}

/** Return the title of the weights: they belong to the scores times √d_k, while the bars show the scores. */
const weightTitle = ({ d_k }) => (d_k > 1 ? `weight of score × ${num(Math.sqrt(d_k), { digits: 3 })}` : "weight");

/** Return the largest absolute score that can be set. */
const reachOf = ({ scores, first }) => Math.max(4, ...scores.map(Math.abs), ...(first ?? []).map(Math.abs));

/** Return the change of the state when one score is changed, which also keeps the scores before the first change. */
const moved = ({ first, scores }, index, score, reach) => ({
  first: first ?? scores,
  scores: scores.map((old, i) => (i === index ? Math.min(reach, Math.max(-reach, score)) : old)),
});

/** Return the values of a score's slider, up to the largest score: multiples of 1 in that score's second digit. */
const stepsUpTo = remember((reach) => {
  const step = 10 ** (Math.floor(Math.log10(reach)) - 1);
  const last = Math.ceil(reach / step);
  return Array.from({ length: 2 * last + 1 }, (_, i) => Number(((i - last) * step).toPrecision(12)));
});

/** Return a score as a bar that begins at 0, in the middle. For the keyboard, an invisible slider lies over it. */
function scoreBar({ token, score, reach, put }) {
  const values = stepsUpTo(reach);
  const nearest = nearestOf(values, score);
  const drag = dragged(({ x }) => put(nearestOf(values, (2 * x - 1) * reach)));
  const text = num(score, { places: 1 });
  return html`<div class="qkv-score qkv-drag ${score < 0 ? "qkv-below-zero" : ""}" style="--qkv-p: ${score / reach}"
      @pointerdown=${drag} @pointermove=${drag}>
    <i></i><span aria-hidden="true">${text}</span>
    <input class="qkv-over" type="range" aria-label="score of ${token}" min="0" max=${values.length - 1} aria-valuetext=${text}
      .value=${live(String(values.indexOf(nearest)))} @input=${({ target }) => put(values[target.valueAsNumber])}>
  </div>`;
}

/** Return a weight as a bar that can be dragged. A line marks how often its token was drawn. */
function weightBar({ weight, often, put }) {
  const drag = dragged(({ x }) => put(x));
  return html`<div class="qkv-weight qkv-drag" style="--qkv-p: ${weight}" @pointerdown=${drag} @pointermove=${drag}>
    <i></i>${often === null ? nothing : html`<u style="--qkv-often: ${often}"></u>`}
  </div>`;
}

/** Return the score that gives a token a weight, which is limited to 0.001 … 0.999. */
function scoreFor(state, index, weight) {
  const score = scoreForWeight(state, index, Math.min(0.999, Math.max(0.001, weight)));
  return Number(score.toPrecision(3));
}

function limits(state) {
  const { scores, tokens, first } = state;
  const reach = reachOf(state);
  if (first && scores.some((score, i) => score !== first[i] && Math.abs(score) === reach)) {
    return html`<p class="qkv-note">Scores end at ±${num(reach)}: weights can go no further.</p>`;
  }
  const top = Math.max(...scores);
  const winners = tokens.filter((_, i) => scores[i] === top);
  const each = winners.length > 1 ? `${num(1 / winners.length, { places: 2 })} each for` : "all to";
  return html`<p class="qkv-note">
    T → 0: ${each} <b>${winners.join(", ")}</b>. T → ∞: ${num(1 / scores.length, { places: 2 })} for each.
  </p>`;
}

/* ---- sampling: a language model draws its next word from weights like these */

/** Return the tokens that were drawn with the present weights. After a change of the weights the count starts again. */
const drawnNow = (state) => (state.drawnWith === measured(state).weights ? state.drawn : []);

/** Return the share of the draws of each token, or null before the first draw. */
function countsOf(state) {
  const drawn = drawnNow(state);
  if (!drawn.length) return null;
  return state.tokens.map((_, i) => drawn.filter((index) => index === i).length / drawn.length);
}

function sampling(state, set) {
  const { weights } = measured(state);
  const draw = (count) => () => {
    const fresh = Array.from({ length: count }, () => picked(weights, Math.random()));
    set({ drawn: [...drawnNow(state), ...fresh], drawnWith: weights });
  };
  const drawn = drawnNow(state);
  const seen = drawn.slice(-SEEN).map((index) => state.tokens[index]);
  return html`<div class="qkv-sampling">
    ${button({ label: "draw a word", onClick: draw(1) })}
    ${button({ label: html`+ 100<span class="qkv-unseen"> words</span>`, onClick: draw(100) })}
    ${button({
      label: "reset scores",
      disabled: !state.first || state.first.every((score, i) => score === state.scores[i]),
      onClick: () => set({ scores: state.first }),
    })}
    <p class="qkv-sampled">${
      drawn.length
        ? html`<span class="qkv-note">${num(drawn.length)} ${drawn.length > 1 ? "draws" : "draw"} (dotted):</span>
            <b>${seen.at(-1)}</b> <span class="qkv-note">${seen.slice(0, -1).reverse().join(" · ")}</span>`
        : html`<span class="qkv-note">This is how a language model chooses words.</span>`
    }</p>
  </div>`;
}

/* ---- the temperature: a point on the curve of the entropy, and its slider */

function temperaturePanel(state, set) {
  const { scores, d_k, temperature } = state;
  const { spread } = measured(state);
  const most = Math.log(scores.length);
  const height = linear([0, most], [100, 0]);
  const points = spreads(scores, d_k).map(([x, entropy]) => /** @type {Point} */ ([x, height(entropy)]));
  const grab = ({ x }) => set({ temperature: nearestOf(TEMPERATURES, x, (t, at) => Math.abs(warmth(t) / 100 - at)) });
  const marks = [
    yAxis({ scale: height, ticks: [0, most], format: (tick) => (tick ? num(tick, { places: 2 }) : "0") }),
    xAxis({ scale: warmth, ticks: [0.1, 1, 10], title: "temperature, T" }),
    curve({ points }),
    d_k > 1 ? rootMark(warmth(Math.sqrt(d_k))) : nothing,
    gripMark({ x: warmth(temperature), y: height(spread) }),
  ];
  const label = `Entropy against temperature: ${num(spread, { places: 2 })} nats here, at most ${num(most, { places: 2 })}.`;
  return html`${panel({
    title: "entropy",
    reading: html`<b>${num(spread, { places: 2 })}</b> <small>nats</small>`,
    drawing: plot({ label, marks, onDrag: dragged(grab) }),
  })}
  ${stepSlider({
    label: html`temperature, <var>T</var>`,
    value: nearestOf(TEMPERATURES, temperature, (a, b) => Math.abs(Math.log(a / b))),
    values: TEMPERATURES,
    text: num(temperature),
    onInput: (value) => set({ temperature: value }),
  })}`;
}

/** Return a mark at the temperature √d_k. */
const rootMark = (x) => [
  rule({ x1: x, x2: x, kind: "qkv-here" }),
  words({
    x,
    y: 0,
    lines: -0.7,
    content: svg`√<tspan font-style="italic">d</tspan><tspan class="qkv-sub" dy="0.3em">k</tspan>`,
  }),
];

const widthSlider = ({ d_k }, set) =>
  stepSlider({
    label: html`unscaled head, ${DK}`,
    value: d_k,
    values: D_KS,
    ends: ["scores as they are", html`scores × √${DK}`],
    onInput: (value) => set({ d_k: value }),
  });

function summary(state) {
  const { weights, spread, slope } = measured(state);
  return readings([
    ["largest weight", share(Math.max(...weights))],
    ["as if spread over", num(Math.exp(spread), { places: 1 }), "tokens"],
    ["gradient norm", num(slope, { places: 3 })],
  ]);
}

function numbers(state) {
  const { stretched, weights } = measured(state);
  const often = countsOf(state);
  return [
    {
      caption: "Scores, their weights at this temperature, and how often each token was drawn",
      head: ["token", "score", html`score × √${DK}`, "weight", "drawn"],
      rows: state.tokens.map((token, i) => [
        token,
        num(state.scores[i]),
        num(stretched[i]),
        num(weights[i]),
        often ? share(often[i]) : "not yet",
      ]),
    },
  ];
}

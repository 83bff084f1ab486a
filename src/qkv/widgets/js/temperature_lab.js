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
  remember,
  stepSlider,
  tables,
  toggle,
  widget,
  yAxis,
} from "./base.js";
import { picked, scoreForWeight, temperedRow } from "./maths.js";
import { linear, logarithmic } from "./scales.js";

const WIDE = 64; // d_k of the head without scaling
const DK = html`<var>d<sub>k</sub></var>`;
// Eighths of an octave: every √d_k is one of them, and so is 1.
const TEMPERATURES = [0.05, ...Array.from({ length: 61 }, (_, i) => 2 ** ((i - 34) / 8)), 10];
const CURVE = Array.from({ length: 93 }, (_, i) => 0.05 * 200 ** (i / 92));
const SEEN = 6; // drawn words that are shown

const warmth = logarithmic([0.05, 10], [0, 100]);

/** @import { Point } from "./chart.js" */
/** @typedef {{ scores: number[], tokens: string[], temperature: number, d_k: number, first: number[] | null,
 *   grip: { from: number, at: number } | null, drawn: number[], drawnWith: number[] | null }} State */

export default widget("TemperatureLab", {
  // `first` has the scores before the first drag, `grip` the bar's value and the pointer when a drag began; `drawn` has
  // the indices of the drawn tokens, and `drawnWith` the weights with which they were drawn.
  own: { first: null, grip: null, drawn: [], drawnWith: null },
  says: (/** @type {State} */ state) => {
    const { weights, spread } = measured(state);
    const top = weights.indexOf(Math.max(...weights));
    const last = drawnNow(state).at(-1);
    const next = last === undefined ? "" : ` Drawn: ${state.tokens[last]}.`;
    return `T ${num(state.temperature)}: ${state.tokens[top]} has weight ${share(weights[top])}, entropy ${num(spread)} nats.${next}`;
  },
  view: (state, set) => html`
    <div class="qkv-temperature">
      <div>${temperaturePanel(state, set)} ${widthToggle(state, set)}</div>
      <div>${rows(state, set)} ${sampling(state, set)}</div>
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
  const { stretched, weights } = measured(state);
  const reach = reachOf(state);
  const often = countsOf(state);
  return html`<div class="qkv-keys">
    <p class="qkv-key-row qkv-note" aria-hidden="true"><span></span><span>${scoreTitle(state)}</span>
      <span>weight${often ? html`, <u></u> drawn` : nothing}</span></p>
    ${state.tokens.map((token, i) => {
      const score = state.scores[i];
      const put = (value) => set(moved(state, i, value, reach));
      const values = stepsUpTo(reach);
      const putNearest = (share) => put(nearestOf(values, share * 2 * reach));
      const putWeight = (weight) => put(scoreFor(state, i, weight));
      return html`<div class="qkv-key-row">
        <span class="qkv-key-name">${token}</span>
        ${scoreBar({ token, score, shown: stretched[i], reach, put, drag: pulled(state, set, score / (2 * reach), putNearest) })}
        ${weightBar({ weight: weights[i], often: often?.[i], drag: pulled(state, set, weights[i], putWeight) })}
        <b>${share(weights[i])}</b>
      </div>`;
    })}
    ${hint(state, set)}
  </div>`;
}

/** Return the title of the scores. Without scaling, they are multiplied by √d_k. */
const scoreTitle = ({ d_k }) => (d_k > 1 ? `score × ${rootOf(d_k)}` : "score");
const rootOf = (d_k) => num(Math.sqrt(d_k), { digits: 3 });

/** Return a listener for a bar: a drag moves its value, a share of the bar's width, as far as the pointer. A press alone
 * changes nothing. */
const pulled = (state, set, value, put) =>
  dragged(({ x, isPress }) => {
    if (isPress) set({ grip: { from: value, at: x } });
    else put(state.grip.from + x - state.grip.at);
  });

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

/** Return a score as a bar from 0, in the middle, to a handle. For the keyboard, an invisible slider lies over it. */
function scoreBar({ token, score, shown, reach, put, drag }) {
  const values = stepsUpTo(reach);
  const nearest = nearestOf(values, score);
  const text = num(shown, { places: Math.abs(shown) < 100 ? 1 : 0 });
  return html`<div class="qkv-score qkv-drag ${score < 0 ? "qkv-below-zero" : ""}" style="--qkv-p: ${score / reach}"
      @pointerdown=${drag} @pointermove=${drag}>
    <i></i><span aria-hidden="true">${text}</span>
    <input class="qkv-over" type="range" aria-label="score of ${token}" min="0" max=${values.length - 1} aria-valuetext=${text}
      .value=${live(String(values.indexOf(nearest)))} @input=${({ target }) => put(values[target.valueAsNumber])}>
  </div>`;
}

/** Return a weight as a bar that can be dragged. A dotted line marks how often its token was drawn. */
const weightBar = ({ weight, often, drag }) => html`<div class="qkv-weight-bar qkv-drag" style="--qkv-p: ${weight}"
    @pointerdown=${drag} @pointermove=${drag}>
  <i></i>${often === undefined ? nothing : html`<u style="--qkv-often: ${often}"></u>`}
</div>`;

/** Return the score that gives a token a weight, which is limited to 0.001 … 0.999. */
function scoreFor(state, index, weight) {
  const score = scoreForWeight(state, index, Math.min(0.999, Math.max(0.001, weight)));
  return Number(score.toPrecision(3));
}

/** Return a line that says how to change the bars, or that a score is at the end of its range. */
function hint({ scores, first }, set) {
  const reach = reachOf({ scores, first });
  const changed = scores.filter((score, i) => first && score !== first[i]);
  return html`<div class="qkv-hint">
    <p class="qkv-note">${
      changed.some((score) => Math.abs(score) === reach)
        ? `Scores end at ±${num(reach)}.`
        : "↔ Drag a score or a weight."
    }</p>
    ${button({ label: "reset scores", disabled: !changed.length, onClick: () => set({ scores: first }) })}
  </div>`;
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
    ${button({ label: html`<span class="qkv-unseen">draw </span>100 words`, onClick: draw(100) })}
    <p class="qkv-sampled qkv-note">${
      drawn.length
        ? html`${num(drawn.length)} drawn, the last: ${seen.reverse().map((token, i) => (i ? ` · ${token}` : html`<b>${token}</b>`))}`
        : "Language models draw words like this."
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
    yAxis({ scale: height, ticks: [0, most], named: [] }),
    curve({ points }),
    gripMark({ x: warmth(temperature), y: height(spread) }),
  ];
  const label = `Entropy against temperature: ${num(spread, { places: 2 })} nats here, at most ${num(most, { places: 2 })}.`;
  return html`${panel({
    title: "how even the weights are",
    reading: html`<small>entropy</small> <b>${num(spread, { places: 2 })}</b> <small>nats</small>`,
    drawing: plot({ label, marks, onDrag: dragged(grab) }),
  })}
  ${stepSlider({
    label: html`temperature, <var>T</var>`,
    value: nearestOf(TEMPERATURES, temperature, (a, b) => Math.abs(Math.log(a / b))),
    values: TEMPERATURES,
    text: String(Number(temperature.toPrecision(3))),
    onInput: (value) => set({ temperature: value }),
  })}
  ${limits(state)}`;
}

/** Return the weights towards which a low and a high temperature go, below the ends of the slider. */
function limits({ scores, tokens }) {
  const top = Math.max(...scores);
  const winners = tokens.filter((_, i) => scores[i] === top);
  const names = winners.length > 2 ? `${winners.length} words` : winners.join(", ");
  const each = (count) => num(1 / count, { places: 2 });
  return html`<p class="qkv-ends">
    <span>T → 0: ${winners.length > 1 ? `${each(winners.length)} each for` : "all to"} <b>${names}</b></span>
    <span>T → ∞: ${each(scores.length)} for each</span>
  </p>`;
}

/** Return the switch for the scores of a wide head that does not divide them by √d_k. */
function widthToggle({ d_k }, set) {
  const width = d_k > 1 ? d_k : WIDE;
  return toggle({
    label: `width ${width}, unscaled: scores × ${rootOf(width)}`,
    checked: d_k > 1,
    onChange: (isWide) => set({ d_k: isWide ? WIDE : 1 }),
  });
}

function numbers(state) {
  const { stretched, weights, spread, slope } = measured(state);
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
    {
      caption: "The whole row of weights at this temperature",
      head: ["metric", "value"],
      rows: [
        ["largest weight", share(Math.max(...weights))],
        ["entropy", `${num(spread, { places: 2 })} nats, at most ${num(Math.log(weights.length), { places: 2 })}`],
        ["as even as equal weights on", `${num(Math.exp(spread), { places: 1 })} tokens`],
        ["gradient norm of the softmax", num(slope, { places: 3 })],
      ],
    },
  ];
}

import { live } from "lit-html/directives/live.js";
import {
  barMarks,
  button,
  curve,
  dragged,
  html,
  nearestOf,
  num,
  panel,
  pct,
  plot,
  powersOfTwo,
  remember,
  rule,
  svg,
  t,
  tables,
  toggle,
  widget,
  words,
  yAxis,
} from "./base.js";
import { histogram, scalingExperiment } from "./maths.js";
import { linear } from "./scales.js";

const D_KS = powersOfTwo(10);
const DK = html`<var>d<sub>k</sub></var>`;
const MOST = 130; // the largest score on the axis
const HIGHEST = 98; // the height of the highest bin, in percent of the drawing's: its line is within the frame
const BELOW_NOTE = 30; // in percent of the drawing's height: the note about the dashed outline ends above it
const HANDLE = 32; // pixels: its width
const EDGE = 3; // the handle is so many standard deviations from the middle of the histogram

const share = linear([0, 1], [100, 0]);

/** The axis of the scores. It is the same with the division, so that the histogram is seen to shrink. */
const axis = linear([-MOST, MOST], [0, 100]);

/** @typedef {"largest" | "entropy" | "jacobianNorm"} Metric */

/** The metrics of the softmax, which are means over all queries.
 * @type {{ key: Metric, places: number }[]} */
const METRICS = [
  { key: "largest", places: 2 },
  { key: "entropy", places: 2 },
  { key: "jacobianNorm", places: 3 },
];
/** @type {Record<Metric, () => string>} */
const NAMES = {
  largest: () => t`largest weight`,
  entropy: () => t`entropy`,
  jacobianNorm: () => t`gradient norm`,
};
/** @type {Record<Metric, () => string>} */
const UNITS = { largest: () => "", entropy: () => t`nats`, jacobianNorm: () => t`of the softmax` };

/** @import { SetState } from "./base.js" */
/** @import { Point } from "./chart.js" */
/** @typedef {{ d_k: number, scaled: boolean, seed: number, apart: number }} State */

export default widget("ScalingLab", {
  // During a drag, the edge of the scores is by `apart` further out than the pointer.
  own: { apart: 0 },
  says: (/** @type {State} */ state) => {
    const now = current(state);
    const [largest, entropy, norm] = METRICS.map(({ key, places }) => num(now[key], { places }));
    return state.scaled
      ? t`${state.d_k} features, scores divided: standard deviation ${num(now.std)}, mean largest weight ${largest} , entropy ${entropy} nats, gradient norm ${norm} of the softmax`
      : t`${state.d_k} features, scores not divided: standard deviation ${num(now.std)}, mean largest weight ${largest} , entropy ${entropy} nats, gradient norm ${norm} of the softmax`;
  },
  view: (state, set) => html`
    ${lead(state)}
    <div class="qkv-scaling">${scoresPanel(state, set)} ${weightsPanel(state)}</div>
    ${controls(state, set)}
    ${tables(() => numbers(state))}`,
});

/** Return the sample of a seed at every d_k, with its table. */
const sample = remember((/** @type {number} */ seed) => {
  const levels = scalingExperiment(seed);
  return { levels, rows: levels.map(tableRow) };
});

/** @param {ReturnType<typeof scalingExperiment>[number]} level */
const tableRow = ({ d_k, plain, scaled }) => [
  d_k,
  .../** @type {("std" | Metric)[]} */ (["std", ...METRICS.map(({ key }) => key)]).map(
    (key) => `${num(plain[key])} → ${num(scaled[key])}`,
  ),
];

/** The outlines of the scores, plain or divided. */
const outlines = remember(
  (/** @type {number} */ seed, /** @type {number} */ d_k, /** @type {boolean} */ scaled) =>
    outline(current({ seed, d_k, scaled }).scores, expectedStd({ d_k, scaled }) / 4),
  2 * D_KS.length,
);

const expectedStd = (/** @type {Pick<State, "d_k" | "scaled">} */ { d_k, scaled }) => (scaled ? 1 : Math.sqrt(d_k));
const current = (/** @type {Pick<State, "seed" | "d_k" | "scaled">} */ { seed, d_k, scaled }) =>
  sample(seed).levels[D_KS.indexOf(d_k)][scaled ? "scaled" : "plain"];

/** Return the sentence about the width of the vectors, of the scores, and about the largest weight that is drawn.
 * @param {State} state */
const lead = (state) => {
  const { weights } = current(state);
  const width = html`<b>${num(state.d_k)}</b>`;
  const reach = html`<b data-number="reach">${num(EDGE * expectedStd(state), { digits: 2 })}</b>`;
  const top = html`<b data-number="largest">${num(Math.max(...weights), { places: 2 })}</b>`;
  const isOne = state.d_k === 1;
  if (state.scaled)
    return html`<p class="qkv-lead">${
      isOne
        ? t`${width} feature: almost all scores / √${DK} within ±${reach}, largest weight ${top}.`
        : t`${width} features: almost all scores / √${DK} within ±${reach}, largest weight ${top}.`
    }</p>`;
  return html`<p class="qkv-lead">${
    isOne
      ? t`${width} feature: almost all scores within ±${reach}, largest weight ${top}.`
      : t`${width} features: almost all scores within ±${reach}, largest weight ${top}.`
  }</p>`;
};

const controls = (
  /** @type {State} */ { scaled, seed },
  /** @type {SetState<State>} */ set,
) => html`<div class="qkv-controls">
  ${toggle({
    label: t`divide by √${DK}`,
    checked: scaled,
    onChange: (value) => set({ scaled: value }),
  })}
  ${button({ label: t`new sample`, onClick: () => set({ seed: (seed + 1) % 2 ** 32 }) })}
</div>`;

/** Return the d_k whose scores, without the division, have their edge at a score.
 * @param {number} edge */
const widthAt = (edge) => nearestOf(D_KS, edge / EDGE, (d_k, std) => Math.abs(Math.log(d_k) - 2 * Math.log(std)));

/** Return the histogram of the scores: a drag makes it wider, which takes a larger d_k. The handle is at its edge, outside,
 * where it does not cover the curve. With the division, the handle is at the edge of a dashed outline, which shows the scores
 * without it.
 * @param {State} state
 * @param {SetState<State>} set */
function scoresPanel(state, set) {
  const { scores, std } = current(state);
  const { seed, d_k, scaled } = state;
  const edge = EDGE * Math.sqrt(d_k);
  const ends = [axis(-edge), axis(edge)];
  const marks = [
    [-100, -50, 0, 50, 100].map((tick) => [
      rule({ x1: axis(tick), x2: axis(tick), y1: scaled && tick === 100 ? BELOW_NOTE : 0, kind: "qkv-grid" }),
      words({ x: axis(tick), y: 0, lines: -0.8, content: num(tick) }),
    ]),
    curve({ points: outlines(seed, d_k, false), kind: "qkv-plain" }),
    curve({ points: outlines(seed, d_k, scaled), kind: "qkv-scores" }),
    rule({ y1: 100, kind: "qkv-axis" }),
    ends.map((x) => rule({ x1: x, x2: x, kind: "qkv-here" })),
    scaled
      ? [t`dashed:`, t`not divided`].map((content, i) =>
          words({ x: 99, y: 0, lines: 0.6 + 1.2 * i, anchor: "end", kind: "qkv-over-grid", content }),
        )
      : "",
  ];
  const label = t`Histogram of ${num(scores.length)} scores: standard deviation ${num(std)}.`;
  const grab = dragged(({ x, isPress, area }) => {
    const out = Math.abs(2 * x - 1) * MOST;
    const isOnHandle = out > edge && (out - edge) * area.clientWidth < 2 * MOST * HANDLE;
    const apart = isPress ? (isOnHandle ? edge - out : 0) : state.apart;
    set({ apart, d_k: widthAt(Math.max(0.1, out + apart)) });
  });
  return panel({
    title: t`scores: drag their edge`,
    reading: html`<small>${t`features, ${DK}`}</small> <b>${num(d_k)}</b>`,
    kind: scaled ? "qkv-widened qkv-divided" : "qkv-widened",
    drawing: html`${plot({ label, marks, onDrag: grab })}
      <div class="qkv-scaling-handle" aria-hidden="true">
        <svg viewBox="-16 -16 32 32" style="--at: ${pct(ends[0])}"><circle class="qkv-grip" r="15" /><path class="qkv-arrows" d="M-9 0H9M-5-4l-4 4 4 4M5-4l4 4-4 4" /></svg>
      </div>
      <input class="qkv-over" type="range" aria-label=${t`features in a vector`} min="0" max=${D_KS.length - 1}
        aria-valuetext=${num(d_k)} .value=${live(String(D_KS.indexOf(d_k)))}
        @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ d_k: D_KS[target.valueAsNumber] })}>`,
  });
}

/** Return the outline of a histogram as points of the drawing area. The highest bin is just below the top.
 * @param {Float64Array} scores
 * @param {number} binWidth
 * @returns {Point[]} */
function outline(scores, binWidth) {
  const bins = Math.ceil(scores.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / binWidth);
  const counts = histogram(scores, -bins * binWidth, bins * binWidth, 2 * bins);
  const highest = Math.max(...counts);
  const edge = (/** @type {number} */ i) => axis((i - bins) * binWidth);
  const steps = counts.flatMap((count, i) =>
    [edge(i), edge(i + 1)].map((x) => /** @type {Point} */ ([x, 100 - (HIGHEST * count) / highest])),
  );
  return [[edge(0), 100], ...steps, [edge(2 * bins), 100]];
}

const centre = (/** @type {number} */ place, /** @type {number} */ count) => ((place + 0.5) * 100) / count;

/** Return the keys of one query, from the lowest score to the highest.
 * @param {State} state */
const keysByScore = (state) => {
  const { scores, weights } = current(state);
  return weights.map((weight, i) => ({ score: scores[i], weight })).sort((one, other) => one.score - other.score);
};

/** Return a line for each key, from its score on the axis above to its weight below: where the lines end far apart, the
 * weights differ.
 * @param {State} state */
function links(state) {
  const keys = keysByScore(state);
  const lines = keys.map((key, i) => {
    const [from, to] = [axis(key.score), centre(i, keys.length)];
    return svg`<path style="--qkv-p: ${Math.round(1000 * key.weight) / 1000}" d="M${from} 0V6C${from} 60 ${to} 40 ${to} 100" />`;
  });
  const dots = keys.map((key) => svg`<circle r="3" cx=${pct(axis(key.score))} cy="0" />`);
  return html`<div class="qkv-plot qkv-links"><svg aria-hidden="true">
    <svg viewBox="0 0 100 100" preserveAspectRatio="none">${lines}</svg>${dots}</svg></div>`;
}

/** @param {State} state */
function weightsPanel(state) {
  const weights = keysByScore(state).map(({ weight }) => weight);
  const largest = weights[weights.length - 1];
  const marks = [
    yAxis({ scale: share, ticks: [0, 0.5, 1] }),
    barMarks({ bars: weights.map((weight, i) => [centre(i, weights.length), share(weight)]), width: 4.5 }),
    words({
      x: 1,
      y: 12,
      anchor: "start",
      content: t`the weights of one query`,
    }),
    words({ x: 0, y: 100, lines: 0.95, anchor: "start", content: t`lowest score` }),
    words({ x: 100, y: 100, lines: 0.95, anchor: "end", content: t`the highest` }),
  ];
  const label = t`The ${weights.length} weights of one query: the largest is ${num(largest)}, for the highest score.`;
  return html`${links(state)} ${plot({ label, marks })}`;
}

/** @param {State} state */
function numbers(state) {
  const { scores, weights, ...now } = current(state);
  const { seed, d_k } = state;
  const queries = num(scores.length / weights.length);
  const width = num(d_k);
  return [
    {
      caption: state.scaled
        ? t`Means over ${queries} queries, d_k = ${width}, scores divided`
        : t`Means over ${queries} queries, d_k = ${width}, scores not divided`,
      head: [t`metric`, t`mean`],
      rows: METRICS.map(({ key, places }) => [NAMES[key](), `${num(now[key], { places })} ${UNITS[key]()}`]),
    },
    {
      caption: t`The same means for every d_k: scores not divided → divided. Sample ${seed}: 16 sequences of 16 tokens, every entry of their queries and keys drawn on its own from a standard normal.`,
      head: [DK, t`standard deviation of the scores`, ...METRICS.map(({ key }) => NAMES[key]())],
      rows: sample(seed).rows,
    },
    {
      caption: state.scaled
        ? t`One query, d_k = ${width}, scores divided`
        : t`One query, d_k = ${width}, scores not divided`,
      head: [t`key`, t`score`, t`weight`],
      rows: weights.map((weight, i) => [i + 1, num(scores[i]), num(weight)]),
    },
  ];
}

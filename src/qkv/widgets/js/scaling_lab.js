import {
  barMarks,
  button,
  curve,
  dragged,
  gripMark,
  html,
  nearestOf,
  num,
  panel,
  plot,
  powersOfTwo,
  remember,
  stepSlider,
  svg,
  tables,
  toggle,
  widget,
  words,
  xAxis,
  yAxis,
} from "./base.js";
import { histogram, scalingExperiment } from "./maths.js";
import { linear, logarithmic } from "./scales.js";

const D_KS = powersOfTwo(10);
const DK = html`<var>d<sub>k</sub></var>`;
const DK_IN_PLOT = svg`<tspan font-style="italic">d<tspan class="qkv-sub" dy="0.3em">k</tspan></tspan>`;

const score = linear([-150, 150], [0, 100]);
const size = logarithmic([1, 1024], [6, 100]); // the ring at 1 does not cover the numbers of the axis
const share = linear([0, 1], [100, 0]);

/** The metrics of the softmax, which are means over all queries. The picture shows the first one. */
const METRICS = [
  { key: "largest", name: "largest weight", places: 2 },
  { key: "entropy", name: "entropy", unit: "nats", places: 2 },
  { key: "jacobianNorm", name: "gradient norm", unit: "of the softmax", places: 3 },
];

/** @import { Point } from "./chart.js" */
/** @typedef {{ d_k: number, scaled: boolean, seed: number }} State */

export default widget("ScalingLab", {
  says: (/** @type {State} */ state) => {
    const now = current(state);
    const metrics = METRICS.map(({ key, name, unit = "", places }) => `${name} ${num(now[key], { places })} ${unit}`);
    const divided = state.scaled ? "divided" : "not divided";
    return `${state.d_k} features, scores ${divided}: standard deviation ${num(now.std)}, mean ${metrics.join(", ")}`;
  },
  view: (state, set) => html`
    ${controls(state, set)}
    <div class="qkv-scaling">${scoresPanel(state)} ${weightsPanel(state)} ${meanPanel(state, set)}</div>
    ${tables(() => numbers(state))}`,
});

/** Return the sample of a seed at every d_k, with its table and the curves of the mean largest weight against d_k, with
 * and without the division. */
const sample = remember((seed) => {
  const levels = scalingExperiment(seed);
  const curveOf = (way) => levels.map((level) => /** @type {Point} */ ([size(level.d_k), share(level[way].largest)]));
  return { levels, rows: levels.map(tableRow), curves: { plain: curveOf("plain"), scaled: curveOf("scaled") } };
});

const tableRow = ({ d_k, plain, scaled }) => [
  d_k,
  ...["std", ...METRICS.map(({ key }) => key)].map((key) => `${num(plain[key])} → ${num(scaled[key])}`),
];

const outlines = remember(
  (seed, d_k, scaled) => outline(current({ seed, d_k, scaled }).scores, expectedStd({ d_k, scaled }) / 4),
  2 * D_KS.length,
);

const expectedStd = ({ d_k, scaled }) => (scaled ? 1 : Math.sqrt(d_k));
const current = ({ seed, d_k, scaled }) => sample(seed).levels[D_KS.indexOf(d_k)][scaled ? "scaled" : "plain"];

const controls = ({ d_k, scaled, seed }, set) => html`<div class="qkv-controls">
  ${stepSlider({
    label: html`features in a vector, ${DK}`,
    value: d_k,
    values: D_KS,
    onInput: (value) => set({ d_k: value }),
  })}
  ${toggle({
    label: html`divide by √${DK}`,
    checked: scaled,
    onChange: (value) => set({ scaled: value }),
  })}
  ${button({ label: "new sample", onClick: () => set({ seed: (seed + 1) % 2 ** 32 }) })}
</div>`;

/** Return the histogram of the scores. With the division, it is narrow, and a dashed outline shows it without. */
function scoresPanel(state) {
  const { scores, std } = current(state);
  const { seed, d_k, scaled } = state;
  const marks = [
    xAxis({ scale: score, ticks: [-100, -50, 0, 50, 100], format: (tick) => num(tick), title: "score" }),
    curve({ points: outlines(seed, d_k, scaled), kind: "qkv-scores" }),
    scaled ? [curve({ points: outlines(seed, d_k, false), kind: "qkv-plain" }), legend(scores)] : "",
  ];
  const label = `Histogram of ${num(scores.length)} scores: standard deviation ${num(std)}.`;
  return panel({
    title: "scores",
    reading: html`<small>standard deviation</small> <b data-number="std">${num(std)}</b> <small>≈ ${
      scaled ? "1" : html`√${num(d_k)}`
    }</small>`,
    drawing: plot({ label, marks }),
  });
}

/** Return the names of both outlines. The divided scores are a narrow peak on this axis, so their range is named too. */
function legend(scores) {
  const range = rangeOf(scores).map((end) => num(end, { places: 1 }));
  return [
    ["start", "dashed:", "not divided"],
    ["end", "divided:", range.join(" to ")],
  ].map(([anchor, ...lines]) =>
    lines.map((content, i) => words({ x: anchor === "end" ? 100 : 0, y: 0, lines: 0.4 + 1.2 * i, anchor, content })),
  );
}

const rangeOf = (scores) =>
  scores.reduce(([low, high], each) => [Math.min(low, each), Math.max(high, each)], [Infinity, -Infinity]);

/** Return the outline of a histogram as points of the drawing area. The highest bin reaches the top.
 * @returns {Point[]} */
function outline(scores, binWidth) {
  const bins = Math.ceil(scores.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / binWidth);
  const counts = histogram(scores, -bins * binWidth, bins * binWidth, 2 * bins);
  const highest = Math.max(...counts);
  const edge = (i) => score((i - bins) * binWidth);
  const steps = counts.flatMap((count, i) =>
    [edge(i), edge(i + 1)].map((x) => /** @type {Point} */ ([x, 100 - (100 * count) / highest])),
  );
  return [[edge(0), 100], ...steps, [edge(2 * bins), 100]];
}

function weightsPanel(state) {
  const { weights } = current(state);
  const largest = weights.indexOf(Math.max(...weights));
  const centre = (i) => ((i + 0.5) * 100) / weights.length;
  const marks = [
    yAxis({ scale: share, ticks: [0, 0.5, 1] }),
    barMarks({ bars: weights.map((weight, i) => [centre(i), share(weight)]), width: 4.5 }),
    xAxis({ scale: (key) => centre(key - 1), ticks: [1, 4, 8, 12, 16], title: "key" }),
  ];
  const label = `The ${weights.length} weights of one query: the largest is ${num(weights[largest])}, on key ${largest + 1}.`;
  return panel({
    title: "weights of one query",
    reading: html`<small>the largest is</small> <b>${num(weights[largest], { places: 2 })}</b>`,
    drawing: plot({ label, marks }),
  });
}

/** Return the plot of the mean largest weight against d_k, with the division and without. Its point can be dragged. */
function meanPanel(state, set) {
  const { plain, scaled } = sample(state.seed).curves;
  const { largest } = current(state);
  const now = state.scaled ? "scaled" : "plain";
  const named = (line, content) => words({ x: 100, y: line.at(-1)[1], dx: 18, anchor: "start", content });
  const marks = [
    yAxis({ scale: share, ticks: [0, 0.5, 1] }),
    xAxis({ scale: size, ticks: [1, 32, 1024], format: (tick) => num(tick), title: DK_IN_PLOT }),
    Object.entries({ plain, scaled }).map(([way, line]) =>
      curve({ points: line, kind: `qkv-${way} ${way === now ? "qkv-now" : ""}` }),
    ),
    gripMark({ x: size(state.d_k), y: share(largest) }),
    named(plain, "not divided"),
    named(scaled, "divided"),
  ];
  const label = `Mean largest weight against d_k, scores divided and not: ${num(largest, { places: 2 })} here.`;
  const grab = ({ x }) => set({ d_k: nearestOf(D_KS, x, (d_k, at) => Math.abs(size(d_k) / 100 - at)) });
  return panel({
    title: "largest weight, mean of 256 queries",
    reading: html`<b data-number="largest">${num(largest, { places: 2 })}</b>`,
    drawing: plot({ label, kind: "qkv-means", marks, onDrag: dragged(grab) }),
  });
}

function numbers(state) {
  const { scores, weights, ...now } = current(state);
  const { seed, d_k } = state;
  const way = state.scaled ? "divided" : "not divided";
  return [
    {
      caption: `Means over ${num(scores.length / weights.length)} queries, d_k = ${num(d_k)}, scores ${way}`,
      head: ["metric", "mean"],
      rows: METRICS.map(({ key, name, unit = "", places }) => [name, `${num(now[key], { places })} ${unit}`]),
    },
    {
      caption: `The same means for every d_k: scores not divided → divided. Sample ${seed}: 16 sequences of 16 tokens, every entry of their queries and keys drawn on its own from a standard normal.`,
      head: [DK, "standard deviation of the scores", ...METRICS.map((metric) => metric.name)],
      rows: sample(seed).rows,
    },
    {
      caption: `One query, d_k = ${num(d_k)}, scores ${way}`,
      head: ["key", "score", "weight"],
      rows: weights.map((weight, i) => [i + 1, num(scores[i]), num(weight)]),
    },
  ];
}

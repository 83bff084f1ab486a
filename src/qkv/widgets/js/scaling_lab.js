import { live } from "lit-html/directives/live.js";
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
  rule,
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
const size = logarithmic([1, 1024], [0, 100]);
const share = linear([0, 1], [100, 0]);

/** The three metrics of the softmax, which are means over all queries. */
const METRICS = [
  { key: "largest", name: "largest weight", top: 1, ticks: [0, 0.5, 1], places: 2 },
  { key: "entropy", name: "entropy", unit: "nats", top: 3, ticks: [0, 1, 2, 3], places: 2 },
  { key: "jacobianNorm", name: "gradient norm", unit: "of the softmax", top: 0.4, ticks: [0, 0.2, 0.4], places: 3 },
];

/** @import { Point } from "./chart.js" */
/** @typedef {{ d_k: number, scaled: boolean, seed: number, metric: string }} State */

export default widget("ScalingLab", {
  own: { metric: "largest" }, // the metric whose curve is drawn
  says: (/** @type {State} */ state) => {
    const now = current(state);
    const metrics = METRICS.map(({ key, name, unit = "", places }) => `${name} ${num(now[key], { places })} ${unit}`);
    const divided = state.scaled ? "divided" : "not divided";
    return `${state.d_k} features, scores ${divided}: standard deviation ${num(now.std)}, mean ${metrics.join(", ")}`;
  },
  view: (state, set, id) => html`
    ${controls(state, set)}
    <div class="qkv-scaling">
      ${scoresPanel(state)} ${weightsPanel(state)} ${metricChoice(state, set, id)} ${metricPanel(state, set)}
    </div>
    <p class="qkv-note">
      Sample ${state.seed}: 16 sequences of 16 tokens, every entry drawn on its own from a standard normal.
    </p>
    ${tables(() => numbers(state))}`,
});

/** Return the sample of a seed at every d_k, with its table and the curves of its metrics. */
const sample = remember((seed) => {
  const levels = scalingExperiment(seed);
  return { levels, rows: levels.map(tableRow), curves: METRICS.map((metric) => curvesOf(metric, levels)) };
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

function scoresPanel(state) {
  const { scores, std } = current(state);
  const { seed, d_k, scaled } = state;
  const expected = expectedStd(state);
  const marks = [
    xAxis({ scale: score, ticks: [-100, -50, 0, 50, 100], format: (tick) => num(tick), title: "score" }),
    curve({ points: outlines(seed, d_k, scaled), kind: "qkv-scores" }),
    scaled ? curve({ points: outlines(seed, d_k, false), kind: "qkv-plain" }) : "",
  ];
  const label = `Histogram of ${num(scores.length)} scores: standard deviation ${num(std)}.`;
  const source = scaled ? "" : html`√${num(d_k)} = `;
  const before = scaled ? `, as is ${num(current({ seed, d_k, scaled: false }).std)}` : "";
  return panel({
    title: "all scores",
    reading: html`std <b data-number="std">${num(std)}</b> <small>≈ ${source}${num(expected)}${before}</small>`,
    drawing: plot({ label, marks }),
  });
}

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
    reading: html`key ${largest + 1}: <b>${num(weights[largest], { places: 2 })}</b>`,
    drawing: plot({ label, marks }),
  });
}

/** Return the curves of a metric against d_k, with and without the division. They do not depend on the slider. */
function curvesOf({ key, top }, levels) {
  const height = linear([0, top], [100, 0]);
  const points = (way) => levels.map((level) => [size(level.d_k), height(level[way][key])]);
  return { height, plain: points("plain"), scaled: points("scaled") };
}

/** Return the three metrics as a choice: the curve of the chosen one is drawn. */
const metricChoice = (state, set, id) => html`<fieldset class="qkv-control qkv-metrics">
  <legend class="qkv-label">means over all queries</legend>
  ${METRICS.map(
    ({ key, name, unit, places }) => html`<label>
      <input type="radio" name="${id}-metric" .checked=${live(key === state.metric)} @change=${() => set({ metric: key })}>
      <span>${name}</span>
      <b data-number=${name.replaceAll(" ", "-")}>${num(current(state)[key], { places })}</b>
      <small>${unit}</small>
    </label>`,
  )}
</fieldset>`;

/** Return the plot of the chosen metric against d_k, with the division and without. Its point can be dragged. */
function metricPanel(state, set) {
  const index = METRICS.findIndex(({ key }) => key === state.metric);
  const { key, name, ticks, places } = METRICS[index];
  const { height, plain, scaled } = sample(state.seed).curves[index];
  const value = current(state)[key];
  const now = state.scaled ? "scaled" : "plain";
  const here = size(state.d_k);
  const marks = [
    yAxis({ scale: height, ticks }),
    xAxis({ scale: size, ticks: [1, 32, 1024], format: (tick) => num(tick), title: DK_IN_PLOT }),
    rule({ x1: here, x2: here, kind: "qkv-here" }),
    Object.entries({ plain, scaled }).map(([way, line]) =>
      curve({ points: line, kind: `qkv-${way} ${way === now ? "qkv-now" : ""}` }),
    ),
    gripMark({ x: here, y: height(value) }),
    words({ x: 100, y: plain.at(-1)[1], dx: 14, anchor: "start", content: "as is" }),
    words({ x: 100, y: scaled.at(-1)[1], dx: 14, anchor: "start", content: svg`÷ √${DK_IN_PLOT}` }),
  ];
  const label = `Mean ${name} against d_k, scores divided and as is: ${num(value, { places })} here.`;
  const grab = ({ x }) => set({ d_k: nearestOf(D_KS, x, (d_k, at) => Math.abs(size(d_k) / 100 - at)) });
  return panel({ title: html`mean ${name}, for every ${DK}`, drawing: plot({ label, marks, onDrag: dragged(grab) }) });
}

function numbers(state) {
  const { scores, weights } = current(state);
  return [
    {
      caption: `Means over ${num(scores.length / weights.length)} queries: scores as is → divided`,
      head: [DK, "std of the scores", ...METRICS.map((metric) => metric.name)],
      rows: sample(state.seed).rows,
    },
    {
      caption: `One query, d_k = ${state.d_k}: scores ${state.scaled ? "divided" : "as is"}`,
      head: ["key", "score", "weight"],
      rows: weights.map((weight, i) => [i + 1, num(scores[i]), num(weight)]),
    },
  ];
}

import {
  button,
  curve,
  dotMark,
  html,
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
import { temperedRow } from "./maths.js";
import { linear, logarithmic } from "./scales.js";

const D_KS = powersOfTwo(6);
const DK = html`<var>d<sub>k</sub></var>`;
// Eighths of an octave: every √d_k is one of them, and so is 1.
const TEMPERATURES = [0.05, ...Array.from({ length: 61 }, (_, i) => 2 ** ((i - 34) / 8)), 10];
const CURVE = Array.from({ length: 93 }, (_, i) => 0.05 * 200 ** (i / 92));

const warmth = logarithmic([0.05, 10], [0, 100]);

export default widget("TemperatureLab", {
  own: { first: null },
  says: (state) => {
    const { weights, spread } = measured(state);
    const top = weights.indexOf(Math.max(...weights));
    return `T ${num(state.temperature)}: ${state.tokens[top]} has weight ${share(weights[top])}, entropy ${num(spread)} nats.`;
  },
  view: (state, set) => html`
    ${controls(state, set)}
    <div class="qkv-temperature">${rows(state, set)} ${side(state)}</div>
    ${tables(() => numbers(state))}`,
});

const share = (weight) => num(weight, { places: 3 });

const tempered = remember((scores, d_k, temperature) => temperedRow({ scores, d_k, temperature }));
const measured = ({ scores, d_k, temperature }) => tempered(scores, d_k, temperature);

/** The entropy's curve: the same at every temperature. */
const spreads = remember((scores, d_k) =>
  CURVE.map((t) => [warmth(t), temperedRow({ scores, d_k, temperature: t }).spread]),
);

function controls({ scores, temperature, d_k, first }, set) {
  const nearest = TEMPERATURES.reduce((best, t) =>
    Math.abs(Math.log(t / temperature)) < Math.abs(Math.log(best / temperature)) ? t : best,
  );
  return html`<div class="qkv-controls">
    ${stepSlider({
      label: html`temperature, <var>T</var>`,
      value: nearest,
      values: TEMPERATURES,
      text: num(temperature),
      ends: ["0.05, steep", "10, flat"],
      onInput: (value) => set({ temperature: value }),
    })}
    ${stepSlider({
      label: html`unscaled head, ${DK}`,
      value: d_k,
      values: D_KS,
      ends: ["scores as below", html`scores × √${DK}`],
      onInput: (value) => set({ d_k: value }),
    })}
    ${button({
      label: "put the scores back",
      disabled: !first || first.every((score, i) => score === scores[i]),
      onClick: () => set({ scores: first }),
    })}
  </div>`;
}

/** A row for each token: its score as a slider, its weight as a bar and a number. */
function rows(state, set) {
  const { weights } = measured(state);
  const reach = Math.max(4, ...state.scores.map(Math.abs));
  const move = (index) => (value) =>
    set({
      first: state.first ?? state.scores,
      scores: state.scores.map((score, i) => (i === index ? value : score)),
    });
  return html`<div class="qkv-keys">
    <p class="qkv-note" aria-hidden="true"><span>score, to be dragged</span><span>weight</span></p>
    ${state.tokens.map(
      (token, i) => html`<div class="qkv-key">
        ${stepless({ label: token, value: state.scores[i], reach, onInput: move(i) })}
        <div class="qkv-weight"><i style="--qkv-p: ${weights[i]}"></i><b>${share(weights[i])}</b></div>
      </div>`,
    )}
    ${limits(state)}
  </div>`;
}

/** Two digits of the largest score, so that it can be reached whatever the scores' size. */
const stepsUpTo = remember((reach) => {
  const step = 10 ** (Math.floor(Math.log10(reach)) - 1);
  const last = Math.ceil(reach / step);
  return Array.from({ length: 2 * last + 1 }, (_, i) => Number(((i - last) * step).toPrecision(12)));
});

const stepless = ({ label, value, reach, onInput }) => {
  const values = stepsUpTo(reach);
  const nearest = values.reduce((best, x) => (Math.abs(x - value) < Math.abs(best - value) ? x : best));
  return stepSlider({ label, value: nearest, values, text: num(value, { places: 1 }), onInput });
};

function limits({ scores, tokens }) {
  const top = Math.max(...scores);
  const winners = tokens.filter((_, i) => scores[i] === top);
  const each = winners.length > 1 ? `${num(1 / winners.length, { places: 2 })} each for` : "all to";
  return html`<p class="qkv-note">
    T → 0: ${each} <b>${winners.join(", ")}</b>. T → ∞: ${num(1 / scores.length, { places: 2 })} for each.
  </p>`;
}

function side(state) {
  const { weights, spread, slope } = measured(state);
  return html`<div>
    ${readings([
      ["largest weight", share(Math.max(...weights))],
      ["entropy", num(spread, { places: 2 }), "nats"],
      ["as if even over", num(Math.exp(spread), { places: 1 }), "tokens"],
      ["gradient norm", num(slope, { places: 3 })],
    ])}
    ${entropyPanel(state, spread)}
  </div>`;
}

function entropyPanel(state, spread) {
  const most = Math.log(state.scores.length);
  const height = linear([0, most], [100, 0]);
  const root = Math.sqrt(state.d_k);
  const { scores, d_k } = state;
  const points = spreads(scores, d_k).map(([x, entropy]) => [x, height(entropy)]);
  const marks = [
    yAxis({ scale: height, ticks: [0, most], format: (tick) => (tick ? num(tick, { places: 2 }) : "0") }),
    xAxis({ scale: warmth, ticks: [0.1, 1, 10], title: "temperature, T" }),
    curve({ points }),
    state.d_k > 1
      ? [
          rule({ x1: warmth(root), x2: warmth(root), kind: "qkv-here" }),
          words({
            x: warmth(root),
            y: 0,
            lines: -0.7,
            content: svg`√<tspan font-style="italic">d</tspan><tspan class="qkv-sub" dy="0.3em">k</tspan>`,
          }),
        ]
      : nothing,
    dotMark({ x: warmth(state.temperature), y: height(spread) }),
  ];
  const label = `Entropy against temperature: ${num(spread, { places: 2 })} nats here, at most ${num(most, { places: 2 })}.`;
  return panel({ title: "entropy of the weights (nats)", drawing: plot({ label, marks }) });
}

function numbers(state) {
  const { stretched, weights } = measured(state);
  return [
    {
      caption: "Scores, and their weights at this temperature",
      head: ["token", "score", "score × √d_k", "weight"],
      rows: state.tokens.map((token, i) => [token, num(state.scores[i]), num(stretched[i]), num(weights[i])]),
    },
  ];
}

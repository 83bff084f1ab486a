import { live } from "lit-html/directives/live.js";
import { button, dragged, html, nearestOf, nothing, num, remember, t, tables, toggle, widget, wordAt } from "./base.js";
import { picked, scoreForWeight, temperedRow } from "./maths.js";
import { logarithmic } from "./scales.js";

const WIDE = 64; // d_k of the head without scaling
const LONG = 0.7; // a bar of at least this weight has room for its number
const DK = html`<var>d<sub>k</sub></var>`;
// Eighths of an octave: every √d_k is one of them, and so is 1.
const TEMPERATURES = [0.05, ...Array.from({ length: 61 }, (_, i) => 2 ** ((i - 34) / 8)), 10];
const ALIKE = 1.5; // weights are almost the same if the largest is at most so many times the smallest
const DOTS = 100; // so many dots are as long as the bar of a weight of 1

const warmth = logarithmic([0.05, 10], [0, 1]);

/** @import { SetState } from "./base.js" */
/** @typedef {{ scores: number[], tokens: string[], temperature: number, d_k: number, handles: string[],
 *   first: number[] | null, grip: { from: number, at: number, row: number, put: (value: number) => void } | null, drawn: number[], fresh: number, drawnWith: number[] | null }} State */
/** @typedef {ReturnType<typeof dragged>} Listener */

export default widget("TemperatureLab", {
  // `first` has the scores before the first drag, `grip` the bar's row and value, the pointer and the axis (in `put`) when a drag began; `drawn` has
  // the indices of the drawn tokens, of which the last `fresh` were drawn at once, and `drawnWith` the weights with which
  // they were drawn.
  own: { first: null, grip: null, drawn: [], fresh: 0, drawnWith: null },
  says: (/** @type {State} */ state) => {
    const { weights, spread } = measured(state);
    const top = weights.indexOf(Math.max(...weights));
    const last = drawnNow(state).at(-1);
    const next = last === undefined ? "" : t` Drawn: ${state.tokens[last]}.`;
    return (
      t`T ${num(state.temperature)}: ${state.tokens[top]} has weight ${share(weights[top])}, entropy ${num(spread)} nats.` +
      next
    );
  },
  view: (state, set) => {
    const has = (/** @type {string} */ handle) => state.handles.includes(handle);
    return html`
      <div class="qkv-temperature ${has("scores") ? "qkv-with-scores" : ""}">
        ${lead(state)}
        <div class="qkv-with-thermometer">${rows(state, set, has("scores"))} ${thermometer(state, set)}</div>
        ${hint(state, set)}
        ${has("width") ? widthToggle(state, set) : nothing}
        ${has("draws") ? sampling(state, set) : nothing}
      </div>
      ${tables(() => numbers(state))}`;
  },
});

const share = (/** @type {number} */ weight) => num(weight, { places: 3 });

const tempered = remember(
  (/** @type {number[]} */ scores, /** @type {number} */ d_k, /** @type {number} */ temperature) =>
    temperedRow({ scores, d_k, temperature }),
  24,
);
const measured = (/** @type {Pick<State, "scores" | "d_k" | "temperature">} */ { scores, d_k, temperature }) =>
  tempered(scores, d_k, temperature);

/** Return the weights at T = 1 with scaled scores, which those of a wide head are compared with.
 * @param {State} state */
const weightsBefore = ({ scores }) => measured({ scores, d_k: 1, temperature: 1 }).weights;

/** Return the sentence about the weights.
 * @param {State} state */
function lead(state) {
  const { weights } = measured(state);
  const [top, next] = weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
  const before = weightsBefore(state);
  const isUndone = state.d_k > 1 && weights.every((weight, i) => Math.abs(weight - before[i]) < 0.005);
  return html`<p class="qkv-lead">${isUndone ? undone(state) : leading(state.tokens, weights, top, next)}</p>`;
}

/** @param {State} parts */
const undone = ({ temperature, d_k }) =>
  t`${html`<b>T = ${num(temperature, { digits: 3 })}</b>`} undoes × ${rootOf(d_k)}: every weight is as before.`;

/** @param {string[]} tokens
 * @param {number[]} weights
 * @param {number} top the word with the largest weight
 * @param {number} next the word with the next one */
function leading(tokens, weights, top, next) {
  const [first, second] = [top, next].map((i) => html`<b>${tokens[i]}</b>`);
  const [low, high, other] = [Math.min(...weights), weights[top], weights[next]].map(hundredths);
  const most = html`<b>${high}</b>`;
  if (weights[top] <= ALIKE * Math.min(...weights))
    return t`Each of ${weights.length} words gets ${html`<b>${low}–${high}</b>`} of the weight.`;
  if (high === other) return t`${first} and ${second} get ${most} of the weight each.`;
  return t`${first} gets ${most} of the weight, ${html`${second}\u00a0${other}`}.`;
}

const hundredths = (/** @type {number} */ weight) => num(weight, { places: 2 });

/* ---- the words: a row for each, with bars that can be dragged */

/** @param {State} state
 * @param {SetState<State>} set
 * @param {boolean} hasScores */
function rows(state, set, hasScores) {
  const { stretched, weights } = measured(state);
  const reach = reachOf(state);
  const axis = axisOf(state);
  const values = stepsUpTo(reach);
  const dots = dotsOf(state);
  const held = heldRow(state);
  const isAsBefore = state.temperature === 1 && state.d_k === 1;
  const before = state.handles.includes("width") && !isAsBefore ? weightsBefore(state) : null;
  return html`<div class="qkv-keys">${hasScores ? heads(axis, before !== null) : nothing}${state.tokens.map(
    (token, i) => {
      const score = state.scores[i];
      const put = (/** @type {number} */ value) => set(moved(state, i, value, reach));
      const putNearest = (/** @type {number} */ share) =>
        put(nearestOf(values, (share * 2 * axis) / Math.sqrt(state.d_k)));
      const putWeight = (/** @type {number} */ weight) => put(scoreFor(state, i, weight));
      const slider = scoreSlider({ token: wordAt(state.tokens, i), score, shown: stretched[i], values, put });
      const place = stretched[i] / axis;
      return html`<div class="qkv-key-row" style="--qkv-p: ${weights[i]}">
      <span class="qkv-key-name">${token}</span>
      ${hasScores ? scoreBar({ shown: stretched[i], place, slider, drag: pulled(state, set, { from: place / 2, row: i, put: putNearest }) }) : nothing}
      ${
        hasScores
          ? html`<div class="qkv-weight-bar">${weightMarks(weights[i], dots[i], before?.[i])}</div>`
          : weightBar({
              marks: weightMarks(weights[i], dots[i], before?.[i]),
              slider,
              drag: pulled(state, set, { from: weights[i], row: i, put: putWeight }),
              grip: i === held ? gripOf(state, i, reach) : nothing,
            })
      }
    </div>`;
    },
  )}</div>`;
}

/** Return the names of the columns, between the ends of the axis.
 * @param {number} axis
 * @param {boolean} hasBefore */
const heads = (axis, hasBefore) => html`<div class="qkv-key-row qkv-key-heads" aria-hidden="true">
  <span class="qkv-of-axis"><i>${num(-axis)}</i><span>${t`score`}</span><i>${num(axis)}</i></span><span class="qkv-of-weights">${t`weight`}</span>
  ${hasBefore ? html`<span class="qkv-of-before">${t`old`}</span>` : nothing}
</div>`;

const rootOf = (/** @type {number} */ d_k) => num(Math.sqrt(d_k), { digits: 3 });

/** Return a listener for a bar: a drag moves its value, a share of the bar's width, as far as the pointer. A press alone
 * changes nothing.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {{ from: number, row: number, put: (value: number) => void }} bar its value, its row, and what takes a new value */
const pulled = (state, set, bar) =>
  dragged(({ x, isPress }) => {
    if (isPress) set({ grip: { ...bar, at: x } });
    else if (state.grip) state.grip.put(state.grip.from + x - state.grip.at);
  });

/** Return the largest absolute score that can be set.
 * @param {Pick<State, "scores" | "first">} parts */
const reachOf = ({ scores, first }) => Math.max(4, ...scores.map(Math.abs), ...(first ?? []).map(Math.abs));

/** Return where the axis of the scores ends. Scores × 8 have one that is four times as long, so that their handles move
 * away from 0. If a score does not fit on it, the axis is as long as any score can get.
 * @param {Pick<State, "scores" | "first" | "d_k" | "temperature">} state */
function axisOf(state) {
  const [reach, root] = [reachOf(state), Math.sqrt(state.d_k)];
  const short = reach * Math.max(1, root / 2);
  const { stretched } = measured(state);
  return Math.max(...stretched.map(Math.abs)) > short ? reach * root : short;
}

/** Return the change of the state when one score is changed, which also keeps the scores before the first change.
 * @param {Pick<State, "first" | "scores">} state
 * @param {number} index
 * @param {number} score
 * @param {number} reach */
const moved = ({ first, scores }, index, score, reach) => ({
  first: first ?? scores,
  scores: scores.map((old, i) => (i === index ? Math.min(reach, Math.max(-reach, score)) : old)),
});

/** Return the values of a score's slider, up to the largest score: multiples of 1 in that score's second digit. */
const stepsUpTo = remember((/** @type {number} */ reach) => {
  const step = 10 ** (Math.floor(Math.log10(reach)) - 1);
  const last = Math.ceil(reach / step);
  return Array.from({ length: 2 * last + 1 }, (_, i) => Number(((i - last) * step).toPrecision(12)));
});

/** Return a score as a stem from 0, in the middle, to a handle.
 * @param {{ shown: number, place: number, slider: unknown, drag: Listener }} parts */
const scoreBar = ({ shown, place, slider, drag }) => html`<div
    class="qkv-score qkv-drag ${shown < 0 ? "qkv-below-zero" : ""}"
    style="--qkv-s: ${place}" @pointerdown=${drag} @pointermove=${drag}>
  <i></i><span aria-hidden="true">${written(shown)}</span>${slider}
</div>`;

/** Return the slider of a score for the keyboard, which lies invisible over a bar.
 * @param {{ token: string, score: number, shown: number, values: number[], put: (score: number) => void }} parts */
const scoreSlider = ({ token, score, shown, values, put }) => html`<input class="qkv-over" type="range"
    aria-label=${t`score of ${token}`} min="0" max=${values.length - 1} aria-valuetext=${written(shown)}
    .value=${live(String(values.indexOf(nearestOf(values, score))))}
    @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => put(values[target.valueAsNumber])}>`;

/** Return a score as short as it has room for: 1.9, −310, 8000. */
const written = (/** @type {number} */ score) => num(score, { places: Math.abs(score) < 100 ? 1 : 0 }).replace(",", "");

/** Return a weight as a bar with a handle at its end.
 * @param {{ marks: unknown, slider: unknown, drag: Listener, grip: unknown }} parts */
const weightBar = ({ marks, slider, drag, grip }) =>
  html`<div class="qkv-weight-bar qkv-drag" @pointerdown=${drag} @pointermove=${drag}>${marks}${grip}${slider}</div>`;

/** Return the row whose bar has a handle that is always seen: the bar that was dragged last, or that of the highest score.
 * @param {State} state */
const heldRow = ({ grip, scores }) => grip?.row ?? scores.indexOf(Math.max(...scores));

/** Return the handle at the end of a bar, and a line at each weight where it stops, because its score ends there.
 * @param {State} state
 * @param {number} i
 * @param {number} reach */
const gripOf = (state, i, reach) =>
  html`${[-reach, reach].map((score) => {
    const { scores } = moved(state, i, score, reach);
    const { weights } = temperedRow({ scores, d_k: state.d_k, temperature: state.temperature });
    return html`<s class="qkv-stop" style="--qkv-before: ${weights[i]}"></s>`;
  })}<em class="qkv-knob" aria-hidden="true">↔</em>`;

/** Return a weight as a bar, its number behind the bar or in a long one, a line at the weight before, if there is one,
 * and a row of dots: a dot for each time that its token was drawn.
 * @param {number} weight
 * @param {number[]} dots
 * @param {number} [before] */
const weightMarks = (weight, dots, before) => html`<i></i>
  ${before === undefined ? nothing : html`<s style="--qkv-before: ${before}"></s>`}
  <b class=${weight < LONG ? "" : "qkv-in-bar"}>${hundredths(weight)}</b>
  ${dots.map((turn, k) => html`<u style="--qkv-k: ${k / DOTS}; --qkv-turn: ${turn}"></u>`)}`;

/** Return the score that gives a token a weight, which is limited to 0.001 … 0.999.
 * @param {State} state
 * @param {number} index
 * @param {number} weight */
function scoreFor(state, index, weight) {
  const score = scoreForWeight(state, index, Math.min(0.999, Math.max(0.001, weight)));
  return Number(score.toPrecision(3));
}

/** Return a line that says what can be dragged or, after that, that a score is at the end of its range; and a button
 * that undoes it.
 * @param {State} parts
 * @param {SetState<State>} set */
function hint({ scores, first, d_k, handles }, set) {
  const reach = reachOf({ scores, first });
  const changed = scores.filter((score, i) => first && score !== first[i]);
  const ended = changed.some((score) => Math.abs(score) === reach);
  return html`<div class="qkv-hint">
    <p class="qkv-note">${ended ? endOf(reach, d_k) : handles.includes("scores") ? t`Drag T, or a score.` : html`${t`Drag T, or a word’s bar.`} <span class="qkv-stop"></span> ${t`score ±${num(reach)}`}`}</p>
    ${changed.length ? button({ label: t`reset scores`, onClick: () => first && set({ scores: first }) }) : nothing}
  </div>`;
}

const endOf = (/** @type {number} */ reach, /** @type {number} */ d_k) =>
  d_k > 1 ? t`Scores end at ±${num(reach)} × ${rootOf(d_k)}.` : t`Scores end at ±${num(reach)}.`;

/* ---- sampling: a language model draws its next word from weights like these */

/** Return the tokens that were drawn with the present weights. After a change of the weights the count starts again.
 * @param {State} state */
const drawnNow = (state) => (state.drawnWith === measured(state).weights ? state.drawn : []);

/** Return the share of the draws of each token, or null before the first draw.
 * @param {State} state */
function countsOf(state) {
  const drawn = drawnNow(state);
  if (!drawn.length) return null;
  return state.tokens.map((_, i) => drawn.filter((index) => index === i).length / drawn.length);
}

/** Return for each token its dots: for each, how many of those drawn at once fall before it. Up to 100 draws, each has a
 * dot; of more, each dot is one in a hundred.
 * @param {State} state
 * @returns {number[][]} */
function dotsOf(state) {
  const drawn = drawnNow(state);
  const before = (/** @type {number} */ turn) => Math.max(0, turn - drawn.length + state.fresh);
  const turns = state.tokens.map((_, i) => [...drawn.keys()].filter((turn) => drawn[turn] === i).map(before));
  if (drawn.length <= DOTS) return turns;
  return turns.map((all) => all.slice(0, Math.round((DOTS * all.length) / drawn.length)).map(() => 0));
}

/** @param {State} state
 * @param {SetState<State>} set */
function sampling(state, set) {
  const { weights } = measured(state);
  const draw = (/** @type {number} */ count) => () => {
    const fresh = Array.from({ length: count }, () => picked(weights, Math.random()));
    set({ drawn: [...drawnNow(state), ...fresh], fresh: count, drawnWith: weights });
  };
  const drawn = drawnNow(state);
  const last = drawn.at(-1);
  return html`<div class="qkv-sampling">
    ${button({ label: t`draw a word`, onClick: draw(1) })}
    ${button({ label: t`draw 100`, onClick: draw(DOTS) })}
    <p class="qkv-sampled qkv-note">${
      last === undefined
        ? t`Language models draw words like this.`
        : html`<u aria-hidden="true"></u>${t`${num(drawn.length)} drawn, the last: ${html`<b>${state.tokens[last]}</b>`}`}`
    }</p>
  </div>`;
}

/* ---- the temperature: a thermometer beside the words. Below scores, it lies: their two axes need the width. */

/** @param {State} state
 * @param {SetState<State>} set */
function thermometer(state, set) {
  const value = nearestOf(TEMPERATURES, state.temperature, (a, b) => Math.abs(Math.log(a / b)));
  const text = String(Number(state.temperature.toPrecision(2)));
  const short = String(Number(Number(text).toFixed(2))); // the ring is no wider
  const lies = state.handles.includes("scores");
  const grab = dragged(({ x, y }) =>
    set({ temperature: nearestOf(TEMPERATURES, lies ? x : 1 - y, (each, at) => Math.abs(warmth(each) - at)) }),
  );
  return html`<div class="qkv-thermometer">
    <span aria-hidden="true">${t`hot`}</span>
    <div class="qkv-drag" style="--qkv-at: ${warmth(state.temperature)}" @pointerdown=${grab} @pointermove=${grab}>
      <i></i><b class="qkv-knob" aria-hidden="true"><var>T</var>${short}</b>
      <input class="qkv-over" type="range" aria-label=${t`temperature T`} aria-orientation=${lies ? "horizontal" : "vertical"} min="0"
        max=${TEMPERATURES.length - 1} aria-valuetext=${text} .value=${live(String(TEMPERATURES.indexOf(value)))}
        @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ temperature: TEMPERATURES[target.valueAsNumber] })}>
    </div>
    <span aria-hidden="true">${t`cold`}</span>
  </div>`;
}

/** Return the switch for the scores of a wide head that does not divide them by √d_k.
 * @param {State} parts
 * @param {SetState<State>} set */
function widthToggle({ d_k }, set) {
  const width = d_k > 1 ? d_k : WIDE;
  return toggle({
    label: t`width ${width}, unscaled: scores × ${rootOf(width)}`,
    checked: d_k > 1,
    onChange: (isWide) => set({ d_k: isWide ? WIDE : 1 }),
  });
}

/** @param {State} state */
function numbers(state) {
  const { stretched, weights, spread, slope } = measured(state);
  const often = countsOf(state);
  return [
    {
      caption: t`Scores, their weights at this temperature, and how often each token was drawn`,
      head: [t`token`, t`score`, t`score × √${DK}`, t`weight`, t`drawn`],
      rows: state.tokens.map((token, i) => [
        token,
        num(state.scores[i]),
        num(stretched[i]),
        num(weights[i]),
        often ? share(often[i]) : t`not yet`,
      ]),
    },
    {
      caption: t`The whole row of weights at this temperature`,
      head: [t`metric`, t`value`],
      rows: [
        [t`largest weight`, share(Math.max(...weights))],
        [t`entropy`, t`${num(spread, { places: 2 })} nats, at most ${num(Math.log(weights.length), { places: 2 })}`],
        [t`as even as equal weights on`, t`${num(Math.exp(spread), { places: 1 })} tokens`],
        [t`gradient norm of the softmax`, num(slope, { places: 3 })],
      ],
    },
  ];
}

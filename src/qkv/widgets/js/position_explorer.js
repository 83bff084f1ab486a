import { live } from "lit-html/directives/live.js";
import {
  choices,
  curve,
  dragged,
  gripMark,
  html,
  logSlider,
  nothing,
  num,
  panel,
  plot,
  readings,
  remember,
  rule,
  slider,
  stepSlider,
  tables,
  toggle,
  widget,
  xAxis,
  yAxis,
} from "./base.js";
import { heatmap, whenColoursChange } from "./heatmap.js";
import { alibiBias, dot, normals, placedScores, sinusoidalEncoding } from "./maths.js";
import { linear, roundNumbers, widened } from "./scales.js";

const LAST = 127;
const SMALLEST_BASE = 10;
const HEADS = [1, 2, 3, 4, 5, 6, 7, 8];
const D = html`<var>d</var>`;
const SCHEMES = {
  sinusoidal: { label: "added to the tokens (sinusoidal)", brief: "sinusoidal" },
  rope: { label: "turned (RoPE)", brief: "RoPE" },
  alibi: { label: "added to the scores (ALiBi)", brief: "ALiBi" },
};
const named = (scheme) => `Positions ${SCHEMES[scheme].label}`;
const range = (low, high) => Array.from({ length: high - low + 1 }, (_, i) => low + i);
const DISTANCES = range(-LAST, LAST);
const NEAR = 32; // the curve over distance ends here while the two tokens are no further apart
const EVEN = DISTANCES.filter((distance) => distance % 2 === 0);
const PLACES = range(0, LAST);
const DIALS = range(0, 7);
const NO_CLOCK = { asking: [0, 1], answering: [0, 1], product: 0, tokens: 0 };
const fixed = (x) => num(x, { places: 2 });

/** @import { Point } from "./chart.js" */
/** @import { Pair } from "./scales.js" */
/** @typedef {{ scheme: string, query: number, key: number, together: boolean, words: boolean, d: number, base: number,
 *   head: number, repainted: number, held: string, reach: number | null }} State */

export default widget("PositionExplorer", {
  // `held` is the token whose hand or mark is dragged. `reach` is where the curve over distance ends during a drag.
  own: { repainted: 0, held: "query", reach: null },
  setup: ({ state, set }) => whenColoursChange(() => set({ repainted: state.repainted + 1 })),
  says: (/** @type {State} */ state) => {
    const { now, low, high } = current(state);
    return `${named(state.scheme)}. Query at ${state.query}, key at ${state.key}: ${nameOfScore(state)} ${fixed(now)}. Anywhere in the text: ${fixed(low)} to ${fixed(high)}.`;
  },
  view: (state, set, id) => html`
    ${controls(state, set, id)}
    <div class="qkv-pos">
      ${mapPanel(state, set)}
      ${state.scheme === "alibi" ? headsPanel(state, set, id) : clocksPanel(state, set)}
      <div class="qkv-pos-curves">${distancePanel(state, set)} ${placePanel(state, set)}</div>
    </div>
    ${tables(() => numbers(state))}`,
});

/* ---- values that are computed once for each setting of the scheme */

/** The number of results that are kept: sliders go back and forth. */
const LOOKS = 24;

/** The features of `it` and of `cat`; a larger d uses more of them. */
const WORDS = [normals(128, 6), normals(128, 7)].map((features) => [...features]);
const wordsOf = (d) => WORDS.map((features) => features.slice(0, d));

const worlds = remember((scheme, d, words, base, head) => {
  const pair = words ? wordsOf(d) : null;
  const placed = placedScores({ scheme, d, base, head, words: pair });
  return { ...placed, pair, setting: { scheme, d, words, base, head }, reach: reach(scheme, words, placed.score) };
}, LOOKS);

function world({ scheme, d, base, head, words }) {
  return scheme === "alibi" ? worlds(scheme, d, words, 10_000, head) : worlds(scheme, d, words, base, 1);
}

/** Return the lowest and the highest score of the curves, estimated from a sample of positions. They do not depend
 * on the handles. */
function reach(scheme, words, score) {
  const content = score(0, 0);
  if (scheme === "alibi") return [Math.min(content, 0) - 64, Math.max(content, 0)];
  const places = scheme === "sinusoidal" && words ? [0, 32, 64, 96, 127] : [0];
  const distances = words ? EVEN : EVEN.filter((distance) => distance <= 0); // without words, s(−d) = s(d)
  const [low, high] = extent(places.flatMap((t) => distances.map((distance) => score(t, t - distance))));
  return [Math.min(0, low), Math.max(0, high)];
}

/** Return the ends of the score's axis. They have room for the smallest base, whose scores spread most, so that the
 * axis stays while the base changes. */
function limits({ scheme, d, base, head, words }) {
  return extent([base, SMALLEST_BASE].flatMap((b) => world({ scheme, d, base: b, head, words }).reach));
}

/** @returns {Pair} */
const extent = (numbers) => [Math.min(...numbers), Math.max(...numbers)];

/** Return the score of the two tokens, the extreme scores at their distance anywhere in the text, and both curves. */
function current(state) {
  const { query, key } = state;
  const here = world(state);
  return {
    distance: query - key,
    now: here.score(query, key),
    overDistance: overDistance(here, query, reachOf(state)),
    ...alongTheText(here, query - key),
  };
}

const reachOf = ({ query, key, reach }) => reach ?? (Math.abs(query - key) > NEAR ? LAST : NEAR);

const overDistance = remember((world, query, reach) => {
  const { height } = axisOf(world);
  const across = distanceAxis(reach);
  return range(-reach, reach).map(
    (apart) => /** @type {Point} */ ([across(apart), height(world.score(query, query - apart))]),
  );
}, LOOKS);

const alongTheText = remember((world, distance) => {
  const { height } = axisOf(world);
  const places = range(Math.max(0, distance), Math.min(LAST, LAST + distance));
  const scores = places.map((t) => world.score(t, t - distance));
  const [low, high] = extent(scores);
  return { along: places.map((t, i) => /** @type {Point} */ ([placeAxis(t), height(scores[i])])), low, high };
}, LOOKS);

const nameOfScore = ({ scheme, words }) => {
  if (scheme !== "alibi") return "dot product";
  return words ? "score" : "bias";
};

/* ---- controls */

/** Return words that are hidden on a phone (`long`), or shown only there (`short`). */
const long = (words) => html`<span class="qkv-pos-long">${words}</span>`;
const short = (words) => html`<span class="qkv-pos-short">${words}</span>`;

const controls = (state, set, id) => html`<div class="qkv-pos-controls">
  ${choices({
    label: "positions are",
    name: `${id}-scheme`,
    value: state.scheme,
    options: Object.entries(SCHEMES).map(([value, { label, brief }]) => ({
      value,
      label: html`${long(label)}${short(brief)}`,
    })),
    onChange: (scheme) => set({ scheme, reach: null }),
  })}
  <div>
    ${state.scheme === "alibi" && !state.words ? nothing : featuresSlider(state, set)}
    ${state.scheme === "alibi" ? headSlider(state, set) : baseSlider(state, set)}
  </div>
  <div>
    ${toggle({
      label: html`${long("keep the distance: ")}move both${long(" handles")}`,
      checked: state.together,
      onChange: (together) => set({ together }),
    })}
    ${toggle({
      label: html`words${long(" of their own")}: <i>it</i>, <i>cat</i>`,
      checked: state.words,
      onChange: (words) => set({ words }),
    })}
  </div>
</div>`;

const featuresSlider = ({ d }, set) =>
  stepSlider({
    label: html`features, ${D}`,
    value: d,
    values: [4, 8, 16, 32, 64, 128],
    onInput: (value) => set({ d: value }),
  });

const baseSlider = ({ base }, set) =>
  logSlider({
    label: "base",
    value: base,
    min: SMALLEST_BASE,
    max: 1_000_000,
    onInput: (value) => set({ base: value }),
  });

const headSlider = ({ head }, set) =>
  slider({ label: "head", value: head, min: 1, max: 8, onInput: (value) => set({ head: value }) });

/** Return the change of the state when a handle is moved. With `together` the other handle moves too, up to the end
 * of the text. `reach` is set, so that no axis changes during the drag. */
function move(state, name, to) {
  const reach = reachOf(state);
  if (!state.together) return { [name]: to, reach };
  const other = name === "query" ? "key" : "query";
  const step = clamp(state[other] + to - state[name], 0, LAST) - state[other];
  return { [name]: state[name] + step, [other]: state[other] + step, reach };
}

const letGo = (set) => () => set({ reach: null });

/** Return the token that is dragged: at a press the nearer one by the function `away`, then the same one to the end. */
const heldBy = (state, isPress, away) => {
  if (!isPress) return state.held;
  return Math.abs(away("key")) < Math.abs(away("query")) ? "key" : "query";
};

const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

const handle = (state, set, name) => html`<div class="qkv-control qkv-pos-handle qkv-pos-handle-${name}">
  <label>
    <span class="qkv-label">${name}</span>
    <input type="range" min="0" max=${LAST} .value=${live(String(state[name]))}
      @input=${(event) => set(move(state, name, Number(event.target.value)))} @change=${letGo(set)}>
  </label>
  <b aria-hidden="true">${state[name]}</b>
</div>`;

/* ---- the map: a row of features for every position, or ALiBi's factor for every query and key */

function mapPanel(state, set) {
  const { title, where = "", rows, most, columns, legend } = pictured(state);
  const scores = state.scheme === "alibi";
  const grab = dragged(scores ? grabCell(state, set) : grabRow(state, set));
  const label = `${title}${where}: ${legend.join(" to ")}. Query at ${state.query}, key at ${state.key}.`;
  return html`<figure class="qkv-panel qkv-pos-map ${scores ? "qkv-pos-map-scores" : ""}">
    <figcaption><span class="qkv-label">${title}${long(where)}</span></figcaption>
    ${handle(state, set, "query")}
    <div class="qkv-pos-map-area qkv-drag" @pointerdown=${grab} @pointermove=${grab} @lostpointercapture=${letGo(set)}>
      ${heatmap({ label, rows, most, width: columns, height: LAST + 1, key: world(state), repainted: `${state.scheme} ${state.repainted}` })}
      ${mark("query", state.query)} ${mark("key", state.key)}
      ${state.together && !scores ? stretchBetween(state) : nothing}
    </div>
    ${handle(state, set, "key")}
    <div class="qkv-pos-legend"><span>${legend[0]}</span><i></i><span>${legend[1]}</span></div>
    <p class="qkv-note">${scores ? "queries down, keys across" : html`positions down${long(`, ${state.d} features across`)}`}</p>
  </figure>`;
}

/** Return a listener that moves the nearer mark up and down with the pointer. */
const grabRow =
  (state, set) =>
  ({ y, isPress }) => {
    const to = Math.round(y * LAST);
    const held = heldBy(state, isPress, (name) => to - state[name]);
    set({ held, ...move(state, held, to) });
  };

const grabCell =
  (state, set) =>
  ({ x, y }) => {
    const query = Math.round(y * LAST);
    set(state.together ? move(state, "query", query) : { query, key: Math.round(x * LAST), reach: reachOf(state) });
  };

const mark = (name, position) =>
  html`<div class="qkv-pos-mark qkv-pos-mark-${name}" style="--at: ${position / LAST}"></div>`;

const stretchBetween = ({ query, key }) => html`<div class="qkv-pos-kept"
  style="--from: ${Math.min(query, key) / LAST}; --to: ${Math.max(query, key) / LAST}"></div>`;

function pictured(state) {
  const { query, pair } = world(state);
  if (state.scheme === "alibi") {
    const factors = PLACES.map((distance) => Math.exp(alibiBias(state.head, 8, distance)));
    const rows = (t) => PLACES.map((s) => factors[Math.abs(t - s)]);
    return { title: `head ${state.head} multiplies a weight by`, rows, most: 1, columns: LAST + 1, legend: ["0", "1"] };
  }
  const what = {
    sinusoidal: pair ? "it + position code" : "position codes",
    rope: pair ? "it, turned" : "turned hands",
  };
  const most = pair ? 3 : 1;
  return {
    title: what[state.scheme],
    where: !pair && state.scheme === "sinusoidal" ? "" : ", at each position",
    rows: query,
    most,
    columns: state.d,
    legend: [`−${most}`, `${most}`],
  };
}

/* ---- the two curves */

const distanceAxis = (reach) => linear([-reach, reach], [0, 100]);
const placeAxis = linear([0, LAST], [0, 100]);
const TICKS = 3; // on the scores' axis, about
const axisOf = remember(({ setting }) => {
  const span = setting.scheme === "alibi" ? limits(setting) : widened(limits(setting), TICKS);
  return { height: linear(span, [100, 0]), ticks: roundNumbers(span, TICKS) };
}, LOOKS);

/** Return the axis of the scores. Only its ends and 0 have numbers, because each text makes the sliders slower. */
const scoreAxis = ({ height: scale, ticks }) => {
  const named = ticks.filter((tick, i) => tick === 0 || i === 0 || i === ticks.length - 1);
  return yAxis({ scale, ticks, named, format: (tick) => num(tick) });
};

function distancePanel(state, set) {
  const { distance, now, overDistance } = current(state);
  const axis = axisOf(world(state));
  const reach = reachOf(state);
  const across = distanceAxis(reach);
  const ticks = reach === NEAR ? [-30, -20, -10, 0, 10, 20, 30] : [-100, -50, 0, 50, 100];
  const marks = [
    scoreAxis(axis),
    xAxis({ scale: across, ticks, format: (tick) => num(tick), title: "distance: query − key" }),
    rule({ x1: across(0), x2: across(0), kind: "qkv-here" }),
    curve({ points: overDistance }),
    gripMark({ x: across(clamp(distance, -reach, reach)), y: axis.height(now) }),
  ];
  const grab = ({ x }) => set({ reach, ...atDistance(state, Math.round((2 * x - 1) * reach)) });
  return panel({
    title: html`${nameOfScore(state)} over distance`,
    reading: html`at ${num(distance)}${state.together ? long(", kept") : ""}: <b data-number="score">${fixed(now)}</b>`,
    drawing: plot({
      label: `${nameOfScore(state)} against distance: ${fixed(now)} at ${distance}.`,
      marks,
      onDrag: dragged(grab),
    }),
  });
}

/** Return query and key at a distance. The query keeps its position if the key is then within the text. */
function atDistance({ query }, distance) {
  const at = clamp(query, Math.max(0, distance), Math.min(LAST, LAST + distance));
  return { query: at, key: at - distance };
}

function placePanel(state, set) {
  const { along, distance, low, high, now } = current(state);
  const axis = axisOf(world(state));
  const marks = [
    scoreAxis(axis),
    xAxis({ scale: placeAxis, ticks: [0, 32, 64, 96, 127], title: "place of the query" }),
    curve({ points: along }),
    gripMark({ x: placeAxis(state.query), y: axis.height(now) }),
  ];
  const grab = ({ x }) => set({ reach: null, ...atDistance({ query: Math.round(x * LAST) }, distance) });
  return panel({
    title: html`${long("the ")}same pair, elsewhere${long(" in the text")}`,
    reading: html`<b data-number="low">${fixed(low)}</b> to <b data-number="high">${fixed(high)}</b>`,
    drawing: plot({
      label: `At this distance, ${fixed(low)} to ${fixed(high)} along the text.`,
      marks,
      onDrag: dragged(grab),
    }),
  });
}

/* ---- the clocks, or ALiBi's heads */

function clocksPanel(state, set) {
  const pairs = state.d / 2;
  const shown = pairs <= 8 ? range(0, pairs - 1) : DIALS.map((i) => Math.round((i * (pairs - 1)) / 7));
  const clocks = clocksOf(state);
  const total = clocks.reduce((sum, { product }) => sum + product, 0);
  const some = pairs > DIALS.length ? `${DIALS.length} of ${pairs} shown` : "";
  return html`<figure class="qkv-panel qkv-pos-clocks">
    <figcaption>
      <span class="qkv-label">hands of <b class="qkv-pos-query">query</b>${long(" and")}${short(",")} <b class="qkv-pos-key">key</b>${long(", to be turned; below: product, ↻ tokens a turn")}</span>
      <span>${long(some && `${some}; `)}sum${some && ` of all ${pairs}`}: <b data-number="clocks">${fixed(total)}</b></span>
    </figcaption>
    <div class="qkv-pos-dials">${DIALS.map(
      (i) => html`${dial(clocks[shown[i]], dragged(turnHand(state, set, shown[i])), letGo(set))}
      ${i === shown.length - 1 ? html`<small class="qkv-pos-short qkv-pos-below"><span>${some}</span>product<br>↻ tokens<br>a turn</small>` : nothing}`,
    )}</div>
  </figure>
  ${underClocks(state, total)}`;
}

/** Return the note under the clocks: with words, the four terms of the score of added codes; without words, that
 * RoPE gives the same numbers. */
function underClocks(state, total) {
  if (state.words) return state.scheme === "sinusoidal" ? fourTerms(state, total) : nothing;
  if (state.scheme === "sinusoidal") return nothing;
  return html`<p class="qkv-note qkv-pos-same">Without words: the same numbers as sinusoidal; hands turn the other way.</p>`;
}

/** Return the features that the clocks show for a token at a position. */
function featuresAt(state, name, place) {
  const here = world(state);
  return state.scheme === "sinusoidal" ? sinusoidalEncoding(place, here.frequencies) : here[name](place);
}

/** Return the angle of a hand, clockwise from twelve. */
const angleAt = (state, name, place, clock) => {
  const features = featuresAt(state, name, place);
  return Math.atan2(features[2 * clock], features[2 * clock + 1]);
};

/** Return the angle from −π to π with the same direction. */
const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));

/** Return a listener that turns the nearer hand to the pointer, the shorter way round: its token moves to the
 * position at which the hand points there. */
const turnHand =
  (state, set, clock) =>
  ({ x, y, isPress }) => {
    const pointer = Math.atan2(x - 0.5, 0.5 - y);
    const away = (name) => wrapped(pointer - angleAt(state, name, state[name], clock));
    const held = heldBy(state, isPress, away);
    const aPlace = wrapped(angleAt(state, held, 1, clock) - angleAt(state, held, 0, clock));
    set({ held, ...move(state, held, clamp(Math.round(state[held] + away(held) / aPlace), 0, LAST)) });
  };

/** Return for every clock both hands, their share of the dot product, and the tokens of a full turn. */
function clocksOf(state) {
  const [q, k] = ["query", "key"].map((name) => featuresAt(state, name, state[name]));
  return world(state).frequencies.map((frequency, i) => {
    const [asking, answering] = [q, k].map((x) => [x[2 * i], x[2 * i + 1]]);
    return { asking, answering, product: dot(asking, answering), tokens: (2 * Math.PI) / frequency };
  });
}

/** Return a count as text that fits under a clock: 6.3, 1,117, 54.4k, 5.06M. */
function brief(count) {
  if (count < 10_000) return num(count, { digits: 2 });
  return count < 1_000_000 ? `${num(count / 1000)}k` : `${num(count / 1_000_000)}M`;
}

/** Return a clock, or its room if d has too few features for it. Transforms turn the hands without a new layout. */
function dial(clock, turn, release) {
  const { asking, answering, product, tokens } = clock ?? NO_CLOCK;
  const longest = Math.max(Math.hypot(...asking), Math.hypot(...answering));
  const hand = ([x, y]) => `transform: rotate(${Math.atan2(x, y)}rad) scaleY(${Math.hypot(x, y) / longest})`;
  return html`<div class="qkv-pos-clock ${clock ? "" : "qkv-pos-none"}">
    <div class="qkv-pos-dial qkv-drag" aria-hidden="true" @pointerdown=${turn} @pointermove=${turn} @lostpointercapture=${release}>
      <i class="qkv-pos-key" style=${hand(answering)}></i><i class="qkv-pos-query" style=${hand(asking)}></i>
    </div>
    <b>${fixed(product)}</b>
    <small>↻ ${brief(tokens)}</small>
  </div>`;
}

function fourTerms(state, places) {
  const { query, key, score } = world(state);
  const [it, cat] = wordsOf(state.d);
  const content = dot(it, cat);
  const itAndPlace = dot(it, key(state.key)) - content;
  const catAndPlace = dot(cat, query(state.query)) - content;
  return readings([
    ["it · cat", fixed(content)],
    ["it · key's place", fixed(itAndPlace)],
    ["query's place · cat", fixed(catAndPlace)],
    ["place · place (clocks)", fixed(places)],
    ["together", fixed(score(state.query, state.key))],
  ]);
}

/** Return ALiBi's heads, each with its factor at this distance. A press chooses the head that the map shows. */
function headsPanel(state, set, id) {
  const distance = state.query - state.key;
  return html`<figure class="qkv-panel qkv-pos-clocks">
    <figcaption><span class="qkv-label">at distance ${Math.abs(distance)}, each head multiplies a weight by${long("; below it, its slope")}</span></figcaption>
    <div class="qkv-pos-dials" role="radiogroup" aria-label="head">${HEADS.map((head) => {
      const factor = Math.exp(alibiBias(head, 8, distance));
      return html`<label class="qkv-pos-head">
        <input class="qkv-over" type="radio" name="${id}-head" .checked=${live(head === state.head)} @change=${() => set({ head })}>
        <span class="qkv-heat" style="--qkv-p: ${factor}">${fixed(factor)}</span>
        <small>head ${head}<br>1/${2 ** head}</small>
      </label>`;
    })}
      <div class="qkv-pos-short"><span class="qkv-heat-name">factor</span><small>head<br>slope</small></div></div>
  </figure>`;
}

function numbers(state) {
  const { score } = world(state);
  const rows = [0, 1, 2, 3, 4, 5, 6, 10, 20, 50, 100].map((apart) => [
    apart,
    fixed(score(state.query, state.query - apart)),
    fixed(score(state.query, state.query + apart)),
  ]);
  return [
    { caption: `${nameOfScore(state)}, query at ${state.query}`, head: ["distance", "key before", "key after"], rows },
  ];
}

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
  plot,
  remember,
  rule,
  slider,
  stepSlider,
  t,
  tables,
  toggle,
  widget,
  xAxis,
  yAxis,
} from "./base.js";
import { heatmap, whenColoursChange } from "./heatmap.js";
import { alibiBias, dot, normals, placedScores, sinusoidalEncoding } from "./maths.js";
import { linear, roundNumbers, widened } from "./scales.js";

/** @import { SetState } from "./base.js" */
/** @import { Point } from "./chart.js" */
/** @import { Grip } from "./dragging.js" */
/** @import { Pair } from "./scales.js" */
/** @typedef {"sinusoidal" | "rope" | "alibi"} Scheme */
/** @typedef {"query" | "key"} Token */
/** @typedef {{ scheme: Scheme, query: number, key: number, together: boolean, words: boolean, d: number, base: number,
 *   head: number, repainted: number, held: Token, apart: number }} State */
/** @typedef {Pick<State, "scheme" | "d" | "words" | "base" | "head">} Setting of a scheme */
/** @typedef {ReturnType<typeof placedScores>["score"]} Score of a query and a key at two positions */
/** @typedef {ReturnType<typeof worlds>} World */
/** @typedef {ReturnType<typeof clocksOf>[number]} Clock */

const LAST = 127;
const SMALLEST_BASE = 10;
const HEADS = [1, 2, 3, 4, 5, 6, 7, 8];
const factorOf = (/** @type {number} */ head, /** @type {number} */ distance) =>
  Math.exp(alibiBias(head, HEADS.length, distance));
const D = html`<var>d</var>`;
/** The words of the sentence that ask and answer: *it* asks about *cat*.
 * @type {Record<Token, string>} */
const TOKENS = { query: "it", key: "cat" };
/** @type {Scheme[]} */
const SCHEMES = ["sinusoidal", "rope", "alibi"];
const nameOfScheme = (/** @type {Scheme} */ scheme) =>
  ({ sinusoidal: t`sinusoidal`, rope: "RoPE", alibi: "ALiBi" })[scheme];
const range = (/** @type {number} */ low, /** @type {number} */ high) =>
  Array.from({ length: high - low + 1 }, (_, i) => low + i);
const DISTANCES = range(-LAST, LAST);
const EVEN = DISTANCES.filter((distance) => distance % 2 === 0);
const PLACES = range(0, LAST);
const DIALS = 4; // clocks that are drawn, of those that turn fast enough to be seen
const fixed = (/** @type {number} */ x) => num(x, { places: 2 });

export default widget("PositionExplorer", {
  // `held` is the token whose hand or mark is dragged, and `apart` its distance from the pointer, in positions.
  own: { repainted: 0, held: "query", apart: 0 },
  setup: ({ state, set }) => whenColoursChange(() => set({ repainted: state.repainted + 1 })),
  says: (/** @type {State} */ state) => {
    const { now, low, high } = current(state);
    return t`${nameOfScheme(state.scheme)} positions. Query at ${state.query}, key at ${state.key}: ${nameOfScore(state)} ${fixed(now)}. Anywhere in the text: ${fixed(low)} to ${fixed(high)}.`;
  },
  view: (state, set, id) => html`
    <div class="qkv-pos">
      <p class="qkv-lead">${anywhereText(state)}</p>
      ${mapPanel(state, set)}
      ${state.scheme === "alibi" ? headsPanel(state, set, id) : clocksPanel(state, set)}
      ${scoreLine(state)} ${switches(state, set)}
    </div>
    ${settings(state, set, id)}
    ${tables(() => numbers(state))}`,
});

/* ---- values that are computed once for each setting of the scheme */

/** The number of results that are kept: sliders go back and forth. */
const LOOKS = 24;

/** The features of `it` and of `cat`; a larger d uses more of them. */
const WORDS = [normals(128, 6), normals(128, 7)].map((features) => [...features]);
const wordsOf = (/** @type {number} */ d) => WORDS.map((features) => features.slice(0, d));

const worlds = remember(
  (
    /** @type {Scheme} */ scheme,
    /** @type {number} */ d,
    /** @type {boolean} */ words,
    /** @type {number} */ base,
    /** @type {number} */ head,
  ) => {
    const pair = words ? wordsOf(d) : null;
    const placed = placedScores({ scheme, d, base, head, words: pair });
    return {
      ...placed,
      pair,
      setting: { scheme, d, words, base, head },
      extremes: extremes(scheme, words, placed.score),
    };
  },
  LOOKS,
);

/** @param {Setting} parts */
function world({ scheme, d, base, head, words }) {
  return scheme === "alibi" ? worlds(scheme, d, words, 10_000, head) : worlds(scheme, d, words, base, 1);
}

/** Return the lowest and the highest score of the curves, estimated from a sample of positions. They do not depend
 * on the handles.
 * @param {Scheme} scheme
 * @param {boolean} words
 * @param {Score} score
 * @returns {Pair} */
function extremes(scheme, words, score) {
  const places = scheme === "sinusoidal" && words ? [0, 32, 64, 96, 127] : [0];
  const distances = words ? EVEN : EVEN.filter((distance) => distance <= 0); // without words, s(−d) = s(d)
  const [low, high] = extent(places.flatMap((t) => distances.map((distance) => score(t, t - distance))));
  return [Math.min(0, low), Math.max(0, high)];
}

/** Return the ends of the score's axis. They have room for ALiBi's steepest head, and for the smallest base, whose scores
 * spread most, so that the axis stays while the head or the base changes.
 * @param {Setting} setting
 * @param {Score} score
 * @returns {Pair} */
function limits({ scheme, d, base, head, words }, score) {
  if (scheme === "alibi") return [Math.min(score(0, 0), 0) - LAST / 2, Math.max(score(0, 0), 0)];
  return extent([base, SMALLEST_BASE].flatMap((b) => world({ scheme, d, base: b, head, words }).extremes));
}

/** @param {number[]} numbers
 * @returns {Pair} */
const extent = (numbers) => [Math.min(...numbers), Math.max(...numbers)];

/** Return the score of the two tokens, the extreme scores at their distance anywhere in the text, and both curves.
 * @param {State} state */
function current(state) {
  const { query, key } = state;
  const here = world(state);
  return {
    distance: query - key,
    now: here.score(query, key),
    overDistance: overDistance(here, query),
    ...anywhere(here, query - key),
  };
}

const overDistance = remember((/** @type {World} */ world, /** @type {number} */ query) => {
  const { height } = axisOf(world);
  return DISTANCES.map((apart) => /** @type {Point} */ ([across(apart), height(world.score(query, query - apart))]));
}, LOOKS);

/** Return the lowest and the highest score of two tokens at this distance, over all places in the text. */
const anywhere = remember((/** @type {World} */ world, /** @type {number} */ distance) => {
  const places = range(Math.max(0, distance), Math.min(LAST, LAST + distance));
  const [low, high] = extent(places.map((t) => world.score(t, t - distance)));
  return { low, high };
}, LOOKS);

const nameOfScore = (/** @type {Pick<State, "scheme" | "words">} */ { scheme, words }) => {
  if (scheme !== "alibi") return t`dot product`;
  return words ? t`score` : t`bias`;
};

/* ---- controls */

const switches = (/** @type {State} */ state, /** @type {SetState<State>} */ set) => html`<div class="qkv-pos-switches">
  ${toggle({ label: t`move both`, checked: state.together, onChange: (together) => set({ together }) })}
  ${toggle({ label: t`words count too`, checked: state.words, onChange: (words) => set({ words }) })}
</div>`;

const settings = (
  /** @type {State} */ state,
  /** @type {SetState<State>} */ set,
  /** @type {string} */ id,
) => html`<details class="qkv-tables qkv-pos-settings">
  <summary>${t`All distances, and other codes`}</summary>
  ${distancePanel(state, set)}
  ${choices({
    label: t`positions`,
    name: `${id}-scheme`,
    value: state.scheme,
    options: SCHEMES.map((value) => ({ value, label: nameOfScheme(value) })),
    onChange: (scheme) => set({ scheme }),
  })}
  <p class="qkv-note">${noteOf(state)}</p>
  <div class="qkv-pos-sliders">
    ${state.scheme === "alibi" && !state.words ? nothing : featuresSlider(state, set)}
    ${state.scheme === "alibi" ? headSlider(state, set) : baseSlider(state, set)}
  </div>
</details>`;

/** Return what a scheme does with positions, as text.
 * @param {Pick<State, "scheme" | "words">} parts */
function noteOf({ scheme, words }) {
  if (scheme === "alibi") return t`Lowers each score by its distance. There are no codes, and no clocks.`;
  if (scheme === "rope") {
    return words
      ? t`Turns the query and the key of the two words.`
      : t`Without words: the same numbers as sinusoidal; hands turn the other way.`;
  }
  return words
    ? t`Codes are added to words, so words meet codes too. The clocks show the codes alone.`
    : t`Codes are added to words. Here they stand alone, without words.`;
}

const featuresSlider = (/** @type {State} */ { d }, /** @type {SetState<State>} */ set) =>
  stepSlider({
    label: t`features, ${D}`,
    value: d,
    values: [4, 8, 16, 32, 64, 128],
    onInput: (value) => set({ d: value }),
  });

const baseSlider = (/** @type {State} */ { base }, /** @type {SetState<State>} */ set) =>
  logSlider({
    label: t`base`,
    value: base,
    min: SMALLEST_BASE,
    max: 1_000_000,
    onInput: (value) => set({ base: value }),
  });

const headSlider = (/** @type {State} */ { head }, /** @type {SetState<State>} */ set) =>
  slider({
    label: t`head`,
    value: head,
    min: 1,
    max: 8,
    text: t`${head}, slope 1/${2 ** head}`,
    onInput: (value) => set({ head: value }),
  });

/** Return the change of the state when a handle is moved. With `together` the other handle moves too, up to the end
 * of the text.
 * @param {State} state
 * @param {Token} name
 * @param {number} to
 * @returns {Partial<State>} */
function move(state, name, to) {
  if (!state.together) return { [name]: to };
  const other = name === "query" ? "key" : "query";
  const step = clamp(state[other] + to - state[name], 0, LAST) - state[other];
  return { [name]: state[name] + step, [other]: state[other] + step };
}

/** Return the token that is nearer by the function `away`.
 * @param {(name: Token) => number} away
 * @returns {Token} */
const nearer = (away) => (Math.abs(away("key")) < Math.abs(away("query")) ? "key" : "query");

const clamp = (/** @type {number} */ x, /** @type {number} */ low, /** @type {number} */ high) =>
  Math.min(high, Math.max(low, x));

/** Return the tag of a token, which is dragged. For the keyboard there is a slider on it.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {Token} name */
const handle = (state, set, name) => {
  const label = name === "query" ? t`query ${TOKENS.query}` : t`key ${TOKENS.key}`;
  return html`<label class="qkv-pos-handle qkv-pos-handle-${name}" style="--at: ${state[name] / LAST}">
    ${TOKENS[name]} <b aria-hidden="true">${state[name]}</b>
    <input class="qkv-over" type="range" min="0" max=${LAST} aria-label=${label} .value=${live(String(state[name]))}
      @input=${(/** @type {{ target: HTMLInputElement }} */ event) => set(move(state, name, Number(event.target.value)))}>
  </label>`;
};

/* ---- the map: a column for every position in the text, of its features, or of the factors of ALiBi's heads */

/** @param {State} state
 * @param {SetState<State>} set */
function mapPanel(state, set) {
  const { name, label, rows, most, height, key } = pictured(state);
  const scores = state.scheme === "alibi";
  const grab = dragged(grabText(state, set));
  return html`<figure class="qkv-panel qkv-pos-map ${scores ? "qkv-pos-map-scores" : ""}">
    <figcaption aria-hidden="true"><span class="qkv-label">${name}</span></figcaption>
    <div class="qkv-pos-text qkv-drag" @pointerdown=${grab} @pointermove=${grab}>
      ${handle(state, set, "query")}
      <div class="qkv-pos-picture">
        ${heatmap({ label, rows, most, width: LAST + 1, height, key, repainted: `${state.scheme} ${state.repainted}` })}
        ${scores ? html`<div class="qkv-looked-at" style="top: ${(100 * (state.head - 1)) / HEADS.length}%; height: ${100 / HEADS.length}%"></div>` : nothing}
        ${scores ? nothing : faster(state.d / 2).map((clock, i) => pairOfRows(clock, i, state.d / 2))}
        ${mark("query", state.query)} ${mark("key", state.key)} ${ruler(state.key)}
      </div>
      ${handle(state, set, "key")}
    </div>
  </figure>`;
}

/** Return a listener that moves a token with the pointer: the one that the press has taken. */
const grabText =
  (/** @type {State} */ state, /** @type {SetState<State>} */ set) =>
  (/** @type {Grip} */ { x, y, isPress }) => {
    const at = x * LAST;
    const { held, apart } = isPress ? taken(state, at, y) : state;
    set({ held, apart, ...move(state, held, clamp(Math.round(at + apart), 0, LAST)) });
  };

const TAG = 1 / 6; // height of a tag, as a share of both tags and the map

/** Return the token that a press takes, and its distance from the pointer. A tag stays under the pointer; on the map,
 * the nearer token comes to the pointer.
 * @param {State} state
 * @param {number} at the position at the pointer
 * @param {number} y
 * @returns {{ held: Token, apart: number }} */
function taken(state, at, y) {
  if (Math.abs(y - 0.5) < 0.5 - TAG) return { held: nearer((name) => at - state[name]), apart: 0 };
  const held = y < 0.5 ? "query" : "key";
  return { held, apart: state[held] - at };
}

const mark = (/** @type {Token} */ name, /** @type {number} */ position) =>
  html`<div class="qkv-pos-mark qkv-pos-mark-${name}" style="--at: ${position / LAST}"></div>`;

/** Return the bracket at the two rows that a clock shows, with the number that its dial has. */
const pairOfRows = (/** @type {number} */ clock, /** @type {number} */ i, /** @type {number} */ pairs) =>
  html`<div class="qkv-pos-pair" aria-hidden="true" style="top: ${(100 * clock) / pairs}%; height: ${100 / pairs}%">${i + 1}</div>`;

/** Return positions below the map, without those that the key's tag would cut. */
const ruler = (/** @type {number} */ key) =>
  html`<div class="qkv-pos-ruler" aria-hidden="true">${[0, 32, 64, 96, LAST]
    .filter((place) => Math.abs(place - clamp(key, 18, LAST - 18)) > 23)
    .map((place) => html`<span style="--at: ${place / LAST}">${place}</span>`)}</div>`;

/** @param {State} state */
function pictured(state) {
  const here = world(state);
  const { query, key } = state;
  if (state.scheme === "alibi") {
    const rows = (/** @type {number} */ row) => PLACES.map((s) => factorOf(row + 1, query - s));
    const label = t`What each head multiplies a weight by, from 0 to 1, for a key at each position. Query at ${query}, key at ${key}.`;
    return { name: t`each head’s factor at each position`, label, rows, most: 1, height: HEADS.length, key: query };
  }
  return {
    name: state.words ? t`${TOKENS.query} at each position` : t`each position’s code: two rows make a clock`,
    label: t`The codes of positions 0 to ${LAST}: ${state.d} features each. Query at ${query}, key at ${key}.`,
    rows: (/** @type {number} */ feature) => PLACES.map((place) => here.query(place)[feature]),
    most: here.pair ? 3 : 1,
    height: state.d,
    key: here,
  };
}

/* ---- the curve */

const across = linear([-LAST, LAST], [0, 100]);
const TICKS = 3; // on the scores' axis, about
const axisOf = remember((/** @type {World} */ { setting, score }) => {
  const ends = limits(setting, score);
  const span = setting.scheme === "alibi" ? ends : widened(ends, TICKS);
  return { height: linear(span, [100, 0]), ticks: roundNumbers(span, TICKS) };
}, LOOKS);

/** Return the axis of the scores. Only its ends and 0 have numbers, because each text makes the sliders slower.
 * @param {ReturnType<typeof axisOf>} axis */
const scoreAxis = ({ height: scale, ticks }) => {
  const named = ticks.filter((tick, i) => tick === 0 || i === 0 || i === ticks.length - 1);
  return yAxis({ scale, ticks, named, format: (tick) => num(tick) });
};

/** Return the score of the two tokens, large. If words count too, it is the sum of the clocks, and what the words add.
 * @param {State} state */
function scoreLine(state) {
  const { now } = current(state);
  const places = state.words && state.scheme === "sinusoidal" ? sumOf(clocksOf(state)) : now;
  return html`<p class="qkv-pos-score" data-is-sum=${state.scheme !== "alibi"} data-parts=${places !== now}>${
    places === now
      ? nothing
      : html`<span>${fixed(places)} <small>${t`codes`}</small></span><span>${added(now - places)} <small>${t`words`}</small></span>`
  }<b data-number="score">${fixed(now)}</b></p>`;
}

/** @param {State} state
 * @param {SetState<State>} set */
function distancePanel(state, set) {
  const { distance, now, low, high, overDistance } = current(state);
  const axis = axisOf(world(state));
  const x = across(distance);
  const marks = [
    scoreAxis(axis),
    xAxis({
      scale: across,
      ticks: [-100, -50, 0, 50, 100],
      format: (tick) => num(tick),
      title: t`${nameOfScore(state)} over distance, query − key`,
    }),
    rule({ x1: across(0), x2: across(0), kind: "qkv-here" }),
    rule({ x1: x, x2: x, y1: axis.height(low), y2: axis.height(high), kind: "qkv-pos-anywhere" }),
    curve({ points: overDistance }),
    gripMark({ x, y: axis.height(now) }),
  ];
  const grab = (/** @type {Grip} */ { x }) => set(atDistance(state, Math.round((2 * x - 1) * LAST)));
  return html`<figure class="qkv-panel qkv-pos-curve">
    ${plot({
      label: t`${nameOfScore(state)} against distance: ${fixed(now)} at ${distance}.`,
      marks,
      onDrag: dragged(grab),
    })}
  </figure>`;
}

/** Return how much the score depends on where in the text the two tokens stand, as text.
 * @param {State} state */
function anywhereText(state) {
  const { distance, low, high } = current(state);
  const apart = Math.abs(distance);
  const [from, to] = [low, high].map((score) => html`<b>${fixed(score)}</b>`);
  if (apart === LAST) return t`${apart} apart: only here`;
  return fixed(low) === fixed(high) ? t`${apart} apart: always ${from}` : t`${apart} apart: from ${from} to ${to}`;
}

/** Return query and key at a distance. The query keeps its position if the key is then within the text.
 * @param {Pick<State, "query">} parts
 * @param {number} distance */
function atDistance({ query }, distance) {
  const at = clamp(query, Math.max(0, distance), Math.min(LAST, LAST + distance));
  return { query: at, key: at - distance };
}

/* ---- the clocks, or ALiBi's heads */

/** Return some clocks of the faster half, large, and the sum of the products of all others.
 * @param {State} state
 * @param {SetState<State>} set */
function clocksPanel(state, set) {
  const clocks = clocksOf(state);
  const shown = faster(clocks.length);
  const others = clocks.filter((_, i) => !shown.includes(i));
  return html`<figure class="qkv-panel qkv-pos-clocks">
    <div class="qkv-pos-dials">${shown.map((clock, i) => dial(clocks[clock], i, i ? added : fixed, dragged(turnHand(state, set, clock))))}${
      others.length
        ? html`<div class="qkv-pos-others"><small>${t`${others.length} slower clocks`}</small><b data-number="others">${added(sumOf(others))}</b></div>`
        : nothing
    }</div>
  </figure>`;
}

/** Return the indices of the clocks that are drawn: all of a few, or some of the faster half, for the hands of the slower
 * half hardly part.
 * @param {number} pairs */
const faster = (pairs) =>
  pairs <= DIALS
    ? range(0, pairs - 1)
    : range(0, DIALS - 1).map((i) => Math.round((i * (pairs / 2 - 1)) / (DIALS - 1)));

/** Return a term of a sum, with its sign: + 0.12 or − 0.01. */
const added = (/** @type {number} */ x) =>
  fixed(x)
    .replace(/^(?=\d)/, "+")
    .replace(/^./, "$& ");

const sumOf = (/** @type {Clock[]} */ clocks) => clocks.reduce((sum, { product }) => sum + product, 0);
const turnOf = (/** @type {Pick<Clock, "tokens">} */ { tokens }) => num(tokens, { digits: 2 });

/** Return the features that the clocks show for a token at a position.
 * @param {State} state
 * @param {Token} name
 * @param {number} place */
function featuresAt(state, name, place) {
  const here = world(state);
  return state.scheme === "sinusoidal" ? sinusoidalEncoding(place, here.frequencies) : here[name](place);
}

/** Return the angle of a hand, clockwise from twelve.
 * @param {State} state
 * @param {Token} name
 * @param {number} place
 * @param {number} clock */
const angleAt = (state, name, place, clock) => {
  const features = featuresAt(state, name, place);
  return Math.atan2(features[2 * clock], features[2 * clock + 1]);
};

/** Return the angle from −π to π with the same direction.
 * @param {number} angle */
const wrapped = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));

/** Return a listener that turns the nearer hand to the pointer, the shorter way round: its token moves to the
 * position at which the hand points there. */
const turnHand =
  (/** @type {State} */ state, /** @type {SetState<State>} */ set, /** @type {number} */ clock) =>
  (/** @type {Grip} */ { x, y, isPress }) => {
    const pointer = Math.atan2(x - 0.5, 0.5 - y);
    const away = (/** @type {Token} */ name) => wrapped(pointer - angleAt(state, name, state[name], clock));
    const held = isPress ? nearer(away) : state.held;
    const aPlace = wrapped(angleAt(state, held, 1, clock) - angleAt(state, held, 0, clock));
    set({ held, ...move(state, held, clamp(Math.round(state[held] + away(held) / aPlace), 0, LAST)) });
  };

/** Return for every clock both hands, their share of the dot product, and the tokens of a full turn.
 * @param {State} state */
function clocksOf(state) {
  const [q, k] = /** @type {Token[]} */ (["query", "key"]).map((name) => featuresAt(state, name, state[name]));
  return world(state).frequencies.map((frequency, i) => {
    const [asking, answering] = [q, k].map((x) => [x[2 * i], x[2 * i + 1]]);
    return { asking, answering, product: dot(asking, answering), tokens: (2 * Math.PI) / frequency };
  });
}

/** Return a clock. Transforms turn the hands without a new layout. The angle between them is shaded: it stays when both
 * tokens move.
 * @param {Clock} clock
 * @param {number} i its place from the left
 * @param {(product: number) => string} written
 * @param {ReturnType<typeof dragged>} turn */
function dial({ asking, answering, product }, i, written, turn) {
  const longest = Math.max(Math.hypot(...asking), Math.hypot(...answering));
  const angleOf = (/** @type {number[]} */ [x, y]) => Math.atan2(x, y);
  const hand = (/** @type {number[]} */ features) =>
    `transform: rotate(${angleOf(features)}rad) scaleY(${Math.hypot(...features) / longest})`;
  const between = wrapped(angleOf(asking) - angleOf(answering));
  const from = angleOf(between > 0 ? answering : asking);
  return html`<div class="qkv-pos-clock">
    <small aria-hidden="true">${i + 1}</small>
    <div class="qkv-pos-dial qkv-drag" aria-hidden="true" style="--from: ${from}rad; --angle: ${Math.abs(between)}rad" @pointerdown=${turn} @pointermove=${turn}>
      <i class="qkv-pos-key" style=${hand(answering)}></i><i class="qkv-pos-query" style=${hand(asking)}></i>
    </div>
    <b>${written(product)}</b>
  </div>`;
}

/** Return ALiBi's heads, each with its factor at this distance. A press chooses the head that the curve shows.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function headsPanel(state, set, id) {
  const distance = state.query - state.key;
  return html`<figure class="qkv-panel qkv-pos-clocks">
    <figcaption><span class="qkv-label">${t`at distance ${Math.abs(distance)}, each head multiplies a weight by`}</span></figcaption>
    <div class="qkv-pos-dials" role="radiogroup" aria-label=${t`head`}>${HEADS.map((head) => {
      const factor = factorOf(head, distance);
      return html`<label class="qkv-pos-head">
        <input class="qkv-over" type="radio" name="${id}-head" .checked=${live(head === state.head)} @change=${() => set({ head })}>
        <span class="qkv-heat" style="--qkv-p: ${factor}">${fixed(factor)}</span>
        <small>${t`head ${head}`}</small>
      </label>`;
    })}</div>
  </figure>`;
}

/* ---- the numbers as tables */

/** @param {State} state */
const numbers = (state) => [
  overDistanceTable(state),
  ...(state.scheme === "alibi" ? [headsTable(state)] : clockTables(state)),
];

/** @param {State} state */
function overDistanceTable(state) {
  const { score } = world(state);
  const rows = [0, 1, 2, 3, 4, 5, 6, 10, 20, 50, 100].map((apart) => [
    apart,
    fixed(score(state.query, state.query - apart)),
    fixed(score(state.query, state.query + apart)),
  ]);
  return {
    caption: t`${nameOfScore(state)}, query at ${state.query}`,
    head: [t`distance`, t`key before`, t`key after`],
    rows,
  };
}

const headsTable = (/** @type {State} */ { query, key }) => ({
  caption: t`ALiBi's heads at distance ${Math.abs(query - key)}`,
  head: [t`head`, t`slope`, t`factor`],
  rows: HEADS.map((head) => [head, `1/${2 ** head}`, fixed(factorOf(head, query - key))]),
});

/** @param {State} state */
function clockTables(state) {
  const clocks = clocksOf(state);
  const rows = clocks.map((clock, i) => [i + 1, turnOf(clock), fixed(clock.product)]);
  const table = { caption: t`all clocks`, head: [t`clock`, t`tokens a turn`, t`product`], rows };
  return state.words && state.scheme === "sinusoidal" ? [table, termsTable(state, sumOf(clocks))] : [table];
}

/** Return the four terms of the score of two words with added codes.
 * @param {State} state
 * @param {number} places */
function termsTable(state, places) {
  const { query, key, score } = world(state);
  const [it, cat] = wordsOf(state.d);
  const content = dot(it, cat);
  const rows = [
    ["it · cat", fixed(content)],
    [t`it · key's code`, fixed(dot(it, key(state.key)) - content)],
    [t`query's code · cat`, fixed(dot(cat, query(state.query)) - content)],
    [t`code · code (clocks)`, fixed(places)],
    [t`together`, fixed(score(state.query, state.key))],
  ];
  return { caption: t`the terms of the dot product`, head: [t`term`, t`product`], rows };
}

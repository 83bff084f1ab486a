/* The drawing of all heads of a model: HeadAtlas and RealModel share it. */

import { live } from "lit-html/directives/live.js";
import { repeat } from "lit-html/directives/repeat.js";
import { choices, dragged, html, nothing, num, partAt, remember, slider, svg, toggle } from "./base.js";
import { heatmap } from "./heatmap.js";

/** @typedef {object} Part the heads of one stack of layers
 * @property {number} layers
 * @property {number} heads
 * @property {string[]} queries the tokens that look
 * @property {string[]} keys the tokens that are looked at
 * @property {Uint16Array} weights (layers, heads, queries, keys), where 65,535 is 1
 * @property {number[][]} scores a list over all heads for each of SCORES, or no lists */
/** @typedef {{ layer: number, head: number, token: number, matrix: boolean, contrast: boolean, order: string,
 *   repainted: number }} Look */
/** @typedef {Part & { layer: number, head: number, token: number, row: number[] }} Seen */
/** @typedef {(changes: Record<string, any>) => void} Set */

export const ONE = 65535; // the whole number that stands for the weight 1
const SMALL = 32; // pixels of a small map, at most
const LABELS = 32; // tokens that a side of a matrix names, at most
const SEEN = 0.005; // a smaller weight is drawn as 0
const NAMED = 3; // tokens that the sentence below the picture names

/** The scores of heads, as src/qkv/looking/scores.py defines them. */
export const SCORES = {
  previous: "mean weight on the token before",
  next: "mean weight on the token after",
  same: "mean weight on the token itself",
  first: "mean weight of the other tokens on the first one",
  separator: "mean weight of the other tokens on all separators together",
  induction: "mean weight on the token that followed the latest earlier occurrence; 0 if nothing repeats",
  uniform: "mean entropy of a row, divided by the largest possible: 1 if all weights are equal",
};

/** Return the part of a widget's state that says what is looked at.
 * @param {Look} state
 * @returns {Look} */
export const lookOf = ({ layer, head, token, matrix, contrast, order, repainted }) => ({
  layer,
  head,
  token,
  matrix,
  contrast,
  order,
  repainted,
});

/** Return what the drawing of a state needs: the chosen head and query, both within the part.
 * @param {Part} part
 * @param {Look} look
 * @returns {Seen} */
export function seenIn(part, look) {
  const last = part.queries.length - 1;
  const layer = Math.min(look.layer, part.layers - 1);
  const head = Math.min(look.head, part.heads - 1);
  const token = look.token < 0 || look.token > last ? last : look.token;
  const row = Array.from(mapOf(part, layer, head)(token), (weight) => weight / ONE);
  return { ...part, layer, head, token, row };
}

/** Return a function of the query that returns its row of weights in a head.
 * @param {Part} part
 * @param {number} layer
 * @param {number} head */
function mapOf({ heads, queries, keys, weights }, layer, head) {
  const start = (layer * heads + head) * queries.length * keys.length;
  return (/** @type {number} */ i) => weights.subarray(start + i * keys.length, start + (i + 1) * keys.length);
}

/** Return a head's name, such as "4.2" for head 2 of layer 4.
 * @param {number} layer
 * @param {number} head */
export const nameOf = (layer, head) => `${layer + 1}.${head + 1}`;
const shown = (/** @type {number} */ weight) => num(weight, { places: 2 });
/** @param {string} token */
export const spaced = (token) => token.replace(/^ /, "␣").replaceAll("\n", "⏎") || "∅";

/** Return for each token whether the text has it more than once.
 * @type {(tokens: string[]) => boolean[]} */
const repeated = remember((tokens) => {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return tokens.map((token) => (counts.get(token) ?? 0) > 1);
}, 4);

/** Return a token for a list of all tokens: with its place before it, if the text has it more than once.
 * @param {string[]} tokens
 * @param {number} i */
const listedToken = (tokens, i) =>
  repeated(tokens)[i] ? html`<small>${i + 1}</small> ${spaced(tokens[i])}` : spaced(tokens[i]);

/* ---- all heads */

/** Return small maps of all heads of a part. They are computed once.
 * @type {(part: Part["weights"], layers: number, heads: number, n: number, nKeys: number) => Uint16Array[]} */
export const smallMaps = remember((weights, layers, heads, n, nKeys) => {
  if (Math.max(n, nKeys) <= SMALL) {
    return Array.from({ length: layers * heads }, (_, i) => weights.subarray(i * n * nKeys, (i + 1) * n * nKeys));
  }
  const [height, width] = [Math.min(n, SMALL), Math.min(nKeys, SMALL)];
  const column = Uint8Array.from({ length: nKeys }, (_, j) => Math.floor((j * width) / nKeys));
  return Array.from({ length: layers * heads }, (_, i) => {
    const small = new Uint16Array(height * width);
    let at = i * n * nKeys;
    for (let row = 0; row < n; row++) {
      const start = Math.floor((row * height) / n) * width;
      // The largest weight of each pixel: a mean would hide a line of large weights.
      for (let j = 0; j < nKeys; j++, at++) {
        const pixel = start + column[j];
        if (weights[at] > small[pixel]) small[pixel] = weights[at];
      }
    }
    return small;
  });
}, 3);

/** Return maps with each row divided by its largest weight.
 * @type {(maps: Uint16Array[], width: number) => Uint16Array[]} */
const inContrast = remember(
  (maps, width) =>
    maps.map((map) => {
      const scaled = new Uint16Array(map.length);
      for (let at = 0; at < map.length; at += width) scaled.set(toMost(map.subarray(at, at + width)), at);
      return scaled;
    }),
  3,
);

/** Return a row of weights divided by its largest, where `ONE` is 1.
 * @param {ArrayLike<number>} row */
function toMost(row) {
  const most = largest(row) || 1;
  return Array.from(row, (weight) => (weight * ONE) / most);
}

/** @param {ArrayLike<number>} row */
const largest = (row) => {
  let most = 0;
  for (let j = 0; j < row.length; j++) if (row[j] > most) most = row[j];
  return most;
};

/** Return the heads' indices in the order of a score, the largest first.
 * @type {(scores: number[][], order: string, total: number) => number[]} */
const ordered = remember((scores, order, total) => {
  const all = Array.from({ length: total }, (_, i) => i);
  const score = scores[Object.keys(SCORES).indexOf(order)];
  return score ? all.sort((a, b) => score[b] - score[a]) : all;
});

/** Return all heads as small maps, a row for each layer, or ordered by a score. A radio button on a map chooses it.
 * @param {Seen} seen
 * @param {Look & { isOff: (layer: number, head: number) => boolean }} look
 * @param {Set} set
 * @param {string} id */
export function allHeads(seen, look, set, id) {
  const { layers, heads, queries, keys, weights, scores } = seen;
  const score = scores[Object.keys(SCORES).indexOf(look.order)];
  const [height, width] = [Math.min(queries.length, SMALL), Math.min(keys.length, SMALL)];
  const maps = smallMaps(weights, layers, heads, queries.length, keys.length);
  const small = look.contrast ? inContrast(maps, width) : maps;
  return html`<fieldset class="qkv-control qkv-atlas-all">
    <legend class="qkv-label">all heads, as layer.head</legend>
    <div class="qkv-atlas-grid" style="--heads: ${heads}">${repeat(
      ordered(scores, look.order, layers * heads),
      (i) => i,
      (i) => {
        const [layer, head] = [Math.floor(i / heads), i % heads];
        const name = nameOf(layer, head);
        return html`<label class=${look.isOff(layer, head) ? "qkv-atlas-one qkv-atlas-off" : "qkv-atlas-one"}>
        <input class="qkv-over" type="radio" name="${id}-head" aria-label=${score ? `head ${name}, ${look.order} ${shown(score[i])}` : `head ${name}`}
          .checked=${live(layer === seen.layer && head === seen.head)} @change=${() => set({ layer, head })}>
        <span class="qkv-atlas-map">${heatmap({
          label: `weights of head ${name}`,
          rows: (row) => small[i].subarray(row * width, (row + 1) * width),
          width,
          height,
          most: ONE,
          key: small[i],
          repainted: look.repainted,
        })}</span>
        <small>${name}</small><i style="--qkv-p: ${score ? Math.round(100 * score[i]) / 100 : 0}"></i>
      </label>`;
      },
    )}</div>
  </fieldset>`;
}

/** Return the switch of the colours, for heads whose weights are all small.
 * @param {Look} look
 * @param {Set} set */
export const contrastOf = ({ contrast }, set) =>
  toggle({
    label: "more contrast: colours show each row divided by its largest weight",
    checked: contrast,
    onChange: (contrast) => set({ contrast }),
  });

/** Return the choice of the order, with the scores of the chosen head, and what they mean.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set
 * @param {string} id */
export const orders = (seen, look, set, id) =>
  seen.scores.length === 0
    ? nothing
    : html`${choices({
        label: `order heads by (the scores are those of head ${nameOf(seen.layer, seen.head)})`,
        name: `${id}-order`,
        value: look.order,
        options: [
          { value: "layer", label: "layer" },
          ...Object.keys(SCORES).map((value, s) => ({
            value,
            label: html`${value} <b class="qkv-atlas-score">${shown(seen.scores[s][seen.layer * seen.heads + seen.head])}</b>`,
          })),
        ],
        onChange: (order) => set({ order }),
      })}
      <details class="qkv-tables"><summary>What the scores mean</summary>
        <dl class="qkv-atlas-means">${Object.entries(SCORES).map(([name, means]) => html`<div><dt>${name}</dt><dd>${means}</dd></div>`)}</dl>
      </details>`;

/* ---- one head */

/** Return the chosen head: arcs from one query to the keys, or all weights.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
export const oneHead = (seen, look, set) => html`<div class="qkv-atlas-large">
  <div class="qkv-atlas-title"><b>layer ${seen.layer + 1}, head ${seen.head + 1}</b>
    ${toggle({ label: "all weights", checked: look.matrix, onChange: (matrix) => set({ matrix }) })}</div>
  <div class="qkv-atlas-box" tabindex="0" role="group" aria-label="weights of the head" style="--n: ${Math.max(seen.queries.length, seen.keys.length)}">
    ${look.matrix ? matrix(seen, look, set) : arcs(seen, look, set)}
  </div>
  ${slider({
    label: "token that looks",
    value: seen.token + 1,
    min: 1,
    max: seen.queries.length,
    text: `${seen.token + 1}: ${spaced(seen.queries[seen.token])}`,
    onInput: (value) => set({ token: value - 1 }),
  })}
  <p class="qkv-atlas-finding">${finding(seen)}</p>
</div>`;

/** @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
function arcs({ queries, keys, row, token }, { contrast }, set) {
  const grab = dragged(({ y }) => set({ token: partAt(y, queries.length) }));
  const most = contrast ? largest(row) || 1 : 1;
  const colour = (/** @type {number} */ j) => Math.round((100 * row[j]) / most) / 100;
  return html`<div class="qkv-atlas-arcs">
    <div class="qkv-atlas-words qkv-drag" @pointerdown=${grab} @pointermove=${grab}>${queries.map(
      (_, i) => html`<span class=${i === token ? "qkv-atlas-asks" : ""}>${listedToken(queries, i)}</span>`,
    )}</div>
    <svg viewBox="0 0 100 ${Math.max(queries.length, keys.length)}" preserveAspectRatio="none" aria-hidden="true">${row.map(
      (_, j) =>
        colour(j) < SEEN
          ? nothing
          : svg`<path d="M0 ${token + 0.5}C50 ${token + 0.5} 50 ${j + 0.5} 100 ${j + 0.5}" stroke-opacity=${colour(j)}></path>`,
    )}</svg>
    <div class="qkv-atlas-words">${keys.map(
      (_, j) =>
        html`<span class="qkv-heat" style="--qkv-p: ${colour(j)}">${listedToken(keys, j)}${row[j] < SEEN ? nothing : html` <b>${shown(row[j])}</b>`}</span>`,
    )}</div>
  </div>`;
}

/** @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
function matrix(seen, look, set) {
  const { queries, keys, layer, head, token, weights } = seen;
  const grab = dragged(({ y }) => set({ token: partAt(y, queries.length) }));
  const rows = mapOf(seen, layer, head);
  return html`<div class="qkv-atlas-matrix" style="--queries: ${queries.length}; --keys: ${keys.length}">
    <div class="qkv-atlas-corner"></div>
    <div class="qkv-atlas-down">${labels(queries)}</div>
    <div class="qkv-atlas-across">${labels(keys)}</div>
    <div class="qkv-atlas-cells" @pointerdown=${grab} @pointermove=${grab}>${heatmap({
      label: `weights of head ${nameOf(layer, head)}, queries down, keys across`,
      rows: look.contrast ? (i) => toMost(rows(i)) : rows,
      width: keys.length,
      height: queries.length,
      most: ONE,
      key: cellsKey(weights, layer, head, look.contrast),
      repainted: look.repainted,
    })}<div class="qkv-looked-at" style="top: ${(100 * token) / queries.length}%; height: ${100 / queries.length}%"></div></div>
  </div>`;
}

/** Return an object that stands for the weights of one head. */
const cellsKey = remember(
  (
    /** @type {Uint16Array} */ _weights,
    /** @type {number} */ _layer,
    /** @type {number} */ _head,
    /** @type {boolean} */ _contrast,
  ) => ({}),
  8,
);

/** Return the labels of a side of a matrix: each token, or in a long text some of them, with their places.
 * @param {string[]} tokens */
function labels(tokens) {
  const every = Math.ceil(tokens.length / LABELS);
  return tokens.flatMap((token, i) => {
    if (i % every) return [];
    const label = every > 1 ? html`<small>${i + 1}</small> ${spaced(token)}` : listedToken(tokens, i);
    return [html`<span style="--at: ${i + 1}; --every: ${every}">${label}</span>`];
  });
}

/** Return a callback for each drawing: it scrolls the picture to the token that looks, when that has changed. A matrix
 * that is opened begins at its first row.
 * @param {HTMLElement} root */
export function scroller(root) {
  let [last, wasMatrix] = [-1, false];
  return () => {
    const now = /** @type {HTMLElement | null} */ (root.querySelector(".qkv-atlas-asks, .qkv-looked-at"));
    const box = root.querySelector(".qkv-atlas-box");
    if (!now || !box) return;
    const isMatrix = now.matches(".qkv-looked-at");
    const isOpened = isMatrix && !wasMatrix;
    const isSame = isMatrix === wasMatrix && now.offsetTop === last;
    [last, wasMatrix] = [now.offsetTop, isMatrix];
    if (isOpened) box.scrollTop = 0;
    if (isOpened || isSame) return;
    const above = /** @type {HTMLElement | null} */ (box.querySelector(".qkv-atlas-corner"))?.offsetHeight ?? 0;
    const top = now.getBoundingClientRect().top - box.getBoundingClientRect().top;
    const isInSight = top >= above && top + now.offsetHeight <= box.clientHeight;
    if (!isInSight) box.scrollTop += top - (box.clientHeight + above - now.offsetHeight) / 2;
  };
}

/** Return what the chosen query looks at, in words.
 * @param {Seen} seen */
export function finding({ layer, head, queries, keys, token, row }) {
  const most = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, NAMED);
  const named = most
    .filter((j) => row[j] >= SEEN)
    .map((j) => `${spaced(keys[j])} (${repeated(keys)[j] ? `token ${j + 1}, ` : ""}${shown(row[j])})`);
  const asks = repeated(queries)[token] ? `${spaced(queries[token])} (token ${token + 1})` : spaced(queries[token]);
  const total = row.reduce((sum, weight) => sum + weight, 0);
  const none = total < SEEN ? "looks at no token" : `gives no token more than ${SEEN}`;
  const looks = named.length ? `looks most at ${named.join(", ")}` : none;
  const rest = total < 0.99 ? ` Its weights sum to ${shown(total)}.` : "";
  return `In head ${nameOf(layer, head)}, ${asks} ${looks}.${rest}`;
}

/* ---- numbers */

/** @param {Seen} seen */
export const weightsTable = ({ layer, head, queries, keys, token, row }) => ({
  caption: `Weights of ${spaced(queries[token])} in head ${nameOf(layer, head)}`,
  head: ["token", "weight"],
  rows: keys.map((word, j) => [`${j + 1}: ${spaced(word)}`, num(row[j], { places: 4 })]),
});

/** @param {Seen} seen */
export const scoresTable = ({ heads, scores }) => ({
  caption: "Scores of all heads",
  head: ["head", ...Object.keys(SCORES)],
  rows: (scores[0] ?? []).map((_, i) => [
    nameOf(Math.floor(i / heads), i % heads),
    ...scores.map((each) => shown(each[i])),
  ]),
});

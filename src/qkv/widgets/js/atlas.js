/* The drawing of all heads of a model: HeadAtlas and RealModel share it. */

import { live } from "lit-html/directives/live.js";
import { repeat } from "lit-html/directives/repeat.js";
import { choices, dragged, html, nothing, num, partAt, remember, svg, t, toggle } from "./base.js";
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
const LABELS = 16; // tokens that a side of a matrix names, at most
const LISTED = 16; // tokens of a text that has a line for each, at most
const MOST = 8; // tokens that the list of a longer text shows: those that are looked at most
const SIDE = 6; // small maps side by side on a phone, at most
const BESIDE = 6; // so many small maps stand in two columns beside the tokens on a phone; more stand in three
const FEW = 12; // so many heads are all shown on a phone; of more, those of one layer
const MANY = [144, 16]; // of more heads, or more in a layer, only one layer is shown on a desk too
const SEEN = 0.005; // a smaller weight is drawn as 0
const NUMBERED = 0.05; // of a smaller weight, the list has no number
const NAMED = 3; // tokens that a screen reader names

/** The scores of heads, as src/qkv/looking/scores.py defines them: their names and meanings.
 * @type {Record<string, () => [string, string]>} */
export const SCORES = {
  previous: () => [t`previous`, t`mean weight on the token before`],
  next: () => [t`next`, t`mean weight on the token after`],
  same: () => [t`same`, t`mean weight on the token itself`],
  first: () => [t`first`, t`mean weight of the other tokens on the first one`],
  separator: () => [t`separator`, t`mean weight of the other tokens on all separators together`],
  induction: () => [
    t`induction`,
    t`mean weight on the token that followed the latest earlier occurrence; 0 if nothing repeats`,
  ],
  uniform: () => [t`uniform`, t`mean entropy of a row, divided by the largest possible: 1 if all weights are equal`],
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

/** Return the heads as small maps: in layers, or ordered by a score. A radio button on a map chooses it.
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
  const one = (/** @type {number} */ i) => {
    const [layer, head] = [Math.floor(i / heads), i % heads];
    const name = nameOf(layer, head);
    const kind = `${layer === seen.layer ? "qkv-atlas-here" : ""} ${look.isOff(layer, head) ? "qkv-atlas-off" : ""}`;
    return html`<label class="qkv-atlas-one ${kind}">
      <input class="qkv-over" type="radio" name="${id}-head" aria-label=${score ? t`head ${name}, ${SCORES[look.order]()[0]} ${shown(score[i])}` : t`head ${name}`}
        .checked=${live(layer === seen.layer && head === seen.head)} @change=${() => set({ layer, head })}>
      <span class="qkv-atlas-map">${heatmap({
        label: t`weights of head ${name}`,
        rows: (row) => small[i].subarray(row * width, (row + 1) * width),
        width,
        height,
        most: ONE,
        key: small[i],
        repainted: look.repainted,
      })}</span>
      <small>${name}</small><i style="--qkv-p: ${score ? Math.round(100 * score[i]) / 100 : 0}"></i>
    </label>`;
  };
  return html`<fieldset class="qkv-control qkv-atlas-all">
    <legend class="qkv-unseen">${t`head`}</legend>
    <div class="qkv-atlas-grid ${score ? "qkv-atlas-ordered" : ""}" style="--heads: ${heads}; --columns: ${columnsOf(layers * heads > SIDE ? heads : layers * heads)}; --beside: ${(layers * heads > FEW ? heads : layers * heads) > BESIDE ? 3 : 2}">${repeat(
      ordered(scores, look.order, layers * heads),
      (i) => i,
      one,
    )}</div>
  </fieldset>`;
}

/** Return in how many columns maps stand on a phone, so that the rows are about equally full.
 * @param {number} count */
const columnsOf = (count) => Math.ceil(count / Math.ceil(count / SIDE));

/** Return how many heads are shown at once, and whether they stand beside the tokens on a phone, as classes for the style.
 * @param {Part} part */
export const sizeOf = (part) => {
  const { layers, heads } = part;
  const count =
    layers * heads <= FEW ? "qkv-atlas-few" : layers * heads > MANY[0] || heads > MANY[1] ? "qkv-atlas-many" : "";
  return isLong(part) ? count : `${count} qkv-atlas-beside`;
};

/** Check whether a text has no room for a line for each of its tokens.
 * @param {Part} part */
const isLong = ({ queries, keys }) => keys.length > LISTED || queries !== keys;

/** Return the choice of a layer, for where not all heads are shown.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set
 * @param {string} id */
export const layerTabs = (
  { layers, layer, scores },
  { order },
  set,
  id,
) => html`<fieldset class="qkv-control qkv-atlas-layers ${order === "layer" || scores.length === 0 ? "" : "qkv-atlas-idle"}" ?hidden=${layers === 1}>
  <legend class="qkv-label">${t`layer`}</legend>
  <div>${Array.from(
    { length: layers },
    (
      _,
      each,
    ) => html`<label class="qkv-pick"><input class="qkv-over" type="radio" name="${id}-layer" aria-label=${t`layer ${each + 1}`}
      .checked=${live(each === layer)} @change=${() => set({ layer: each })}>${each + 1}</label>`,
  )}</div>
</fieldset>`;

/** Return the switch of the colours, for heads whose weights are all small.
 * @param {Look} look
 * @param {Set} set */
export const contrastOf = ({ contrast }, set) =>
  toggle({
    label: t`more contrast: colours show each row divided by its largest weight`,
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
        label: t`order heads by (the scores are those of head ${nameOf(seen.layer, seen.head)})`,
        name: `${id}-order`,
        value: look.order,
        options: [
          { value: "layer", label: t`layer` },
          ...Object.entries(SCORES).map(([value, says], s) => ({
            value,
            label: html`${says()[0]} <b class="qkv-atlas-score">${shown(seen.scores[s][seen.layer * seen.heads + seen.head])}</b>`,
          })),
        ],
        onChange: (order) => set({ order }),
      })}
      <details class="qkv-tables"><summary>${t`What the scores mean`}</summary>
        <dl class="qkv-atlas-means">${Object.values(SCORES).map((says) => html`<div><dt>${says()[0]}</dt><dd>${says()[1]}</dd></div>`)}</dl>
      </details>`;

/* ---- one head */

/** Return the chosen head large: the tokens in lines with arcs from the one that looks, each beside its row of the map.
 * A long text has no room for its lines: there a handle beside the map is dragged along the rows, and a list has the
 * tokens that are looked at most.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
export const oneHead = (seen, look, set) => {
  const kind = look.matrix ? "" : isLong(seen) ? "qkv-atlas-long" : "qkv-atlas-short";
  const n = Math.min(kind === "qkv-atlas-long" ? MOST : LISTED, seen.keys.length);
  return html`<div class="qkv-atlas-box ${kind}" style="--n: ${n}">
    ${look.matrix ? matrix(seen, look, set) : isLong(seen) ? long(seen, look, set) : short(seen, look, set)}
    ${over(seen, set)}
  </div>`;
};

/** Return the slider for the keyboard, over the picture in which a pointer chooses the token that looks.
 * @param {Seen} seen
 * @param {Set} set */
const over = ({ queries, token }, set) =>
  html`<input class="qkv-over" type="range" aria-label=${t`token that looks`} min="1" max=${queries.length} aria-valuetext=${`${token + 1}: ${spaced(queries[token])}`} .value=${live(String(token + 1))}
    @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ token: target.valueAsNumber - 1 })}>`;

/** Return the switch between the list and a large map with names.
 * @param {Look} look
 * @param {Set} set */
export const matrixOf = ({ matrix }, set) =>
  toggle({ label: t`a large map with names on both sides`, checked: matrix, onChange: (matrix) => set({ matrix }) });

/** Return all tokens, a line each, and the map, for which a phone has no room. A press on a line, or a drag along the lines, chooses the token.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
function short(seen, look, set) {
  const { keys, token } = seen;
  const grab = dragged(({ y }) => set({ token: partAt(y, keys.length) }));
  const colour = colourIn(seen, look);
  return html`<svg viewBox="0 0 100 ${keys.length}" preserveAspectRatio="none" aria-hidden="true">${keys.map((_, j) => arc(token, j, colour(j)))}</svg>
    <div class="qkv-atlas-words qkv-atlas-along" @pointerdown=${grab} @pointermove=${grab}>${lines(seen, look, [...keys.keys()])}</div>
    ${cells(seen, look, set)}`;
}

/** Return the handle of the token that looks, the map, and the tokens that it looks at most.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
function long(seen, look, set) {
  const { queries, token } = seen;
  const grab = dragged(({ y }) => set({ token: partAt(y, queries.length) }));
  return html`<div class="qkv-atlas-rail" @pointerdown=${grab} @pointermove=${grab}>
      <span style="top: ${(100 * (token + 0.5)) / queries.length}%"><span><small>${token + 1}</small> ${spaced(queries[token])}</span></span>
    </div>
    ${cells(seen, look, set)}
    <div class="qkv-atlas-words">${lines(seen, look, listed(seen))}</div>`;
}

/** Return the tokens that a list of a long text shows, in their order: those that are looked at most, the nearer first.
 * @param {Seen} seen */
const listed = ({ keys, row, token }) =>
  [...keys.keys()]
    .sort((a, b) => row[b] - row[a] || Math.abs(a - token) - Math.abs(b - token))
    .slice(0, MOST)
    .sort((a, b) => a - b);

/** Return the lines of a list of tokens.
 * @param {Seen} seen
 * @param {Look} look
 * @param {number[]} tokens */
function lines(seen, look, tokens) {
  const { queries, keys, row, token } = seen;
  const numbered = Math.max(SEEN, Math.min(NUMBERED, largest(row)));
  const colour = colourIn(seen, look);
  return tokens.map((j, at) => {
    const kind = `${queries === keys && j === token ? "qkv-atlas-asks" : ""} ${at && j > tokens[at - 1] + 1 ? "qkv-atlas-gap" : ""}`;
    return html`<div class=${kind}><span class="qkv-heat" style="--qkv-p: ${colour(j)}">${keys.length <= LISTED ? listedToken(keys, j) : html`<small>${j + 1}</small> ${spaced(keys[j])}`}</span>${
      row[j] < numbered ? nothing : html` <b>${shown(row[j])}</b>`
    }</div> `;
  });
}

/** Return a function that returns the share of colour of a token.
 * @param {Seen} seen
 * @param {Look} look */
function colourIn({ row }, { contrast }) {
  const most = contrast ? largest(row) || 1 : 1;
  return (/** @type {number} */ j) => Math.round((100 * row[j]) / most) / 100;
}

/** Return the arc from one line of the list to another: as thick as the weight is large, and wider if it is longer.
 * @param {number} from
 * @param {number} to
 * @param {number} weight */
function arc(from, to, weight) {
  const side = Math.max(0, 88 - 14 * Math.abs(from - to));
  const seen = from === to || weight < SEEN ? 0 : weight;
  return svg`<path d="M100 ${from + 0.5}C${side} ${from + 0.5} ${side} ${to + 0.5} 100 ${to + 0.5}" style="--qkv-p: ${seen}"></path>`;
}

/** Return the map with names at both sides.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
const matrix = (seen, look, set) =>
  html`<div class="qkv-atlas-matrix" style="--queries: ${seen.queries.length}; --keys: ${seen.keys.length}">
    <div class="qkv-atlas-down">${labels(seen.queries)}</div>
    <div class="qkv-atlas-across">${labels(seen.keys)}</div>
    ${cells(seen, look, set)}
  </div>`;

/** Return the map of all weights of the chosen head. A drag along its rows chooses the token that looks.
 * @param {Seen} seen
 * @param {Look} look
 * @param {Set} set */
function cells(seen, look, set) {
  const { queries, keys, layer, head, token, weights } = seen;
  const grab = dragged(({ y }) => set({ token: partAt(y, queries.length) }));
  const rows = mapOf(seen, layer, head);
  return html`<div class="qkv-atlas-cells" @pointerdown=${grab} @pointermove=${grab}>${heatmap({
    label: t`weights of head ${nameOf(layer, head)}, queries down, keys across`,
    rows: look.contrast ? (i) => toMost(rows(i)) : rows,
    width: keys.length,
    height: queries.length,
    most: ONE,
    key: cellsKey(weights, layer, head, look.contrast),
    repainted: look.repainted,
  })}<div class="qkv-looked-at" style="top: ${(100 * token) / queries.length}%; height: ${100 / queries.length}%"></div></div>`;
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
    if (i % every || (i && i + every > tokens.length)) return []; // the last ones have no room for a label
    const label = every > 1 ? html`<small>${i + 1}</small> ${spaced(token)}` : listedToken(tokens, i);
    return [html`<span style="--at: ${i + 1}; --every: ${every}">${label}</span> `];
  });
}

/** Return what the chosen query looks at most, in words.
 * @param {Seen} seen
 * @param {number} [count] of tokens that are named
 * @param {(text: string, kind: string) => unknown} [mark] what marks the query and the keys */
export function finding({ layer, head, queries, keys, token, row }, count = NAMED, mark = (text) => text) {
  const name = nameOf(layer, head);
  const most = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, count);
  const named = most
    .filter((j) => row[j] >= SEEN)
    .map((j) => {
      const word = mark(spaced(keys[j]), "key");
      return repeated(keys)[j] ? t`${word} (token ${j + 1}, ${shown(row[j])})` : t`${word} (${shown(row[j])})`;
    });
  const asks = mark(spaced(queries[token]), "query");
  const who = repeated(queries)[token] ? t`${asks} (token ${token + 1})` : asks;
  const total = row.reduce((sum, weight) => sum + weight, 0);
  if (named.length === 0) {
    return total < SEEN
      ? t`In head ${name}, ${who} looks at no token.`
      : t`In head ${name}, ${who} gives no token more than ${SEEN}.`;
  }
  const whom = named.flatMap((each, i) => (i ? [t`, `, each] : [each]));
  const list = whom.every((each) => typeof each === "string") ? whom.join("") : whom;
  return total < 0.99
    ? t`In head ${name}, ${who} looks most at ${list}. Its weights sum to ${shown(total)}.`
    : t`In head ${name}, ${who} looks most at ${list}.`;
}

/** Return the same as one line above the picture, with the largest weight alone.
 * @param {Seen} seen */
export const lead = (seen) =>
  html`<p class="qkv-lead qkv-atlas-finding">${finding(seen, 1, (text, kind) => html`<b class="qkv-atlas-${kind}">${text}</b>`)}</p>`;

/* ---- numbers */

/** @param {Seen} seen */
export const weightsTable = ({ layer, head, queries, keys, token, row }) => ({
  caption: t`Weights of ${spaced(queries[token])} in head ${nameOf(layer, head)}`,
  head: [t`token`, t`weight`],
  rows: keys.map((word, j) => [`${j + 1}: ${spaced(word)}`, num(row[j], { places: 4 })]),
});

/** @param {Seen} seen */
export const scoresTable = ({ heads, scores }) => ({
  caption: t`Scores of all heads`,
  head: [t`head`, ...Object.values(SCORES).map((says) => says()[0])],
  rows: (scores[0] ?? []).map((_, i) => [
    nameOf(Math.floor(i / heads), i % heads),
    ...scores.map((each) => shown(each[i])),
  ]),
});

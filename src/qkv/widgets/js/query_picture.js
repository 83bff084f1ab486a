/* The picture with which QKVStepper opens: the four numbers of a word make its query, which meets each key.
 *
 * A wire leads from a number to each query entry that it is added to, and is as thick as what it adds.
 * A query entry is a width and a key entry a height, so their product is an area. The score is the whole area of a row, and stands
 * after it. */

import { live } from "lit-html/directives/live.js";
import { dragged, html, num, svg, t } from "./base.js";

export const MOST = 2; // the largest number that a handle reaches; 0 is the least
const STEP = 0.25;
const [WIDEST, HIGHEST] = [8, 4.5]; // the sum of the query entries, and the key entry, that fill the picture
const [FULL, APART] = [60, 1.2]; // of the picture's width, in percent: WIDEST, and the space between the query entries
const THICK = 2.5; // pixels of the wire of a number that adds 1

/** @typedef {{ tokens: string[], row: number, numbers: number[], matrix: number[][], query: number[], keys: number[][],
 *   scores: number[], weights: number[] }} Meeting one word's numbers, the matrix and the query that it makes of them, and
 *   the keys of all words */

/** Return the picture. `put` takes a new number of the word that asks, and `ask` another word. `moved` is the number that
 * was moved last. A line marks `turn`, the value of the number `asked` from which another key fits best. Before the first touch
 * (`isFresh`), this number is the one to drag, and there is less to read.
 * @param {Meeting} meeting
 * @param {{ put: (index: number, value: number) => void, ask: (row: number) => void, name: string, moved: number,
 *   asked: number, turn: number | undefined, isFresh: boolean }} parts */
export const queryPicture = (
  meeting,
  { put, ask, name, moved, asked, turn, isFresh },
) => html`<div class="qkv-query-meets ${isFresh ? "qkv-query-fresh" : ""}">
  <p class="qkv-query-sides">${
    isFresh
      ? t`the more grey, the better the key fits`
      : t`width = ${html`<b class="qkv-query-name">${t`query`}</b>`}, height = ${html`<b>${t`key`}</b>`}, grey area = ${t`score`}`
  }</p>
  <div class="qkv-query-of">
    <b class="qkv-query-name" style="--letters: ${meeting.tokens[meeting.row].length}">${meeting.tokens[meeting.row]}</b>
    <div class="qkv-query-faders">${meeting.numbers.map((value, j) =>
      fader({
        token: meeting.tokens[meeting.row],
        j,
        value,
        put,
        turn: j === asked ? turn : undefined,
        isFirst: isFresh && j === asked,
      }),
    )}</div>
  </div>
  ${meetings(meeting, ask, name, moved)}
</div>`;

/** Return one number as an upright track with a knob, and a line where another key begins to fit best.
 * @param {{ token: string, j: number, value: number, put: (index: number, value: number) => void, turn: number | undefined,
 *   isFirst: boolean }} parts */
function fader({ token, j, value, put, turn, isFirst }) {
  const drag = dragged(({ y }) => put(j, Math.round(((1 - y) * MOST) / STEP) * STEP));
  const at = Math.min(1, Math.max(0, value / MOST));
  return html`<div class="qkv-drag" style="--qkv-at: ${at}" @pointerdown=${drag} @pointermove=${drag}>
    <i></i>${turn === undefined ? "" : html`<s style="--qkv-at: ${turn / MOST}"></s>`}<b class=${isFirst ? "qkv-query-first" : ""} aria-hidden="true">${brief(value)}</b><small aria-hidden="true">${j + 1}</small>
    <input class="qkv-over" type="range" aria-label=${t`${token}, number ${j + 1}`} aria-orientation="vertical" min="0" max=${MOST}
      step=${STEP} aria-valuetext=${short(value)} .value=${live(String(value))}
      @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => put(j, target.valueAsNumber)}>
  </div>`;
}

/** Return a number of the word that asks, as text.
 * @param {number} value */
const short = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

/** Return the text of a number where there is little room: .25.
 * @param {number} value */
const brief = (value) => short(value).replace(/^(−?)0(?=\.)/, "$1");

/** Return the wires. Those of the number that was moved are drawn once more, above the others.
 * @param {Meeting} meeting
 * @param {number} widest
 * @param {number} moved */
function wires({ numbers, matrix, query }, widest, moved) {
  const drawn = query.flatMap((entry, f) => {
    const added = numbers.map((value, j) => Math.abs(value * matrix[j][f]));
    const left = (FULL * sum(query.slice(0, f).map(Math.abs))) / widest + APART * f;
    const wide = (FULL * Math.abs(entry)) / widest / (sum(added) || 1);
    return added.map((size, j) => {
      const [from, to] = [(100 * (j + 0.5)) / numbers.length, left + wide * (sum(added.slice(0, j)) + size / 2)];
      return { j, size, d: `M${from} 0C${from} 5 ${to.toFixed(2)} 5 ${to.toFixed(2)} 10` };
    });
  });
  const wire = (/** @type {string} */ kind, /** @type {{ size: number, d: string }} */ { size, d }) =>
    svg`<path class=${kind} d=${d} stroke-width=${Math.min(6, THICK * size)} />`;
  return html`<svg class="qkv-query-wires" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    ${drawn.map((each) => wire("", each))}
    ${drawn.map((each) => wire(each.j === moved ? "qkv-query-lit" : "qkv-query-unlit", each))}
  </svg>`;
}

/** Return a row for each word: its key on the query, the score and the weight.
 * @param {Meeting} meeting
 * @param {(row: number) => void} ask
 * @param {string} name
 * @param {number} moved */
function meetings(meeting, ask, name, moved) {
  const { tokens, row, matrix, query, keys, weights } = meeting;
  const widest = Math.max(WIDEST, sum(query.map(Math.abs)));
  const fed = (/** @type {number} */ f) => (matrix[moved]?.[f] ? "qkv-query-fed" : "");
  const highest = Math.max(HIGHEST, ...keys.flat().map(Math.abs));
  const wide = (/** @type {number} */ entry) => `--qkv-wide: ${round(Math.abs(entry) / widest)}`;
  return html`<div class="qkv-query-keys">
    ${wires(meeting, widest, moved)}
    <b class="qkv-query-name">${t`query`}</b>
    <div class="qkv-query-line qkv-query-name">${query.map((entry, f) => html`<b class=${fed(f)} style=${wide(entry)}><span>${entry ? brief(entry) : ""}</span></b>`)}</div>
    <b class="qkv-weight-name">${t`weight`}</b>
    ${tokens.map(
      (token, i) => html`
      <label class="qkv-pick qkv-query-pick" style="--qkv-p: ${round(weights[i])}"><input class="qkv-over" type="radio" name=${name} .checked=${live(i === row)}
        @change=${() => ask(i)}>${token}</label>
      <div class="qkv-query-areas" aria-hidden="true">${query.map((entry, f) => {
        const key = keys[i][f];
        const high = `--qkv-high: ${round(Math.abs(key) / highest)}`;
        const kind = entry * key < 0 ? "qkv-counts-less" : "";
        return html`<span style="${wide(entry)}; ${high}">${entry ? html`<i class=${kind}></i>` : ""}</span>`;
      })}<b class="qkv-query-score"><small>${t`score`}</small> ${num(sum(query.map((entry, f) => entry * keys[i][f])), { digits: 3 })}</b></div>
      <b class="qkv-query-weight" style="--qkv-p: ${round(weights[i])}"><span>${num(weights[i], { places: 2 })}</span></b>`,
    )}
  </div>`;
}

const sum = (/** @type {number[]} */ entries) => entries.reduce((total, entry) => total + entry, 0);
const round = (/** @type {number} */ share) => Math.round(1e4 * share) / 1e4;

/** Say which words' keys fit best, by their indices: one word, or several whose weights are equal.
 * @param {Meeting} meeting */
export function fitting({ tokens, row, weights }) {
  const most = Math.max(...weights);
  const best = [...tokens.keys()].filter((i) => most - weights[i] < ROUNDING);
  return { asker: tokens[row], best, weight: num(most, { places: 2 }) };
}

const ROUNDING = 1e-9; // weights this near to each other are equal

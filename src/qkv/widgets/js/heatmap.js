/* A matrix as a picture: one pixel an entry, stretched by the style, in the colours that the style gives `.qkv-heatmap`.
 *
 * Hundreds of elements would take longer than a step of a slider may. `--least`, `--none` and `--most` say what −most, 0
 * and +most look like. Nothing can paint a canvas while the site is built, so a still picture stands behind it. */

import { html, noChange } from "lit-html";
import { ref } from "lit-html/directives/ref.js";

/** @typedef {{ rows: (row: number) => ArrayLike<number>, most?: number, key: unknown, repainted: unknown }} Picture */

const SHADES = 100; // on either side of 0

/** A picture of `rows(0)` … `rows(height − 1)`, lists of `width` numbers from −most to most; `key` is the same while they are.
 *
 * It is painted again when `key` changes, or `repainted`, which `whenColoursChange` counts up.
 * @param {Picture & { label: string, width: number, height: number }} picture */
export const heatmap = ({ label, rows, width, height, most = 1, key, repainted }) => html`<div class="qkv-heatmap">
  ${stillOf({ rows, width, height, most })}
  <canvas role="img" aria-label=${label} width=${width} height=${height}
    ${ref(painter({ rows, most, key, repainted }))}></canvas>
</div>`;

/** In a browser the still picture stays as it is, if there is one.
 * @type {(picture: { rows: Picture["rows"], width: number, height: number, most: number }) => unknown} */
let stillOf = () => noChange;

/** The site's build says how still pictures are made.
 * @param {typeof stillOf} make */
export const drawStills = (make) => {
  stillOf = make;
};

/** Calls back when the page turns light or dark; returns what ends that.
 * @param {() => void} callBack */
export function whenColoursChange(callBack) {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(callBack);
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, { attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light"] });
  }
  media.addEventListener("change", callBack);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", callBack);
  };
}

/** @type {WeakMap<HTMLCanvasElement, Picture>} */
const painted = new WeakMap();

/** lit hands the canvas over before it is in the page, so the painting waits a moment. */
const painter = (/** @type {Picture} */ picture) => (/** @type {Element | undefined} */ canvas) => {
  if (!(canvas instanceof HTMLCanvasElement)) return;
  const { key, repainted } = painted.get(canvas) ?? {};
  if (key === picture.key && repainted === picture.repainted) return;
  painted.set(canvas, picture);
  canvas.dataset.painted = "";
  queueMicrotask(() => canvas.isConnected && paint(canvas, picture));
};

/** @param {HTMLCanvasElement} canvas
 * @param {Picture} picture */
function paint(canvas, { rows, most = 1, repainted }) {
  const shades = shadesOf(canvas, repainted);
  const context = canvas.getContext("2d", { willReadFrequently: true }); // kept in memory, where pixels are written fast
  if (!context) return;
  const { width, height } = canvas;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  let pixel = 0;
  for (let row = 0; row < height; row++) {
    const values = rows(row);
    for (let column = 0; column < width; column++) {
      pixels[pixel++] = shades[Math.round(SHADES * (1 + Math.min(1, Math.max(-1, values[column] / most))))];
    }
  }
  context.putImageData(image, 0, 0);
}

/** @type {WeakMap<HTMLCanvasElement, { when: unknown, pixels: Uint32Array }>} */
const knownShades = new WeakMap();

/** The pixels of −1, −0.99, … 1 on this canvas. Asking for its style is slow, so they are kept while nothing repaints.
 * @param {HTMLCanvasElement} canvas
 * @param {unknown} repainted */
function shadesOf(canvas, repainted) {
  const known = knownShades.get(canvas);
  if (known && known.when === repainted) return known.pixels;
  const { outlineColor, backgroundColor, color } = getComputedStyle(canvas);
  const pixels = mixtures([outlineColor, backgroundColor, color]);
  knownShades.set(canvas, { when: repainted, pixels });
  return pixels;
}

/** @param {string[]} colours */
function mixtures(colours) {
  const [minus, paper, plus] = colours.map((colour) => (colour.match(/[\d.]+/g) ?? []).map(Number));
  const bytes = Array.from({ length: 2 * SHADES + 1 }, (_, i) => {
    const share = Math.abs(i - SHADES) / SHADES;
    const full = i < SHADES ? minus : plus;
    return [0, 1, 2].map((c) => paper[c] + share * (full[c] - paper[c])).concat(255);
  });
  return new Uint32Array(Uint8ClampedArray.from(bytes.flat()).buffer);
}

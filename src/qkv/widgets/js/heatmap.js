/* A matrix as a picture: one pixel for each entry, stretched by the style, in the colours of `.qkv-heatmap`.
 *
 * It is a canvas, for hundreds of elements would make sliders slow. `--least`, `--none` and `--most` are the colours of
 * −most, 0 and +most. The site's build cannot paint a canvas, so it puts a still picture behind it. */

import { html, noChange } from "lit-html";
import { ref } from "lit-html/directives/ref.js";

/** @typedef {{ rows: (row: number) => ArrayLike<number>, most?: number, key: unknown, repainted: unknown }} Picture */

const SHADES = 100; // on either side of 0
const DARK = 0.7; // on dark paper, small numbers are drawn as if raised to this power: a faint shade is not seen there

/** Return a picture of `rows(0)` … `rows(height − 1)`, each a list of `width` numbers from −most to most.
 *
 * The picture is painted again when `key` or `repainted` changes: `key` stands for the numbers, `repainted` for the
 * colours (`whenColoursChange`).
 * @param {Picture & { label: string, width: number, height: number }} picture */
export const heatmap = ({ label, rows, width, height, most = 1, key, repainted }) => html`<div class="qkv-heatmap">
  ${stillOf({ rows, width, height, most })}
  <canvas role="img" aria-label=${label} width=${width} height=${height}
    ${ref(painter({ rows, most, key, repainted }))}></canvas>
</div>`;

/** Return the still picture. In a browser, one that the page has stays as it is.
 * @type {(picture: { rows: Picture["rows"], width: number, height: number, most: number }) => unknown} */
let stillOf = () => noChange;

/** Set the function that makes still pictures; the site's build calls this.
 * @param {typeof stillOf} make */
export const drawStills = (make) => {
  stillOf = make;
};

/** Call back whenever the page turns light or dark. Return a function that stops this.
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

/** Return a callback for lit's `ref`. lit calls it before the canvas is in the page, so it paints in a microtask. */
const painter = (/** @type {Picture} */ picture) => (/** @type {Element | undefined} */ canvas) => {
  if (!(canvas instanceof HTMLCanvasElement)) return;
  const { key, repainted } = painted.get(canvas) ?? {};
  if (key === picture.key && repainted === picture.repainted) return;
  painted.set(canvas, picture);
  canvas.dataset.painted = "";
  queueMicrotask(() => paintInPage(canvas, picture));
};

/** Paint a picture, unless another one has taken its place. The colours are those of the page's style, so a canvas that
 * is not in the page yet, as in JupyterLab, is painted as soon as it is: an observer reports when it gets a size.
 * @param {HTMLCanvasElement} canvas
 * @param {Picture} picture */
function paintInPage(canvas, picture) {
  if (canvas.isConnected) {
    paint(canvas, picture);
    return;
  }
  const observer = new ResizeObserver(() => {
    if (!canvas.isConnected) return;
    observer.disconnect();
    if (painted.get(canvas) === picture) paint(canvas, picture);
  });
  observer.observe(canvas);
}

/** @param {HTMLCanvasElement} canvas
 * @param {Picture} picture */
function paint(canvas, { rows, most = 1, repainted }) {
  const shades = shadesOf(canvas, repainted);
  const context = canvas.getContext("2d", { willReadFrequently: true }); // in memory, where writing pixels is fast
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

/** Return the colours of −1, −0.99, … 1 on a canvas, as pixels. They are kept until `repainted` changes, because
 * reading the canvas's style is slow.
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
  const bend = Math.max(...paper) < 128 ? DARK : 1;
  const bytes = Array.from({ length: 2 * SHADES + 1 }, (_, i) => {
    const share = (Math.abs(i - SHADES) / SHADES) ** bend;
    const full = i < SHADES ? minus : plus;
    return [0, 1, 2].map((c) => paper[c] + share * (full[c] - paper[c])).concat(255);
  });
  return new Uint32Array(Uint8ClampedArray.from(bytes.flat()).buffer);
}

/* Plots of any width. Nothing is measured: positions are percentages of the drawing area, and text and strokes keep
 * their size. Scales (scales.js) map to [0, 100], or to [100, 0] for y; `pct` writes their results as percentages. */

import { html, nothing, svg } from "lit-html";
import { guard } from "lit-html/directives/guard.js";

/** @import { Scale } from "./scales.js" */
/** @typedef {[number, number]} Point x and y, as percentages of the drawing area */

/** @param {number} position */
export const pct = (position) => `${Math.round(position * 1000) / 1000}%`;

/** Return a drawing with a caption above it: its title, and the number that it shows.
 * @param {{ title: unknown, reading?: unknown, drawing: unknown, kind?: string }} parts */
export const panel = ({ title, reading = "", drawing, kind = "" }) => html`<figure class="qkv-panel ${kind}">
  <figcaption><span class="qkv-label">${title}</span><span>${reading}</span></figcaption>
  ${drawing}
</figure>`;

/** Return a drawing area, which `qkv-plot` gives room for its axes. `label` describes the plot in words.
 *
 * `onDrag` is a listener made by `dragged` (dragging.js).
 * @param {{ label: string, kind?: string, marks: unknown, onDrag?: (event: any) => void }} parts */
export const plot = ({ label, kind = "", marks, onDrag }) =>
  html`<div class="qkv-plot ${kind}"><svg class=${onDrag ? "qkv-drag" : nothing} role="img" aria-label=${label}
    @pointerdown=${onDrag ?? nothing} @pointermove=${onDrag ?? nothing}>${marks}</svg></div>`;

/** Return a curve through points. It is stretched with the area; with a fill in its style, the area below it is filled.
 * @param {{ points: Point[], kind?: string }} parts */
export const curve = ({ points, kind = "" }) => stretched(`qkv-curve ${kind}`, outlineOf(points));

/** @param {string} kind
 * @param {string} outline */
const stretched = (kind, outline) => svg`<svg viewBox="0 0 100 100" preserveAspectRatio="none">
  <path class=${kind} d=${outline} />
</svg>`;

/** @param {number} position */
const tenth = (position) => Math.round(position * 10) / 10; // to 0.1 percent: long paths take long to draw
/** @param {Point[]} points */
const pathOf = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${tenth(x)},${tenth(y)}`).join("");
/** @type {WeakMap<Point[], string>} */
const outlines = new WeakMap();

/** Return the path through points. The path of a list that a widget keeps is made only once.
 * @param {Point[]} points */
function outlineOf(points) {
  if (!outlines.has(points)) outlines.set(points, pathOf(points));
  return /** @type {string} */ (outlines.get(points));
}

/** Return the point of a curve that the reader can drag: a small dot in a ring that is large enough for a finger.
 * @param {{ x: number, y: number, kind?: string }} parts */
export const gripMark = ({ x, y, kind = "" }) =>
  svg`<circle class="qkv-grip" r="11" cx=${pct(x)} cy=${pct(y)} />${dotMark({ x, y, kind })}`;

/** @param {{ x1?: number, x2?: number, y1?: number, y2?: number, kind: string }} parts */
export const rule = ({ x1 = 0, x2 = 100, y1 = 0, y2 = 100, kind }) =>
  svg`<line class=${kind} x1=${pct(x1)} x2=${pct(x2)} y1=${pct(y1)} y2=${pct(y2)} />`;

/** @param {{ x: number, y: number, kind?: string }} parts */
export const dotMark = ({ x, y, kind = "" }) =>
  svg`<circle class="qkv-dot ${kind}" r="4.5" cx=${pct(x)} cy=${pct(y)} />`;

/** Return bars that stand on the lower edge of the area, as one path: `bars` are the middles of their tops.
 * @param {{ bars: Point[], width: number }} parts */
export const barMarks = ({ bars, width }) =>
  stretched("qkv-bars", bars.map(([x, y]) => `M${x - width / 2} 100V${y}h${width}V100z`).join(""));

/** Return text at a position, shifted by lines (`lines`) or pixels (`dx`); `anchor` is start, middle or end.
 * @param {{ x: number, y: number, dx?: number, lines?: number, anchor?: string, kind?: string, content: unknown }} parts */
export const words = ({ x, y, dx = 0, lines = 0, anchor = "middle", kind = "", content }) =>
  svg`<text class=${kind} x=${pct(x)} y=${pct(y)} dx=${dx} dy="${lines + 0.35}em" text-anchor=${anchor}>${content}</text>`;

/** Return an axis below the drawing area: its ticks, and its title in lower case.
 * @param {{ scale: Scale, ticks: number[], format?: (tick: number) => string, title: unknown }} parts */
export const xAxis = ({ scale, ticks, format = String, title }) =>
  whenMoved(
    scale,
    ticks,
    () => svg`
  ${rule({ y1: 100, kind: "qkv-axis" })}
  ${ticks.map((tick) => words({ x: scale(tick), y: 100, lines: 0.95, content: format(tick) }))}
  ${words({ x: 50, y: 100, lines: 2.15, kind: "qkv-axis-title", content: title })}`,
  );

/** Return an axis left of the drawing area: a grid line for each tick, and numbers for those in `named`.
 * @param {{ scale: Scale, ticks: number[], named?: number[], format?: (tick: number) => string }} parts */
export const yAxis = ({ scale, ticks, named = ticks, format = String }) =>
  whenMoved(
    scale,
    ticks,
    () => svg`
  ${stretched("qkv-grid", ticks.map((tick) => `M0 ${scale(tick)}H100`).join(""))}
  ${named.map((tick) => words({ x: 0, y: scale(tick), dx: -7, anchor: "end", content: format(tick) }))}`,
  );

/** Draw an axis again only when its ticks or their positions have changed.
 * @param {Scale} scale
 * @param {number[]} ticks
 * @param {() => unknown} draw */
const whenMoved = (scale, ticks, draw) => guard([...ticks, ...ticks.map(scale)], draw);

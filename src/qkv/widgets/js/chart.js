/* Plots of any width without measuring: positions are percentages of the drawing area, text and strokes keep their size.
 *
 * Scales (scales.js) lead to [0, 100] (y: [100, 0]); marks take their results through `pct`. */

import { html, nothing, svg } from "lit-html";
import { guard } from "lit-html/directives/guard.js";

/** @import { Scale } from "./scales.js" */
/** @typedef {[number, number]} Point */

/** @param {number} position */
export const pct = (position) => `${Math.round(position * 1000) / 1000}%`;

/** A drawing under its name and the number to be read from it.
 * @param {{ title: unknown, reading?: unknown, drawing: unknown, kind?: string }} parts */
export const panel = ({ title, reading = "", drawing, kind = "" }) => html`<figure class="qkv-panel ${kind}">
  <figcaption><span class="qkv-label">${title}</span><span>${reading}</span></figcaption>
  ${drawing}
</figure>`;

/** A drawing area with room for its axes (`qkv-plot` sets it aside); `label` says in words what is to be seen.
 *
 * What is grabbed in it is told to `onDrag` as `dragged` in dragging.js does.
 * @param {{ label: string, kind?: string, marks: unknown, onDrag?: (event: any) => void }} parts */
export const plot = ({ label, kind = "", marks, onDrag }) =>
  html`<div class="qkv-plot ${kind}"><svg class=${onDrag ? "qkv-drag" : nothing} role="img" aria-label=${label}
    @pointerdown=${onDrag ?? nothing} @pointermove=${onDrag ?? nothing}>${marks}</svg></div>`;

/** A curve through [x, y] points, stretched with the area; filled down to its ends, where its style has a fill.
 * @param {{ points: Point[], kind?: string }} parts */
export const curve = ({ points, kind = "" }) => stretched(`qkv-curve ${kind}`, outlineOf(points));

/** @param {string} kind
 * @param {string} outline */
const stretched = (kind, outline) => svg`<svg viewBox="0 0 100 100" preserveAspectRatio="none">
  <path class=${kind} d=${outline} />
</svg>`;

/** @param {number} position */
const tenth = (position) => Math.round(position * 10) / 10; // of a percent: long paths cost time in every step
/** @param {Point[]} points */
const drawn = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${tenth(x)},${tenth(y)}`).join("");
const outlines = new WeakMap();

/** Points that a widget remembers are made a path once.
 * @param {Point[]} points */
function outlineOf(points) {
  if (!outlines.has(points)) outlines.set(points, drawn(points));
  return outlines.get(points);
}

/** The point of a curve that is grabbed: a ring, as large as a finger finds, around a small dot.
 * @param {{ x: number, y: number, kind?: string }} parts */
export const gripMark = ({ x, y, kind = "" }) =>
  svg`<circle class="qkv-grip" r="11" cx=${pct(x)} cy=${pct(y)} />${dotMark({ x, y, kind })}`;

/** @param {{ x1?: number, x2?: number, y1?: number, y2?: number, kind: string }} parts */
export const rule = ({ x1 = 0, x2 = 100, y1 = 0, y2 = 100, kind }) =>
  svg`<line class=${kind} x1=${pct(x1)} x2=${pct(x2)} y1=${pct(y1)} y2=${pct(y2)} />`;

/** @param {{ x: number, y: number, kind?: string }} parts */
export const dotMark = ({ x, y, kind = "" }) =>
  svg`<circle class="qkv-dot ${kind}" r="4.5" cx=${pct(x)} cy=${pct(y)} />`;

/** Bars that stand on the drawing area's floor: `bars` are [x, y] of the middles of their tops. One path, drawn at once.
 * @param {{ bars: Point[], width: number }} parts */
export const barMarks = ({ bars, width }) =>
  stretched("qkv-bars", bars.map(([x, y]) => `M${x - width / 2} 100V${y}h${width}V100z`).join(""));

/** Text at a place, moved by whole lines (`lines`) or pixels (`dx`); `anchor` is start, middle or end.
 * @param {{ x: number, y: number, dx?: number, lines?: number, anchor?: string, kind?: string, content: unknown }} parts */
export const words = ({ x, y, dx = 0, lines = 0, anchor = "middle", kind = "", content }) =>
  svg`<text class=${kind} x=${pct(x)} y=${pct(y)} dx=${dx} dy="${lines + 0.35}em" text-anchor=${anchor}>${content}</text>`;

/** Ticks, and a name in lower case, below the drawing area.
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

/** Ticks left of the drawing area, all of them `named` or some, with a grid line each.
 * @param {{ scale: Scale, ticks: number[], named?: number[], format?: (tick: number) => string }} parts */
export const yAxis = ({ scale, ticks, named = ticks, format = String }) =>
  whenMoved(
    scale,
    ticks,
    () => svg`
  ${stretched("qkv-grid", ticks.map((tick) => `M0 ${scale(tick)}H100`).join(""))}
  ${named.map((tick) => words({ x: 0, y: scale(tick), dx: -7, anchor: "end", content: format(tick) }))}`,
  );

/** Most steps leave an axis as it is: only its ticks and their places say whether it has to be drawn again.
 * @param {Scale} scale
 * @param {number[]} ticks
 * @param {() => unknown} draw */
const whenMoved = (scale, ticks, draw) => guard([...ticks, ...ticks.map(scale)], draw);

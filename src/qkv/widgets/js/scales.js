/* Scales from values to positions in a drawing, and round numbers for the ticks of its axes. */

/** @typedef {[number, number]} Pair a low and a high end */
/** @typedef {(value: number) => number} Scale */

/** Return a linear scale: equal differences of values are equal distances in the drawing.
 * @param {Pair} from
 * @param {Pair} to
 * @returns {Scale} */
export const linear = ([low, high], [start, end]) => {
  const slope = (end - start) / (high - low);
  return (value) => start + (value - low) * slope;
};

/** Return a logarithmic scale: equal ratios of values are equal distances in the drawing.
 * @param {Pair} from
 * @param {Pair} to
 * @returns {Scale} */
export const logarithmic = ([low, high], to) => {
  const scale = linear([Math.log(low), Math.log(high)], to);
  return (value) => scale(Math.log(value));
};

/** Return 1, 2 or 5 times a power of ten, so that about `count` steps of that size fill the span.
 * @param {Pair} span
 * @param {number} count */
export function roundStep([low, high], count) {
  const wanted = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  // The limits between neighbours are their geometric means: √2, √10 and √50.
  const factor = [10, 5, 2].find((each) => wanted / power >= Math.sqrt({ 10: 50, 5: 10, 2: 2 }[each] ?? 0)) ?? 1;
  return factor * power;
}

const CLOSE = 1e-9; // tolerance for rounding errors: 0.3 / 0.1 is a little less than 3

/** Return about `count` round numbers: the multiples of a round step within the span.
 * @param {Pair} span
 * @param {number} count */
export function roundNumbers(span, count) {
  const step = roundStep(span, count);
  const [first, last] = [Math.ceil(span[0] / step - CLOSE), Math.floor(span[1] / step + CLOSE)];
  return Array.from({ length: last - first + 1 }, (_, i) => multiple(first + i, step));
}

/** Return the span, widened so that both ends are multiples of its round step.
 * @param {Pair} span
 * @param {number} count
 * @returns {Pair} */
export function widened(span, count) {
  const step = roundStep(span, count);
  /** @type {Pair} */
  const wider = [multiple(Math.floor(span[0] / step + CLOSE), step), multiple(Math.ceil(span[1] / step - CLOSE), step)];
  // A wider span can have a larger step.
  return roundStep(wider, count) === step ? wider : widened(wider, count);
}

/** @param {number} times
 * @param {number} step */
const multiple = (times, step) => Number((times * step).toPrecision(12));

/* Numbers as text: every number that a widget shows is formatted here. */

import { t } from "./words.js";

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Return a number as text with `digits` significant digits, or with `places` digits after the point. Digits before the
 * point are never rounded away.
 *
 * num(0.30041) = 0.300, num(-16.06) = −16.1, num(262144) = 262,144, num(2e-7) = 2.00 × 10⁻⁷,
 * num(1, { places: 2 }) = 1.00
 * @param {number} x
 * @param {{ digits?: number, places?: number }} [format] */
export function num(x, { digits = 3, places } = {}) {
  if (Number.isNaN(x)) return t`not a number`;
  const size = Math.abs(x);
  const text = size === Infinity ? "∞" : positive(size, digits, places);
  return x < 0 && /[1-9∞]/.test(text) ? `−${text}` : text;
}

/** @param {number} size
 * @param {number} digits
 * @param {number} [places] */
function positive(size, digits, places) {
  if (places !== undefined && size < 1e14) return withPlaces(size, places);
  const [leading, power] = size.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent > 14 || (exponent < -4 && places === undefined)) return `${leading} × 10${raised(exponent)}`;
  const shown = places ?? (Number.isInteger(size) ? 0 : Math.max(0, digits - 1 - exponent));
  return withPlaces(size, shown);
}

/** @param {number} size
 * @param {number} places */
function withPlaces(size, places) {
  const [whole, rest] = size.toFixed(places).split(".");
  return grouped(whole) + (rest ? `.${rest}` : "");
}

/** Put commas between thousands, as the book does: 1,024.
 * @param {string} whole */
const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",");

/** @param {number} exponent */
const raised = (exponent) =>
  [...String(exponent)].map((digit) => (digit === "-" ? "⁻" : SUPERSCRIPTS[Number(digit)])).join("");

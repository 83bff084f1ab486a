/* How a thing is grabbed: with the mouse, a finger or a pen, in an area that is told where the pointer is.
 *
 * The area has the class `qkv-drag`; sliders beside it, or under it, are the way in for the keyboard. */

/** @typedef {{ x: number, y: number, isPress: boolean, event: PointerEvent & { currentTarget: Element } }} Grip
 * where the pointer is, as shares of the area's width and height, from 0 at its left and at its top to 1 */

/** A listener for `pointerdown` and `pointermove` of an area: a press and each move of a drag call `work`.
 *
 * The area keeps the pointer until it is let go, so a drag may leave it; then the place is the nearest one inside.
 * @param {(grip: Grip) => void} work */
export const dragged = (work) => (/** @type {Grip["event"]} */ event) => {
  if (event.buttons !== 1) return;
  const area = event.currentTarget;
  const isPress = event.type === "pointerdown";
  if (isPress) area.setPointerCapture(event.pointerId);
  const { left, top, width, height } = area.getBoundingClientRect();
  const x = inside((event.clientX - left) / width);
  const y = inside((event.clientY - top) / height);
  work({ x, y, isPress, event });
};

/** @param {number} share */
const inside = (share) => Math.min(1, Math.max(0, share));

/** Which of so many equal parts holds this share.
 * @param {number} share
 * @param {number} count */
export const partAt = (share, count) => Math.min(count - 1, Math.floor(share * count));

/** The entry of a list that is nearest to a value; `far` says how far apart two are.
 * @param {number[]} values
 * @param {number} value
 * @param {(a: number, b: number) => number} [far] */
export const nearestOf = (values, value, far = (a, b) => Math.abs(a - b)) =>
  values.reduce((best, each) => (far(each, value) < far(best, value) ? each : best));

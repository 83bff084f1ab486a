/* How a thing is grabbed: with the mouse, a finger or a pen, in an area that is told where the pointer is.
 *
 * The area has the class `qkv-drag`; sliders beside it, or under it, are the way in for the keyboard. */

/** @typedef {{ x: number, y: number, isPress: boolean, event: PointerEvent & { currentTarget: Element } }} Grip
 * where the pointer is, as shares of the area's width and height, from 0 at its left and at its top to 1 */

/** A listener for `pointerdown` and `pointermove` of an area: a press and each move of a drag call `work`.
 *
 * The area keeps the pointer until it is let go, so a drag may leave it; then the place is the nearest one inside.
 * Where a finger may scroll the page up and down (`touch-action: pan-y`), its press counts once it goes sideways or is
 * lifted: a swipe that scrolls the page changes nothing.
 * @param {(grip: Grip) => void} work */
export const dragged = (work) => (/** @type {Grip["event"]} */ event) => {
  if (event.buttons !== 1) return;
  const area = event.currentTarget;
  const tell = (/** @type {Grip["event"]} */ at, /** @type {boolean} */ isPress) => work(gripIn(area, at, isPress));
  if (event.type === "pointerdown") {
    area.setPointerCapture(event.pointerId);
    pressed.delete(area);
    if (!mayScroll(event)) return tell(event, true);
    pressed.set(area, event);
    area.addEventListener("pointerup", () => pressed.get(area) === event && pressed.delete(area) && tell(event, true), {
      once: true,
    });
    return;
  }
  const start = pressed.get(area);
  if (start) {
    if (Math.abs(event.clientX - start.clientX) <= Math.abs(event.clientY - start.clientY)) return;
    pressed.delete(area);
    tell(start, true);
  }
  tell(event, false);
};

/** Where a finger went down, in each area in which it has neither gone sideways nor been lifted yet.
 * @type {WeakMap<Element, Grip["event"]>} */
const pressed = new WeakMap();

/** @param {Grip["event"]} event */
const mayScroll = ({ pointerType, currentTarget }) =>
  pointerType === "touch" && getComputedStyle(currentTarget).touchAction === "pan-y";

/** @param {Element} area
 * @param {Grip["event"]} event
 * @param {boolean} isPress
 * @returns {Grip} */
function gripIn(area, event, isPress) {
  const { left, top, width, height } = area.getBoundingClientRect();
  const x = inside((event.clientX - left) / width);
  const y = inside((event.clientY - top) / height);
  return { x, y, isPress, event };
}

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

/* Dragging in an area of a widget, with the mouse, a finger or a pen.
 *
 * The area has the class `qkv-drag`. For the keyboard, the widget has sliders beside the area or under it; after a press or a
 * drag, arrow keys go on with the one that is nearest to the pointer. */

/** @typedef {PointerEvent & { currentTarget: Element }} Press */
/** @typedef {{ x: number, y: number, isPress: boolean, area: Element, event: PointerEvent }} Grip
 * the pointer's position as shares of the area's width and height, from 0 at the left and the top to 1; and whether the
 * button or finger has just gone down. A finger's press may be told after its event, which then has no `currentTarget`:
 * take `area` */

/** Return a listener for an area's `pointerdown` and `pointermove`: it calls `work` for a press and each drag move.
 *
 * The area captures the pointer until it is released, so a drag may leave the area; its position is then the nearest
 * one inside. With `touch-action: pan-y` a finger can scroll the page, so its press counts only once the finger moves
 * sideways or is lifted. A swipe that scrolls the page changes nothing. A handle in the area with `touch-action: none` is
 * grabbed at once and can be dragged up and down. A drag that ends in a flick starts no fling, for it would swallow the next
 * tap.
 * @param {(grip: Grip) => void} work */
export const dragged = (work) => (/** @type {Press} */ event) => {
  if (event.buttons !== 1) return;
  const area = event.currentTarget;
  const call = (/** @type {PointerEvent} */ at, /** @type {boolean} */ isPress) => work(gripIn(area, at, isPress));
  if (event.type === "pointerdown") {
    area.setPointerCapture(event.pointerId);
    area.addEventListener("touchmove", withoutFling, { passive: false });
    area.addEventListener("pointerup", (up) => focusNearest(area, /** @type {PointerEvent} */ (up)), { once: true });
    pressed.delete(area);
    if (!mayScroll(event)) return call(event, true);
    pressed.set(area, event);
    area.addEventListener("pointerup", () => pressed.get(area) === event && pressed.delete(area) && call(event, true), {
      once: true,
    });
    return;
  }
  const start = pressed.get(area);
  if (start) {
    if (Math.abs(event.clientX - start.clientX) <= Math.abs(event.clientY - start.clientY)) return;
    pressed.delete(area);
    call(start, true);
  }
  call(event, false);
};

const KEYS = ".qkv-over:is([type='range'], .qkv-keys)"; // the inputs that only keys can reach: they let the pointer through

/** Focus the input for keys that is nearest to the pointer, of those in the area or else of those around it. It is done when
 * the pointer is lifted: a press itself takes the focus away. A ring would be for those who came by keys.
 * @param {Element} area
 * @param {PointerEvent} event */
function focusNearest(area, { clientX, clientY }) {
  let around = area;
  while (!around.querySelector(KEYS)) {
    if (around.matches(".qkv-widget") || !around.parentElement) return;
    around = around.parentElement;
  }
  const inputs = /** @type {HTMLElement[]} */ ([...around.querySelectorAll(KEYS)]);
  const beyond = (/** @type {number} */ at, /** @type {number} */ low, /** @type {number} */ high) =>
    Math.max(low - at, 0, at - high);
  const distances = inputs.map((input) => {
    const { left, right, top, bottom } = input.getBoundingClientRect();
    return Math.hypot(beyond(clientX, left, right), beyond(clientY, top, bottom));
  });
  inputs[distances.indexOf(Math.min(...distances))].focus({ preventScroll: true, focusVisible: false });
}

/** For each area, the press of a finger that has not yet moved sideways or been lifted.
 * @type {WeakMap<Element, PointerEvent>} */
const pressed = new WeakMap();

/** Keep a finger's drag from the browser, unless it may still become a swipe. Where nothing scrolls, a flick starts a fling all
 * the same, and the next tap would only stop it.
 * @param {Event} event */
function withoutFling(event) {
  const { cancelable, currentTarget, touches } = /** @type {TouchEvent} */ (event);
  const isDrag = !pressed.has(/** @type {Element} */ (currentTarget));
  if (cancelable && isDrag && touches.length === 1) event.preventDefault();
}

/** Check whether a press may become a swipe that scrolls the page: it is a finger's, and on no handle or part of one.
 * @param {Press} event */
function mayScroll({ pointerType, currentTarget, target }) {
  if (pointerType !== "touch") return false;
  const actionOf = (/** @type {Element} */ each) => getComputedStyle(each).touchAction;
  let each = /** @type {Element} */ (target);
  while (each !== currentTarget && actionOf(each) !== "none") each = /** @type {Element} */ (each.parentElement);
  return actionOf(each) === "pan-y";
}

/** @param {Element} area
 * @param {PointerEvent} event
 * @param {boolean} isPress
 * @returns {Grip} */
function gripIn(area, event, isPress) {
  const { left, top, width, height } = area.getBoundingClientRect();
  const x = inside((event.clientX - left) / width);
  const y = inside((event.clientY - top) / height);
  return { x, y, isPress, area, event };
}

/** @param {number} share */
const inside = (share) => Math.min(1, Math.max(0, share));

/** Return the index of the part that contains a share of the whole, when that is cut into `count` equal parts.
 * @param {number} share
 * @param {number} count */
export const partAt = (share, count) => Math.min(count - 1, Math.floor(share * count));

/** Return the entry of a list that is nearest to a value, by the function `distance`.
 * @param {number[]} values
 * @param {number} value
 * @param {(a: number, b: number) => number} [distance] */
export const nearestOf = (values, value, distance = (a, b) => Math.abs(a - b)) =>
  values.reduce((best, each) => (distance(each, value) < distance(best, value) ? each : best));

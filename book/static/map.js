// The map of the course: a letter of the formula lights the chapters that are about it, and a chapter lights its letters.

const formula = /** @type {HTMLElement} */ (document.querySelector(".qkv-formula"));
const letters = /** @type {HTMLElement[]} */ ([...formula.querySelectorAll("[data-letter]")]);
const tiles = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-letters]")]);
const all = new Set(letters.map(({ dataset }) => dataset.letter ?? ""));

/** Return the letters that a chapter is about.
 * @param {HTMLElement} tile */
const lettersOf = ({ dataset }) => (dataset.letters ?? "").split(" ");

/** Light the chapters that are about a letter; one that is about the whole formula is about none of its letters.
 * @param {string} letter */
function lightTiles(letter) {
  const isAbout = (/** @type {HTMLElement} */ tile) =>
    lettersOf(tile).includes(letter) && lettersOf(tile).length < all.size;
  light([letter], tiles.filter(isAbout));
}

/** @param {string[]} names
 * @param {HTMLElement[]} chapters */
function light(names, chapters) {
  for (const letter of letters) letter.classList.toggle("qkv-lights-on", names.includes(letter.dataset.letter ?? ""));
  for (const tile of tiles) tile.classList.toggle("qkv-lights-on", chapters.includes(tile));
  formula.parentElement?.classList.toggle("qkv-lights", names.length > 0);
}

/** Return the letter next to a pointer: a finger is wider than a letter.
 * @param {PointerEvent} event */
function nearest({ clientX, clientY }) {
  const away = (/** @type {HTMLElement} */ letter) => {
    const { x, y, width, height } = letter.getBoundingClientRect();
    return Math.hypot(Math.max(x - clientX, 0, clientX - x - width), Math.max(y - clientY, 0, clientY - y - height));
  };
  return letters.reduce((best, letter) => (away(letter) < away(best) ? letter : best)).dataset.letter ?? "";
}

for (const type of /** @type {const} */ (["pointerdown", "pointermove"]))
  formula.addEventListener(type, (event) => lightTiles(nearest(event)));
formula.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && light([], []));
document.addEventListener("pointerdown", ({ target }) => {
  if (!formula.contains(/** @type {Node} */ (target))) light([], []);
});
for (const tile of tiles) {
  for (const type of ["pointerenter", "focusin"]) tile.addEventListener(type, () => light(lettersOf(tile), [tile]));
  for (const type of ["pointerleave", "focusout"]) tile.addEventListener(type, () => light([], []));
}

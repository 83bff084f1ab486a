// The row of keys over a phone's keyboard, which has the signs of code only on its second and third pages. Beside them
// is the button that checks the answer or runs the cell that is being written: its own is behind the keyboard.

import { t } from "../../src/qkv/widgets/js/words.js";

/** Where code is written with a finger, or in a narrow window. page.css has the same condition. */
export const PHONE = "(pointer: coarse), (width < 46em)";

const KEYS = {
  "(": t`opening parenthesis`,
  ")": t`closing parenthesis`,
  "[": t`opening bracket`,
  "]": t`closing bracket`,
  "@": t`at sign`,
  "*": t`asterisk`,
  _: t`underscore`,
  ".": t`full stop`,
  ":": t`colon`,
  "=": t`equals sign`,
  ",": t`comma`,
  "↹": t`indent`,
  "↶": t`undo`,
};

/** Show the row of keys while an editor has the focus. `press` gets the key that was pressed; `button` returns the button
 * of the editor that has the focus; `follow` scrolls to its cursor, which a keyboard that comes up may cover.
 * @param {{ press: (key: string) => void, button: () => HTMLButtonElement, follow: () => void }} actions */
export function showKeys({ press, button, follow }) {
  const row = Object.assign(document.createElement("div"), { className: "qkv-signs", hidden: true });
  row.setAttribute("role", "toolbar");
  row.setAttribute("aria-label", t`Signs of code`);
  const keys = Object.entries(KEYS).map(([key, name]) => keyOf(key, name, () => press(key)));
  const submit = keyOf("", "", () => {
    const own = button();
    /** @type {HTMLElement} */ (document.activeElement)?.blur(); // the keyboard goes, and the verdict has room
    own.scrollIntoView({ block: "center", behavior: "instant" });
    own.click();
  });
  submit.className = "qkv-run";
  row.append(...keys, submit);
  document.querySelector("article")?.append(row); // of the page's main part: it is no part of its own

  const place = () => {
    const { height, offsetTop } = window.visualViewport ?? { height: innerHeight, offsetTop: 0 };
    row.style.bottom = `${Math.max(0, innerHeight - height - offsetTop)}px`;
  };
  const show = () => {
    const writes = Boolean(document.activeElement?.closest(".qkv-live :is(.cm-editor, textarea)"));
    row.hidden = !writes || !matchMedia(PHONE).matches;
    if (row.hidden) return;
    const own = button();
    submit.textContent = own.textContent;
    submit.disabled = own.disabled;
    place();
  };
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", () => setTimeout(show)); // the next element has the focus only afterwards
  window.visualViewport?.addEventListener("scroll", place);
  window.visualViewport?.addEventListener("resize", () => {
    place();
    if (!row.hidden) follow();
  });
}

/** Return a key, which leaves the focus where it is.
 * @param {string} textContent
 * @param {string} name
 * @param {() => void} onPress */
function keyOf(textContent, name, onPress) {
  const key = Object.assign(document.createElement("button"), { type: "button", textContent });
  if (name) key.setAttribute("aria-label", name);
  key.addEventListener("pointerdown", (event) => event.preventDefault());
  key.addEventListener("mousedown", (event) => event.preventDefault());
  key.addEventListener("click", onPress);
  return key;
}

// A link to a term of the glossary says what the term means, at the word: on hover, on focus and at the first tap. The
// terms are in one script of the site (terms.js, written by book/ext/qkv_site/terms.py), which is loaded at the first
// such event. Without scripts, or when it cannot be loaded, the link leads to the glossary as any link does.

import { t } from "../../src/qkv/widgets/js/words.js";

const TERM = "a[href*='glossary.html#']";
const PAUSE = 200; // ms that a mouse rests on a link before its term is shown, and has to reach the note after it left
const GAP = 6; // px between the word and the note

/** @typedef {Record<string, [name: string, sentence: string]>} Terms */

/** @type {Map<string, Promise<Terms>>} */
const loading = new Map();

/** Return the terms of the glossary that a link leads to. After a failure, the next call loads them again.
 * @param {HTMLAnchorElement} link */
function termsFor(link) {
  const address = new URL("../terms.js", link.href).href.split("#")[0];
  const known = loading.get(address);
  if (known) return known;
  /** @type {Promise<Terms>} */
  const loaded = new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => resolve(window.qkvTerms ?? {}));
    script.addEventListener("error", () => {
      loading.delete(address);
      reject(new Error(`${address} could not be loaded`));
    });
    document.head.append(script);
  });
  loading.set(address, loaded);
  return loaded;
}

/** The note that is shown, one for the page. Its text describes the link to screen readers.
 * @type {HTMLElement | undefined} */
let note;
/** @type {HTMLAnchorElement | undefined} */
let shownFor;
let wanted = 0; // the number of the last wish to show or hide: a term that arrives after a later one is not shown
let timer = 0;

function hide() {
  clearTimeout(timer);
  wanted += 1;
  note?.remove();
  shownFor?.removeAttribute("aria-describedby");
  shownFor = undefined;
}

/** Put the note below the word, or above it where there is no room below.
 * @param {HTMLElement} box
 * @param {HTMLAnchorElement} link */
function place(box, link) {
  const lines = link.getClientRects();
  const { left, top, bottom } = lines[lines.length - 1] ?? link.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const above = bottom + GAP + box.offsetHeight > innerHeight && top - GAP > box.offsetHeight;
  box.style.left = `${scrollX + Math.max(8, Math.min(left, width - box.offsetWidth - 8))}px`;
  box.style.top = `${scrollY + (above ? top - GAP - box.offsetHeight : bottom + GAP)}px`;
}

/** Show what a link's term means; return whether the glossary has it.
 * @param {HTMLAnchorElement} link */
async function show(link) {
  if (shownFor === link) return true;
  hide();
  const mine = wanted;
  const term = (await termsFor(link))[decodeURIComponent(link.hash.slice(1))];
  if (!term || mine !== wanted) return Boolean(term);
  note ??= document.createElement("div");
  note.className = "qkv-term";
  const name = document.createElement("b");
  name.textContent = term[0];
  const text = document.createElement("span");
  text.id = "qkv-term-text";
  text.innerHTML = term[1]; // the site's own glossary
  const more = document.createElement("a");
  more.href = link.href;
  more.textContent = t`more`;
  more.tabIndex = -1; // Enter on the word itself follows the same link
  note.replaceChildren(name, " ", text, " ", more);
  document.body.append(note);
  link.setAttribute("aria-describedby", text.id);
  shownFor = link;
  place(note, link);
  return true;
}

/** @param {EventTarget | null} target
 * @returns {HTMLAnchorElement | null} */
const linkAt = (target) => {
  const link = target instanceof Element ? target.closest(TERM) : null;
  return link?.closest(".qkv-term") ? null : /** @type {HTMLAnchorElement | null} */ (link);
};
/** @param {EventTarget | null} target */
const isInside = (target) => target instanceof Node && Boolean(note?.contains(target) || shownFor?.contains(target));

export function showTerms() {
  if (!document.querySelector(TERM)) return;
  let touched = false; // whether the last press was a finger's
  /** @param {() => void} act */
  const soon = (act) => {
    clearTimeout(timer);
    timer = window.setTimeout(act, PAUSE);
  };
  addEventListener("pointerover", ({ pointerType, target }) => {
    if (pointerType === "touch") return;
    const link = linkAt(target);
    if (link && link !== shownFor) soon(() => show(link).catch(hide));
    else if (isInside(target)) clearTimeout(timer);
    else if (shownFor && shownFor !== document.activeElement) soon(hide);
    else clearTimeout(timer);
  });
  addEventListener("focusin", ({ target }) => {
    const link = linkAt(target);
    if (link?.matches(":focus-visible")) show(link).catch(hide);
    else if (!isInside(target)) hide();
  });
  addEventListener("focusout", ({ target }) => target === shownFor && !note?.matches(":hover") && hide());
  addEventListener("pointerdown", ({ pointerType, target }) => {
    touched = pointerType === "touch";
    if (!isInside(target)) hide();
  });
  addEventListener("click", (event) => {
    const link = linkAt(event.target);
    if (!link || !touched || link === shownFor) return;
    event.preventDefault();
    const follow = () => location.assign(link.href);
    show(link).then((isKnown) => isKnown || follow(), follow);
  });
  addEventListener("keydown", ({ key }) => key === "Escape" && hide());
}

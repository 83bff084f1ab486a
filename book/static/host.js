/* Runs the book's widgets on a static page, without a kernel, the network or other scripts.
 *
 * As saved by the notebook, the page has a JSON script with the states of all widgets, and a JSON script at the
 * place of each view. A state names its widget by the trait `_name`. The code of all widgets is bundled with this
 * host. The page already has a drawing of each saved state. A widget takes over its drawing, so that nothing on the
 * page moves. */

import { hydrate } from "@lit-labs/ssr-client";
import { Model, withBuffers } from "../../src/qkv/widgets/js/model.js";
import { t } from "../../src/qkv/widgets/js/words.js";
import { anchored } from "./anchor.js";
import { addressWriter, linkTo, Shared, settingsIn } from "./link.js";

export { Model };

/** @import { State, widget } from "../../src/qkv/widgets/js/base.js" */
/** @typedef {ReturnType<typeof widget>} Widget */
/** @typedef {{ script: Element, el: HTMLElement }} Place */

const MIME = "application/vnd.jupyter.widget-";
const SAID = 3000; // ms for which the message that a link was copied is shown
const NEAR = "600px 0px"; // a widget starts when it is about a screen away from the window

/** Run widgets (made by `widget()` of base.js) at their places on the page.
 * @param {Widget[]} widgets */
export function host(widgets) {
  const start = () => run(new Map(widgets.map((widget) => [widget.name, widget])));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start, { once: true });
  else start();
}

/** @param {Map<string, Widget>} widgets */
function run(widgets) {
  const places = [...document.querySelectorAll(`script[type="${MIME}view+json"]`)].map((script) => ({
    script,
    el: placeOf(script),
  }));
  if (places.length === 0) return;
  const models = new Models(places);
  const follow = addressWriter();
  const open = (/** @type {Place} */ { script, el }) => {
    try {
      const { model, traits, shared, refused } = models.get(JSON.parse(script.textContent ?? "").model_id);
      const widget = widgets.get(model.get("_name"));
      if (!widget) throw new Error(`there is no widget named ${model.get("_name")}`);
      const drawing = el.firstElementChild ? { id: el.closest(".qkv-slot")?.id ?? "", traits, takeOver } : undefined;
      widget.render({ model, el, drawing });
      if (el.dataset.state === "error" && shared.reset()) refused.push(t`The link asks for values that clash.`);
      follow(shared, model);
      offerLink(el, shared, refused);
    } catch (error) {
      fail(el, error);
    }
  };
  const target = location.hash ? anchored() : null;
  whenNear(
    places,
    open,
    (place) => models.isInAddress(place.script) || (target ? target.contains(place.el) : inSight(place.el)),
  );
  reportMissing(models);
  document.documentElement.classList.remove("qkv-asked");
}

/** Hydrate a drawing. lit expects a text node for each text, but a parser makes none for an empty text, so add those.
 * @param {unknown} template
 * @param {HTMLElement} body */
function takeOver(template, body) {
  const comments = document.createTreeWalker(body, NodeFilter.SHOW_COMMENT);
  while (comments.nextNode()) {
    const { data, nextSibling: next } = /** @type {Comment} */ (comments.currentNode);
    if (data === "lit-part" && next instanceof Comment && next.data === "/lit-part") next.before("");
  }
  hydrate(template, body);
}

/** Set up the button that copies a link to a widget in its present state, and show the errors of the page's own link.
 * @param {HTMLElement} el
 * @param {Shared} shared
 * @param {string[]} refused */
function offerLink(el, shared, refused) {
  const slot = el.closest(".qkv-slot");
  const place = slot?.querySelector(".qkv-share [role=status]");
  if (!slot || !place) return;
  if (refused.length) showError(place, t`${refused.join(" ")} The widget shows what it can.`);
  slot.querySelector(".qkv-share button")?.addEventListener("click", async () => {
    const link = linkTo(shared, slot.id);
    place.classList.remove("qkv-refused");
    try {
      await navigator.clipboard.writeText(link);
      place.textContent = t`Link copied`;
      setTimeout(() => place.replaceChildren(), SAID);
    } catch {
      showLink(place, link);
    }
  });
}

/** Show a link in a field, selected, until the reader leaves the field: the browser lets no script copy it.
 * @param {Element} place
 * @param {string} link */
function showLink(place, link) {
  const label = document.createElement("label");
  const field = document.createElement("input");
  field.readOnly = true;
  field.value = link;
  field.addEventListener("blur", () => place.replaceChildren());
  label.append(t`Copy this link:`, field);
  place.replaceChildren(label);
  field.select();
}

/** Show an error in a link, which stays, after those that are there.
 * @param {Element} place
 * @param {string} words */
function showError(place, words) {
  const before = place.classList.contains("qkv-refused") ? `${place.textContent} ` : "";
  place.classList.add("qkv-refused");
  place.textContent = `${before}${words}`;
}

/** Show an error beside the first widget if the address names a widget that the page does not have.
 * @param {Models} models */
function reportMissing(models) {
  const place = document.querySelector(".qkv-share [role=status]");
  const missing = settingsIn(location.search).find(({ key }) => !models.keys().includes(key));
  if (place && missing) showError(place, t`The link asks for ${missing.key}, which is not on this page.`);
}

/** Return the element after a script that has the widget's drawing, or a new element if the page has no drawing.
 * @param {Element} script
 * @returns {HTMLElement} */
function placeOf(script) {
  const drawn = script.nextElementSibling;
  if (drawn instanceof HTMLElement && drawn.matches(".qkv-widget")) return drawn;
  const el = document.createElement("div");
  el.classList.add("qkv-widget");
  el.dataset.state = "waiting";
  script.after(el);
  return el;
}

/** @param {HTMLElement} el
 * @param {unknown} error */
function fail(el, error) {
  console.error(error);
  el.dataset.state = "error";
  const message = document.createElement("p");
  message.className = "qkv-error";
  message.setAttribute("role", "alert");
  message.textContent = t`This widget cannot be shown: ${error instanceof Error ? error.message : error}`;
  el.replaceChildren(message);
}

/** @param {Element} el */
function inSight(el) {
  const { top, bottom } = el.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/** Open each place once: when it comes near the window, or when the page is printed.
 *
 * An observer calls back only some frames later, so the places that `isFirst` selects are opened at once.
 * @param {Place[]} places
 * @param {(place: Place) => void} open
 * @param {(place: Place) => boolean} isFirst */
function whenNear(places, open, isFirst) {
  /** @type {Map<Element, Place>} */
  const waiting = new Map(places.map((place) => [place.el, place]));
  /** @param {Element} el */
  const openOnce = (el) => {
    const place = waiting.get(el);
    waiting.delete(el);
    observer.unobserve(el);
    if (place) open(place);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) openOnce(entry.target);
    },
    { rootMargin: NEAR },
  );
  for (const el of waiting.keys()) observer.observe(el);
  for (const { el } of [...waiting.values()].filter(isFirst)) openOnce(el);
  addEventListener("beforeprint", () => {
    for (const el of [...waiting.keys()]) openOnce(el);
  });
}

/** @param {Element} script */
const idIn = (script) => /"model_id":\s*"(\w+)"/.exec(script.textContent ?? "")?.[1];

/** The models of the page's widgets, read at their first use. All views of a model share it. */
class Models {
  /** @type {ReturnType<typeof saved> | undefined} */
  #saved;
  /** @type {Map<string, { model: Model, traits: State, shared: Shared, refused: string[] }>} */
  #models = new Map();
  /** @type {Map<string | undefined, number>} */
  #numbers = new Map();

  /** @param {Place[]} places */
  constructor(places) {
    for (const { script } of places) {
      const id = idIn(script);
      if (!this.#numbers.has(id)) this.#numbers.set(id, this.#numbers.size + 1);
    }
  }

  /** @param {string} id */
  get(id) {
    const known = this.#models.get(id);
    if (known) return known;
    const { state, limits } = this.#read();
    if (!state[id]) throw new Error("the page holds no state for it");
    const traits = withBuffers(state[id]);
    const model = new Model(traits);
    const shared = new Shared(model, this.#key(id), limits[model.get("_name")]);
    const made = { model, traits, shared, refused: shared.restore(location.search) };
    this.#models.set(id, made);
    return made;
  }

  /** Return the keys of the page's widgets in links. */
  keys() {
    return [...this.#numbers.keys()].map((id) => this.#key(id));
  }

  /** Check whether the address has a setting for the widget of a script.
   * @param {Element} script */
  isInAddress(script) {
    const settings = settingsIn(location.search);
    return settings.length > 0 && settings.some(({ key }) => key === this.#key(idIn(script)));
  }

  /** @param {string | undefined} id */
  #key(id) {
    return `${this.#read().state[id ?? ""]?.state._name}-${this.#numbers.get(id)}`;
  }

  #read() {
    this.#saved ??= saved();
    return this.#saved;
  }
}

/** Return the saved states of all widgets, and the limits of the traits that links can set.
 * @returns {{ state: Record<string, { state: State, buffers?: any[] }>, limits: Record<string, any> }} */
function saved() {
  const scripts = [...document.querySelectorAll(`script[type="${MIME}state+json"]`)];
  const parts = scripts.map((script) => JSON.parse(script.textContent ?? ""));
  return {
    state: Object.assign({}, ...parts.map(({ state }) => state)),
    limits: Object.assign({}, ...parts.map(({ limits }) => limits)),
  };
}

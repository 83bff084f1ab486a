/* Runs the book's widgets on a static page: no kernel, no network, no other script.
 *
 * The page holds, as the notebook saved them, one JSON script with the states of all widgets, and one JSON script where
 * each is to be seen. A state names its widget by the trait `_name`; the code of all widgets is bundled with this host. */

import { asked, followed, linkTo, Shared, same } from "./link.js";

const MIME = "application/vnd.jupyter.widget-";
const NEAR = "600px 0px"; // a widget starts when the reader is about a screen away from it

/** Runs `widgets` (as `widget()` of the widgets' base makes them) wherever the page has a place for one. */
export function host(widgets) {
  const start = () => run(new Map(widgets.map((widget) => [widget.name, widget])));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start, { once: true });
  else start();
}

function run(widgets) {
  const places = [...document.querySelectorAll(`script[type="${MIME}view+json"]`)].map((script) => ({
    script,
    el: placeOf(script),
  }));
  if (places.length === 0) return;
  const models = new Models(places);
  const follow = followed();
  const open = ({ script, el }) => {
    try {
      const { model, shared, refused } = models.get(JSON.parse(script.textContent).model_id);
      const widget = widgets.get(model.get("_name"));
      if (!widget) throw new Error(`there is no widget named ${model.get("_name")}`);
      widget.render({ model, el });
      if (el.dataset.state === "error" && shared.reset()) refused.push("The link asks for values that clash.");
      follow(shared, model);
      offerLink(el, shared, refused);
    } catch (error) {
      fail(el, error);
    }
  };
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  whenNear(places, open, target);
  stayAt(target);
  missLinked(models);
}

/** Widgets above what a link leads to may grow as they start: it stays in sight until the reader moves. */
function stayAt(target) {
  if (!target) return;
  const observer = new ResizeObserver(() => target.scrollIntoView());
  observer.observe(document.body);
  const end = () => observer.disconnect();
  for (const sign of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(sign, end, { once: true });
  setTimeout(end, 5000);
}

/** The button beside a widget that copies a link to it as it is, and the place where is said what a link got wrong. */
function offerLink(el, shared, refused) {
  const slot = el.closest(".qkv-slot");
  const bar = slot?.nextElementSibling;
  if (!bar?.matches(".qkv-share")) return;
  const say = (words) => {
    bar.querySelector("[role=status]").textContent = words;
  };
  if (refused.length) say(`${refused.join(" ")} The widget shows what it can.`);
  bar.querySelector("button").addEventListener("click", async () => {
    const link = linkTo(shared, slot.id);
    try {
      await navigator.clipboard.writeText(link);
      say("Copied. The link opens this page with the widget as it is now.");
    } catch {
      say(link);
    }
  });
}

/** Says beside the first widget that a link asks for one which the page does not have. */
function missLinked(models) {
  const place = document.querySelector(".qkv-share [role=status]");
  const missed = asked(location.search).find(({ key }) => !models.keys().includes(key));
  if (place && missed) place.textContent = `The link asks for ${missed.key}, which is not on this page.`;
}

/** A new element to draw in, after the script. The widgets' style gives it the height that the widget will have. */
function placeOf(script) {
  const el = document.createElement("div");
  el.classList.add("qkv-widget");
  el.dataset.state = "waiting";
  script.after(el);
  el.closest(".qkv-slot")?.classList.add("qkv-begun");
  return el;
}

function fail(el, error) {
  console.error(error);
  el.dataset.state = "error";
  const message = document.createElement("p");
  message.className = "qkv-error";
  message.setAttribute("role", "alert");
  message.textContent = `This widget cannot be shown: ${error.message}`;
  el.replaceChildren(message);
}

function inSight(el) {
  const { top, bottom } = el.getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}

/** Opens each place once: when it comes near the window, and all of them when the page is printed.
 *
 * An observer first answers some frames later, so those that a link leads to, or else those in sight, are opened at once. */
function whenNear(places, open, target) {
  const waiting = new Map(places.map((place) => [place.el, place]));
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
  const first = target ? (el) => target.contains(el) : inSight;
  for (const el of [...waiting.keys()].filter(first)) openOnce(el);
  addEventListener("beforeprint", () => {
    for (const el of [...waiting.keys()]) openOnce(el);
  });
}

/** The page's models, read when the first is asked for; views of one model share it. */
class Models {
  #saved;
  #models = new Map();
  #numbers = new Map();

  constructor(places) {
    for (const { script } of places) {
      const id = /"model_id":\s*"(\w+)"/.exec(script.textContent)?.[1];
      if (!this.#numbers.has(id)) this.#numbers.set(id, this.#numbers.size + 1);
    }
  }

  get(id) {
    if (!this.#models.has(id)) {
      const { state, limits } = this.#read();
      if (!state[id]) throw new Error("the page holds no state for it");
      const model = new Model(state[id].state);
      const shared = new Shared(model, this.#key(id), limits[model.get("_name")]);
      this.#models.set(id, { model, shared, refused: shared.restore(location.search) });
    }
    return this.#models.get(id);
  }

  /** The names by which links call the page's widgets. */
  keys() {
    return [...this.#numbers.keys()].map((id) => this.#key(id));
  }

  #key(id) {
    return `${this.#read().state[id]?.state._name}-${this.#numbers.get(id)}`;
  }

  #read() {
    this.#saved ??= saved();
    return this.#saved;
  }
}

/** The states of all widgets, and the limits of what a link may ask of each kind. */
function saved() {
  const scripts = [...document.querySelectorAll(`script[type="${MIME}state+json"]`)];
  const parts = scripts.map((script) => JSON.parse(script.textContent));
  return {
    state: Object.assign({}, ...parts.map(({ state }) => state)),
    limits: Object.assign({}, ...parts.map(({ limits }) => limits)),
  };
}

/** anywidget's model, with nobody at the other end. */
export class Model {
  #state;
  #listeners = [];

  constructor(state) {
    this.#state = { ...state };
  }

  get(key) {
    return this.#state[key];
  }

  set(key, value) {
    if (same(this.#state[key], value)) return;
    this.#state[key] = value;
    this.#tell(`change:${key}`);
    this.#tell("change");
  }

  on(event, listener) {
    this.#listeners.push({ event, listener });
  }

  off(event, listener) {
    this.#listeners = this.#listeners.filter(
      (entry) => entry.event !== event || (listener && entry.listener !== listener),
    );
  }

  save_changes() {}

  send() {}

  #tell(event) {
    for (const entry of [...this.#listeners]) if (entry.event === event) entry.listener();
  }
}

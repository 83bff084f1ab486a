/* Runs the book's widgets on a static page: no kernel, no network, no other script.
 *
 * The page holds, as the notebook saved them, one JSON script with the states of all widgets, and one JSON script where
 * each is to be seen. A state names its widget by the trait `_name`; the code of all widgets is bundled with this host. */

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
  const models = new Models();
  const open = ({ script, el }) => {
    try {
      const model = models.get(JSON.parse(script.textContent).model_id);
      const widget = widgets.get(model.get("_name"));
      if (!widget) throw new Error(`there is no widget named ${model.get("_name")}`);
      widget.render({ model, el });
    } catch (error) {
      fail(el, error);
    }
  };
  whenNear(places, open);
}

/** A new element to draw in, after the script. The widgets' style gives it the height that the widget will have. */
function placeOf(script) {
  const el = document.createElement("div");
  el.classList.add("qkv-widget");
  el.dataset.state = "waiting";
  script.after(el);
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

/** Opens each place once: when it comes near the window, and all of them when the page is printed. */
function whenNear(places, open) {
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
  addEventListener("beforeprint", () => {
    for (const el of [...waiting.keys()]) openOnce(el);
  });
}

/** The page's models, read when the first is asked for; views of one model share it. */
class Models {
  #states;
  #models = new Map();

  get(id) {
    this.#states ??= savedStates();
    if (!this.#models.has(id)) {
      if (!this.#states[id]) throw new Error("the page holds no state for it");
      this.#models.set(id, new Model(this.#states[id].state));
    }
    return this.#models.get(id);
  }
}

function savedStates() {
  const scripts = [...document.querySelectorAll(`script[type="${MIME}state+json"]`)];
  return Object.assign({}, ...scripts.map((script) => JSON.parse(script.textContent).state));
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

const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/* The base of every widget. A widget is three small files named after it; `npm run build` does the rest.
 *
 *   py    class CoinLab(Widget):                       # coin_lab.py; traits: choice, whole, real, flag, text, listed
 *             heads = whole(3, 0, 10)
 *   js    export default widget("CoinLab", {           // js/coin_lab.js
 *           own: { open: false },                      // state of this view alone, not seen by Python (optional)
 *           says: ({ heads }) => `${heads} heads.`,    // read out once the reader pauses (optional)
 *           view: ({ heads, open }, set) => html`
 *             ${slider({ label: "heads", value: heads, min: 0, max: 10, onInput: (heads) => set({ heads }) })}
 *             <p>share of heads: ${num(heads / 10)}</p>`,
 *         });
 *   css   .qkv-coin { … }                              // coin_lab.css; classes begin with qkv-
 *
 * `view(state, set, id)` is a pure function of the state; it runs again, at most once a frame, when any of it changes.
 * It also runs in node, when the site is built: what it gives there is in the page's HTML, and the script takes over
 * these very elements. So a view asks neither the DOM nor the window, draws the same from the same state, and is valid
 * HTML (a table's rows are in a tbody). What a browser alone knows (colours, sizes, time) belongs into `setup`.
 * `id` is unique to the view: the start of the names that radio buttons need. `remember` keeps results of costly work.
 * `setup({ state, set, root, eachDrawing })` runs once after the first drawing, for timers and observers; it returns its
 * clean-up. What it hands to `eachDrawing` runs after every later drawing: work that a drawing must not wait for.
 * Mathematics belongs in maths.js; controls.js has inputs and tables, dragging.js what is grabbed, chart.js panels and
 * plots, numbers.js `num`. */

import { html, nothing, render, svg } from "lit-html";

export * from "./chart.js";
export * from "./controls.js";
export * from "./dragging.js";
export { num } from "./numbers.js";
export { remember } from "./remember.js";
export { html, nothing, svg };

/** @typedef {Record<string, any>} State what the traits are, and what a view keeps for itself */
/** @template {State} S
 * @typedef {(changes: Partial<S>) => void} SetState */
/** @template {State} S
 * @typedef {object} Setting
 * @property {S} state
 * @property {SetState<S>} set
 * @property {HTMLElement} root
 * @property {(work: () => void) => void} eachDrawing */
/** @template {State} S
 * @typedef {object} Definition
 * @property {Partial<S>} [own]
 * @property {(state: S) => string} [says]
 * @property {(state: S, set: SetState<S>, id: string) => unknown} view
 * @property {(parts: Setting<S>) => (() => void) | undefined} [setup] */
/** @typedef {Definition<State> & { name: string, own: State }} Parts */
/** @typedef {object} Model anywidget's
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {(event: string, listener: () => void) => void} on
 * @property {(event: string, listener?: () => void) => void} off
 * @property {() => void} save_changes */
/** @typedef {{ id: string, traits: State, takeOver: (template: unknown, body: HTMLElement) => void }} Drawing */

/** An anywidget module: its `render` draws the widget into an element and returns what ends it.
 * @template {State} S
 * @param {string} name
 * @param {Definition<S>} definition */
export function widget(name, definition) {
  const parts = /** @type {Parts} */ ({ name, own: {}, ...definition });
  return {
    name,
    /** `drawing` is what a page of the site already shows in `el`; elsewhere there is none.
     * @param {{ model: Model, el: HTMLElement, drawing?: Drawing }} place */
    render({ model, el, drawing }) {
      const view = new View(parts, model, el, drawing);
      view.open();
      return () => view.close();
    },
    /** The template of the first state, which nothing can change yet: the site draws it when it is built.
     * @param {State} traits
     * @param {string} id */
    first: (traits, id) => parts.view({ ...traits, ...parts.own }, () => {}, id),
  };
}

/** JupyterLab takes the arrow keys from whatever has the focus, unless that very element carries this mark.
 * @param {FocusEvent} event */
const keepKeys = ({ target }) => {
  if (target instanceof HTMLElement) target.dataset.lmSuppressShortcuts = "true";
};

/** How many views the page has had: one count for all widgets, each of which brings a copy of this module. */
function nextView() {
  const page = /** @type {{qkvViews?: number}} */ (globalThis);
  page.qkvViews = (page.qkvViews ?? 0) + 1;
  return page.qkvViews;
}

class View {
  #parts;
  #model;
  #root;
  #drawing;
  #own;
  #state;
  #body;
  #speaker = new Speaker();
  #id;
  #frame = 0;
  #sizer = new ResizeObserver(([{ borderBoxSize }]) => this.#keepHeight(borderBoxSize[0].blockSize));
  /** @type {(() => void) | undefined} */
  #tidy;
  #afterwards = () => {};

  /** @param {Parts} parts
   * @param {Model} model
   * @param {HTMLElement} root
   * @param {Drawing} [drawing] */
  constructor(parts, model, root, drawing) {
    this.#parts = parts;
    this.#model = model;
    this.#root = root;
    this.#drawing = drawing;
    this.#id = drawing?.id ?? `qkv-${nextView()}`;
    this.#body =
      /** @type {HTMLElement | null} */ (root.querySelector(":scope > div")) ?? document.createElement("div");
    this.#own = { ...parts.own };
    this.#state = new Proxy(this.#own, { get: (_, key) => this.#read(String(key)) });
  }

  open() {
    this.#root.classList.add("qkv-widget");
    this.#root.dataset.widget = this.#parts.name;
    this.#root.addEventListener("focusin", keepKeys);
    this.#root.append(this.#body, this.#speaker.element);
    this.#sizer.observe(this.#body);
    this.#model.on("change", this.#redraw);
    this.#takeOver();
    this.#draw();
    this.#orFail(() => {
      const eachDrawing = (/** @type {() => void} */ work) => {
        this.#afterwards = work;
      };
      this.#tidy = this.#parts.setup?.({ state: this.#state, set: this.#set, root: this.#root, eachDrawing });
    });
  }

  close() {
    this.#root.removeEventListener("focusin", keepKeys);
    this.#model.off("change", this.#redraw);
    cancelAnimationFrame(this.#frame);
    this.#sizer.disconnect();
    this.#speaker.close();
    this.#tidy?.();
    this.#body.remove();
  }

  /** What the page shows becomes the view's, as it is. A drawing that does not fit is drawn anew. */
  #takeOver() {
    if (!this.#drawing) return;
    try {
      this.#drawing.takeOver(this.#view(), this.#body);
    } catch (error) {
      console.error(`${this.#parts.name} is drawn anew:`, error);
      this.#body.replaceChildren();
    }
    this.#drawing = undefined; // from here on the model says what there is to see
  }

  #view = () => this.#parts.view(this.#state, this.#set, this.#id);

  /** @param {string} key */
  #read(key) {
    if (Object.hasOwn(this.#own, key)) return this.#own[key];
    const value = this.#drawing ? this.#drawing.traits[key] : this.#model.get(key);
    if (value === undefined) throw new Error(`${this.#parts.name} has no ${key}`);
    return value;
  }

  #set = (/** @type {State} */ changes) => {
    for (const [key, value] of Object.entries(changes)) {
      if (Object.hasOwn(this.#own, key)) this.#own[key] = value;
      else this.#model.set(key, value);
    }
    this.#model.save_changes();
    this.#redraw();
  };

  #redraw = () => {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  };

  #draw() {
    this.#frame = 0;
    this.#orFail(() => {
      render(this.#view(), this.#body);
      this.#root.dataset.state = "ready";
      this.#speaker.say(() => this.#parts.says?.(this.#state) ?? "");
      this.#afterwards();
    });
  }

  /** The page learns the height from here, so that a step of a slider lays out the widget and not the page around it.
   * @param {number} height */
  #keepHeight(height) {
    this.#root.classList.add("qkv-sized");
    this.#root.style.containIntrinsicBlockSize = `${height}px`;
  }

  /** An error is shown in place of the widget; the next change of the state tries again.
   * @param {() => void} action */
  #orFail(action) {
    try {
      action();
    } catch (error) {
      console.error(error);
      const fresh = document.createElement("div"); // lit cannot go on in what it has half drawn
      this.#body.replaceWith(fresh);
      this.#body = fresh;
      this.#sizer.observe(fresh);
      this.#root.dataset.state = "error";
      const reason = error instanceof Error ? error.message : error;
      render(html`<p class="qkv-error" role="alert">${this.#parts.name} stopped: ${reason}</p>`, fresh);
    }
  }
}

/** Lets a screen reader hear a sentence once nothing has changed for a while, if it is a new one, and none at the start. */
class Speaker {
  static PAUSE = 700;
  element = Object.assign(document.createElement("p"), { className: "qkv-unseen", role: "status", ariaLive: "polite" });
  /** @type {string | undefined} */
  #last;
  #timer = 0;

  /** The sentence is made when it is said: no step of a slider waits for it.
   * @param {() => string} make */
  say(make) {
    clearTimeout(this.#timer);
    if (this.#last === undefined) this.#last = make();
    else this.#timer = setTimeout(() => this.#speak(make()), Speaker.PAUSE);
  }

  /** @param {string} sentence */
  #speak(sentence) {
    if (sentence !== this.#last) this.element.textContent = sentence;
    this.#last = sentence;
  }

  close() {
    clearTimeout(this.#timer);
    this.element.remove();
  }
}

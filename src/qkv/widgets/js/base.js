/* The base of every widget. A widget is three files with its name. `make build` bundles them.
 *
 *   py    class CoinLab(Widget):                       # coin_lab.py; traits: choice, whole, real, flag, text, listed
 *             heads = whole(3, 0, 10)
 *   js    export default widget("CoinLab", {           // js/coin_lab.js
 *           own: { open: false },                      // state that Python does not see (optional)
 *           says: ({ heads }) => `${heads} heads.`,    // what a screen reader says after a change
 *           view: ({ heads, open }, set) => html`
 *             ${slider({ label: "heads", value: heads, min: 0, max: 10, onInput: (heads) => set({ heads }) })}
 *             <p>share of heads: ${num(heads / 10)}</p>`,
 *         });
 *   css   .qkv-coin { … }                              // coin_lab.css; classes begin with qkv-
 *
 * - `view(state, set, id)` is a pure function of the state. It runs again after a change of the state, at most once a
 *   frame. It also runs in node when the site is built. Its result there is in the page's HTML, and the script takes
 *   over these same elements. So a view does not read the DOM or the window, returns the same template for the same
 *   state, and writes valid HTML (a table has its rows in a tbody). `id` is unique to the view; names of radio buttons
 *   begin with it.
 * - `setup({ state, set, root, hasKernel, eachDrawing })` is for code that needs a browser: timers, observers, colours, sizes. It
 *   runs once after the first drawing, and returns a function that stops what it started. A callback that it passes to
 *   `eachDrawing` runs after every later drawing, for work that must not delay the drawing.
 * - `State`, a typedef in the widget's file, is the type of the state. `says` names it for its parameter.
 * - A text that a reader sees is t`…`, a whole sentence with its values: translations look it up.
 * - `remember` keeps the results of costly functions. Mathematics is in maths.js, inputs and tables are in controls.js,
 *   drags in dragging.js, panels and plots in chart.js, and `num` in numbers.js. */

import { html, nothing, render, svg } from "lit-html";
import { speak, t } from "./words.js";

export * from "./chart.js";
export * from "./controls.js";
export * from "./dragging.js";
export { num } from "./numbers.js";
export { remember } from "./remember.js";
export { t } from "./words.js";
export { html, nothing, svg };

/** Return a word of a sentence for a label: with its place, if the sentence has the word twice.
 * @param {string[]} words
 * @param {number} i */
export const wordAt = (words, i) =>
  words.indexOf(words[i]) === words.lastIndexOf(words[i]) ? words[i] : t`${words[i]} (word ${i + 1})`;

/** @typedef {Record<string, any>} State the values of a widget's traits and of its own state */
/** @template {State} S
 * @typedef {(changes: Partial<S>) => void} SetState */
/** @template {State} S
 * @typedef {object} Setting
 * @property {S} state
 * @property {SetState<S>} set
 * @property {HTMLElement} root
 * @property {boolean} hasKernel false on the site and in a saved page, where no Python answers
 * @property {(work: () => void) => void} eachDrawing */
/** @template {State} S
 * @typedef {object} Definition
 * @property {Partial<S>} [own]
 * @property {(state: S) => string} [says]
 * @property {(state: S, set: SetState<S>, id: string) => unknown} view
 * @property {(parts: Setting<S>) => (() => void) | undefined} [setup] */
/** @typedef {Definition<State> & { name: string, own: State }} Parts */
/** @typedef {object} Model the model that anywidget passes to a view
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {(event: string, listener: () => void) => void} on
 * @property {(event: string, listener?: () => void) => void} off
 * @property {() => void} save_changes
 * @property {boolean} [hasKernel] false without a kernel */
/** @typedef {{ id: string, traits: State, takeOver: (template: unknown, body: HTMLElement) => void }} Drawing */

/** Return an anywidget module. Its `render` draws the widget into an element and returns a function that ends the view.
 * @template {State} S
 * @param {string} name
 * @param {Definition<S>} definition */
export function widget(name, definition) {
  const parts = /** @type {Parts} */ ({ name, own: {}, ...definition });
  return {
    name,
    /** Draw the widget into `el`. On the site, `drawing` describes the drawing that `el` has already.
     * @param {{ model: Model, el: HTMLElement, drawing?: Drawing }} place */
    render({ model, el, drawing }) {
      const view = new View(parts, model, el, drawing);
      view.open();
      return () => view.close();
    },
    /** Return the template of the first state, which the site's build draws into the page.
     * @param {State} traits
     * @param {string} id
     * @param {import("./words.js").Words} words */
    first: (traits, id, words) => {
      speak(words);
      return parts.view({ ...traits, ...parts.own }, () => {}, id);
    },
  };
}

/** Mark the element with the focus, so that JupyterLab leaves the arrow keys to it.
 * @param {FocusEvent} event */
const keepKeys = ({ target }) => {
  if (target instanceof HTMLElement) target.dataset.lmSuppressShortcuts = "true";
};

/** Count the views of the page and return the new number. All widgets share the count, although each has its own
 * copy of this module. */
function nextView() {
  const page = /** @type {{qkvViews?: number}} */ (globalThis);
  page.qkvViews = (page.qkvViews ?? 0) + 1;
  return page.qkvViews;
}

/** A widget's view: it draws the state into the page and draws it again when the state changes. */
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
      const { hasKernel = true } = this.#model;
      this.#tidy = this.#parts.setup?.({
        state: this.#state,
        set: this.#set,
        root: this.#root,
        hasKernel,
        eachDrawing,
      });
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

  /** Take over the drawing that the page has. If its elements do not fit the template, draw it again. */
  #takeOver() {
    if (!this.#drawing) return;
    try {
      this.#drawing.takeOver(this.#view(), this.#body);
    } catch (error) {
      console.error(`${this.#parts.name} is drawn anew:`, error);
      this.#body.replaceChildren();
    }
    this.#drawing = undefined; // from here on the state comes from the model
  }

  #view = () => {
    this.#speak();
    return this.#parts.view(this.#state, this.#set, this.#id);
  };

  /** Speak the language of the notebook, whose texts Python sends with the widget, or else that of the page. */
  #speak = () => speak(this.#model.get("_words"));

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
      this.#speaker.say(() => {
        this.#speak();
        return this.#parts.says?.(this.#state) ?? "";
      });
      this.#afterwards();
    });
  }

  /** Give the page the widget's height, so that a change of the widget does not lay out the whole page.
   * @param {number} height */
  #keepHeight(height) {
    this.#root.classList.add("qkv-sized");
    this.#root.style.containIntrinsicBlockSize = `${height}px`;
  }

  /** Run an action. Show an error in place of the widget; the next change of the state draws the widget again.
   * @param {() => void} action */
  #orFail(action) {
    try {
      action();
    } catch (error) {
      console.error(error);
      const fresh = document.createElement("div"); // lit cannot render again into a drawing that an error cut short
      this.#body.replaceWith(fresh);
      this.#body = fresh;
      this.#sizer.observe(fresh);
      this.#root.dataset.state = "error";
      const reason = error instanceof Error ? error.message : error;
      render(html`<p class="qkv-error" role="alert">${t`${this.#parts.name} stopped: ${reason}`}</p>`, fresh);
    }
  }
}

/** A live region: a screen reader reads out a sentence when nothing has changed for a while and the sentence is new. It
 * reads out nothing at the start. */
class Speaker {
  static PAUSE = 700; // ms
  element = Object.assign(document.createElement("p"), { className: "qkv-unseen", role: "status", ariaLive: "polite" });
  /** @type {string | undefined} */
  #last;
  #timer = 0;

  /** Read out the result of `make` after the pause. `make` runs only then, so that it does not delay a drawing.
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

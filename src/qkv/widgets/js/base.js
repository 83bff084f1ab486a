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
 *   css   .qkv-slot[data-for="CoinLab"] { --qkv-narrow: 240px; --qkv-wide: 180px; }  (its height, held on the site)
 *
 * `view(state, set, id)` is a pure function of the state; it runs again, at most once a frame, when any of it changes.
 * `id` is unique to the view: the start of the names that radio buttons need. `remember` keeps results of costly work.
 * `setup({ state, set, root })` runs once after the first drawing, for timers and observers; it returns its clean-up.
 * Mathematics belongs in maths.js; controls.js has inputs and tables, chart.js panels and plots, numbers.js `num`. */

import { html, nothing, render, svg } from "lit-html";

export * from "./chart.js";
export * from "./controls.js";
export { num } from "./numbers.js";
export { remember } from "./remember.js";
export { html, nothing, svg };

/** An anywidget module: its `render` draws the widget into an element and returns what ends it. */
export function widget(name, parts) {
  return {
    name,
    render({ model, el }) {
      const view = new View({ name, own: {}, ...parts }, model, el);
      view.open();
      return () => view.close();
    },
  };
}

/** JupyterLab takes the arrow keys from whatever has the focus, unless that very element carries this mark. */
const keepKeys = ({ target }) => {
  target.dataset.lmSuppressShortcuts = "true";
};

let views = 0;

class View {
  #parts;
  #model;
  #root;
  #own;
  #state;
  #body = document.createElement("div");
  #speaker = new Speaker();
  #id = `qkv-${++views}`;
  #frame = 0;
  #sizer = new ResizeObserver(([{ borderBoxSize }]) => this.#keepHeight(borderBoxSize[0].blockSize));
  #tidy;

  constructor(parts, model, root) {
    this.#parts = parts;
    this.#model = model;
    this.#root = root;
    this.#own = { ...parts.own };
    this.#state = new Proxy(this.#own, { get: (_, key) => this.#read(key) });
  }

  open() {
    this.#root.classList.add("qkv-widget");
    this.#root.dataset.widget = this.#parts.name;
    this.#root.addEventListener("focusin", keepKeys);
    this.#root.append(this.#body, this.#speaker.element);
    this.#sizer.observe(this.#body);
    this.#model.on("change", this.#redraw);
    this.#draw();
    this.#orFail(() => {
      this.#tidy = this.#parts.setup?.({ state: this.#state, set: this.#set, root: this.#root });
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

  #read(key) {
    const value = Object.hasOwn(this.#own, key) ? this.#own[key] : this.#model.get(key);
    if (value === undefined) throw new Error(`${this.#parts.name} has no ${String(key)}`);
    return value;
  }

  #set = (changes) => {
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
      render(this.#parts.view(this.#state, this.#set, this.#id), this.#body);
      this.#root.dataset.state = "ready";
      this.#speaker.say(() => this.#parts.says?.(this.#state) ?? "");
    });
  }

  /** The page learns the height from here, so that a step of a slider lays out the widget and not the page around it. */
  #keepHeight(height) {
    this.#root.classList.add("qkv-sized");
    this.#root.style.containIntrinsicBlockSize = `${height}px`;
  }

  /** An error is shown in place of the widget; the next change of the state tries again. */
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
      render(html`<p class="qkv-error" role="alert">${this.#parts.name} stopped: ${error.message}</p>`, fresh);
    }
  }
}

/** Lets a screen reader hear a sentence once nothing has changed for a while, if it is a new one, and none at the start. */
class Speaker {
  static PAUSE = 700;
  element = Object.assign(document.createElement("p"), { className: "qkv-unseen", role: "status", ariaLive: "polite" });
  #last;
  #timer = 0;

  /** The sentence is made when it is said: no step of a slider waits for it. */
  say(make) {
    clearTimeout(this.#timer);
    if (this.#last === undefined) this.#last = make();
    else this.#timer = setTimeout(() => this.#speak(make()), Speaker.PAUSE);
  }

  #speak(sentence) {
    if (sentence !== this.#last) this.element.textContent = sentence;
    this.#last = sentence;
  }

  close() {
    clearTimeout(this.#timer);
    this.element.remove();
  }
}

/* Links to what a reader made of a page's widgets: `?ScalingLab-1.d_k=64` is a widget, its number on the page, one of its
 * traits and a value. The address follows what the reader does, so that a reload and a bookmark keep it. A link is a
 * stranger's: only values within the trait's limits are taken, and what was not taken is said. */

/** @import { Model } from "../../src/qkv/widgets/js/base.js" */
/** @typedef {[number | null, number | null]} Ends */
/** @typedef {{ one?: unknown[], whole?: Ends, real?: Ends, text?: boolean, each?: Limits, lengths?: number[] }} Limits of a trait */

const NAME = /^(\w+)-(\d+)\.(\w+)$/;
const PAUSE = 300; // ms without a change after which the address follows
const MOST = 200; // entries of a list

/** @param {string} text */
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** @param {unknown} a
 * @param {unknown} b */
export const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);
/** @param {number} value
 * @param {Ends} ends */
const within = (value, [low, high]) => value >= (low ?? -Infinity) && value <= (high ?? Infinity);

/** Whether a value is one that the trait takes; `limits` are as qkv.widgets.base writes them.
 * @param {any} value
 * @param {Limits | undefined} limits
 * @returns {boolean} */
function fits(value, limits) {
  if (!limits) return false;
  if (limits.one) return limits.one.some((known) => known === value);
  if (limits.whole) return Number.isInteger(value) && within(value, limits.whole);
  if (limits.real) return Number.isFinite(value) && within(value, limits.real);
  if (limits.text) return typeof value === "string";
  const { each, lengths = [] } = limits;
  if (!Array.isArray(value) || value.length > MOST) return false;
  return (lengths.length === 0 || lengths.includes(value.length)) && value.every((entry) => fits(entry, each));
}

/** A trait's value as a link gives it, or undefined where the trait does not take it.
 * @param {string} text
 * @param {Limits | undefined} limits */
export const read = (text, limits) => [parsed(text), text].find((value) => fits(value, limits));

/** A value as a link gives it.
 * @param {unknown} value */
export const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** What an address says of widgets: a list of { key, trait, text }, in which the key is a name and a number.
 * @param {string} search */
export const asked = (search) =>
  [...new URLSearchParams(search)].flatMap(([name, text]) => {
    const match = NAME.exec(name);
    return match ? [{ key: `${match[1]}-${match[2]}`, trait: match[3], text }] : [];
  });

/** One model and its part of the address. */
export class Shared {
  #model;
  #key;
  #limits;
  /** @type {Record<string, unknown>} */
  #saved = {};

  /** @param {Model} model
   * @param {string} key */
  constructor(model, key, limits = /** @type {Record<string, Limits>} */ ({})) {
    this.#model = model;
    this.#key = key;
    this.#limits = limits;
    for (const trait of Object.keys(limits)) this.#saved[trait] = model.get(trait);
  }

  /** Set what the address asks for, and give a sentence for each thing that could not be.
   * @param {string} search */
  restore(search) {
    /** @type {string[]} */
    const refused = [];
    for (const { key, trait, text } of asked(search)) {
      if (key !== this.#key) continue;
      const value = read(text, this.#limits[trait]);
      if (value === undefined) refused.push(`The link asks for ${trait} = ${text.slice(0, 40)}, which it cannot have.`);
      else this.#model.set(trait, value);
    }
    return refused;
  }

  /** Go back to how the page was saved; whether that was somewhere else. */
  reset() {
    const changed = Object.entries(this.#saved).filter(([trait, value]) => !same(this.#model.get(trait), value));
    for (const [trait, value] of changed) this.#model.set(trait, value);
    return changed.length > 0;
  }

  /** Write what differs from the saved page into search parameters, in place of what they said of this widget.
   * @param {URLSearchParams} parameters */
  write(parameters) {
    for (const name of [...parameters.keys()]) if (name.startsWith(`${this.#key}.`)) parameters.delete(name);
    for (const [trait, value] of Object.entries(this.#saved)) {
      const now = this.#model.get(trait);
      if (!same(now, value)) parameters.set(`${this.#key}.${trait}`, written(now));
    }
  }
}

/** Lets the address follow a page's widgets. */
export function followed() {
  /** @type {Set<Shared>} */
  const all = new Set();
  let timer = 0;
  const write = () => {
    const url = new URL(location.href);
    for (const shared of all) shared.write(url.searchParams);
    try {
      if (url.href !== location.href) history.replaceState(history.state, "", url);
    } catch {
      // A page from a disk may not change its address in every browser; the button still copies the link.
    }
  };
  return (/** @type {Shared} */ shared, /** @type {Model} */ model) => {
    all.add(shared);
    model.on("change", () => {
      clearTimeout(timer);
      timer = setTimeout(write, PAUSE);
    });
  };
}

/** The link to one widget as it is now.
 * @param {Shared} shared
 * @param {string} id */
export function linkTo(shared, id) {
  const url = new URL(location.href);
  for (const { key, trait } of asked(url.search)) url.searchParams.delete(`${key}.${trait}`);
  shared.write(url.searchParams);
  url.hash = id;
  return url.href;
}

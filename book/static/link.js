/* Links to the state of a page's widgets: `?ScalingLab-1.d_k=64` names a widget, its number on the page, one of its
 * traits and a value. The address follows the widgets, so that a reload and a bookmark keep their states. Links are
 * not trusted: only values within the trait's limits are accepted, and the reader is told about all others. */

import { areEqual } from "../../src/qkv/widgets/js/model.js";
import { t } from "../../src/qkv/widgets/js/words.js";

/** @import { Model } from "../../src/qkv/widgets/js/base.js" */
/** @typedef {[number | null, number | null]} Ends the least and the largest value, or null */
/** @typedef {{ one?: unknown[], whole?: Ends, real?: Ends, text?: boolean, each?: Limits, lengths?: number[] }} Limits of a trait */

const NAME = /^(\w+)-(\d+)\.(\w+)$/;
const PAUSE = 300; // ms without a change, after which the address is updated
const MOST = 200; // entries of a list, at most
const LONGEST = 300; // characters of a text, at most: widgets compute with it

/** @param {string} text */
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** @param {number} value
 * @param {Ends} ends */
const within = (value, [low, high]) => value >= (low ?? -Infinity) && value <= (high ?? Infinity);

/** Check whether a value is within a trait's limits, as qkv.widgets.base writes them.
 * @param {any} value
 * @param {Limits | undefined} limits
 * @returns {boolean} */
function fits(value, limits) {
  if (!limits) return false;
  if (limits.one) return limits.one.some((known) => known === value);
  if (limits.whole) return Number.isInteger(value) && within(value, limits.whole);
  if (limits.real) return Number.isFinite(value) && within(value, limits.real);
  if (limits.text) return typeof value === "string" && value.length <= LONGEST;
  const { each, lengths = [] } = limits;
  if (!Array.isArray(value) || value.length > MOST) return false;
  return (lengths.length === 0 || lengths.includes(value.length)) && value.every((entry) => fits(entry, each));
}

/** Return the value of a trait that a text in a link means, or undefined if it is not within the limits.
 * @param {string} text
 * @param {Limits | undefined} limits */
export const read = (text, limits) => [parsed(text), text].find((value) => fits(value, limits));

/** Return a value as text for a link.
 * @param {unknown} value */
export const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Return the settings of widgets in an address: a list of { key, trait, text }. A key is a widget's name and number.
 * @param {string} search */
export const settingsIn = (search) =>
  [...new URLSearchParams(search)].flatMap(([name, text]) => {
    const match = NAME.exec(name);
    return match ? [{ key: `${match[1]}-${match[2]}`, trait: match[3], text }] : [];
  });

/** A widget's model with its settings in the address. */
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

  /** Set the traits that the address sets, and return a sentence for each value that is not accepted.
   * @param {string} search */
  restore(search) {
    /** @type {string[]} */
    const refused = [];
    for (const { key, trait, text } of settingsIn(search)) {
      if (key !== this.#key) continue;
      const value = Object.hasOwn(this.#limits, trait) ? read(text, this.#limits[trait]) : undefined;
      if (value === undefined)
        refused.push(t`The link asks for ${trait} = ${text.slice(0, 40)}, which it cannot have.`);
      else this.#model.set(trait, value);
    }
    return refused;
  }

  /** Reset the model to the state that the page was saved with, and return whether that changes anything. */
  reset() {
    const changed = Object.entries(this.#saved).filter(([trait, value]) => !areEqual(this.#model.get(trait), value));
    for (const [trait, value] of changed) this.#model.set(trait, value);
    return changed.length > 0;
  }

  /** Replace this widget's settings in search parameters by the traits that differ from the saved page.
   * @param {URLSearchParams} parameters */
  write(parameters) {
    for (const name of [...parameters.keys()]) if (name.startsWith(`${this.#key}.`)) parameters.delete(name);
    for (const [trait, value] of Object.entries(this.#saved)) {
      const now = this.#model.get(trait);
      if (!areEqual(now, value)) parameters.set(`${this.#key}.${trait}`, written(now));
    }
  }
}

/** Return a function that makes the page's address follow a widget. */
export function addressWriter() {
  /** @type {Set<Shared>} */
  const all = new Set();
  let timer = 0;
  const write = () => {
    const url = new URL(location.href);
    for (const shared of all) shared.write(url.searchParams);
    try {
      if (url.href !== location.href) history.replaceState(history.state, "", url);
    } catch {
      // Some browsers let no page from a disk change its address; the button still copies the link.
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

/** Return the link to one widget in its present state.
 * @param {Shared} shared
 * @param {string} id */
export function linkTo(shared, id) {
  const url = new URL(location.href);
  for (const { key, trait } of settingsIn(url.search)) url.searchParams.delete(`${key}.${trait}`);
  shared.write(url.searchParams);
  url.hash = id;
  return url.href;
}

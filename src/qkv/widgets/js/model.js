/* A model with the interface of anywidget's, without a kernel: for the site and for a saved page. */

/** @import { State } from "./base.js" */

/** @typedef {{ path: string[], data: string }} Buffer a binary trait, as a notebook saves it: in base64 */

/** @param {unknown} a
 * @param {unknown} b */
export const areEqual = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Return the traits of a saved widget, with its binary traits as a kernel would send them.
 * @param {{ state: State, buffers?: Buffer[] }} saved
 * @returns {State} */
export const withBuffers = ({ state, buffers = [] }) => ({
  ...state,
  ...Object.fromEntries(buffers.map(({ path: [name], data }) => [name, new DataView(bytesOf(data).buffer)])),
});

/** @param {string} base64 */
export const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

export class Model {
  hasKernel = false;
  #state;
  /** @type {{ event: string, listener: () => void }[]} */
  #listeners = [];

  /** @param {State} state */
  constructor(state) {
    this.#state = { ...state };
  }

  /** @param {string} key */
  get(key) {
    return this.#state[key];
  }

  /** @param {string} key
   * @param {unknown} value */
  set(key, value) {
    if (areEqual(this.#state[key], value)) return;
    this.#state[key] = value;
    this.#notify(`change:${key}`);
    this.#notify("change");
  }

  /** @param {string} event
   * @param {() => void} listener */
  on(event, listener) {
    this.#listeners.push({ event, listener });
  }

  /** @param {string} event
   * @param {() => void} [listener] */
  off(event, listener) {
    this.#listeners = this.#listeners.filter(
      (entry) => entry.event !== event || (listener && entry.listener !== listener),
    );
  }

  save_changes() {}

  send() {}

  /** @param {string} event */
  #notify(event) {
    for (const entry of [...this.#listeners]) if (entry.event === event) entry.listener();
  }
}

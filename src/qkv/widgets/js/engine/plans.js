/* What a reader can choose before a training, and the settings with which both models learn in a few seconds.
 *
 * The names of the choices are those of TrainLab's traits. */

/** @import { Shape } from "./model.js" */
/** @import { Schedule, Switches } from "./training.js" */
/** @typedef {object} Choices
 * @property {"tagger" | "repeater" | "labeller"} task
 * @property {boolean} scaled
 * @property {boolean} positions
 * @property {boolean} residual
 * @property {boolean} norm
 * @property {boolean} feed_forward
 * @property {boolean} mask_forgotten
 * @property {boolean} warm_up
 * @property {number} layers
 * @property {number} heads
 * @property {number} rate a factor
 * @property {"english" | "chinese"} language
 * @property {number} sentences
 * @property {readonly string[]} rule
 * @property {import("./labeller.js").Sees} sees of the labeller
 * @property {number} seed */

/** The choices that the reader finds.
 * @type {Omit<Choices, "task" | "feed_forward">} */
export const USUAL = {
  scaled: true,
  positions: true,
  residual: true,
  norm: true,
  mask_forgotten: false,
  warm_up: true,
  layers: 2,
  heads: 2,
  rate: 1,
  language: "english",
  sentences: 20000,
  rule: [],
  sees: "attention, positions",
  seed: 0,
};

const PLANS = {
  tagger: { steps: 500, batch: 64, rate: 7e-3, beta2: 0.99 },
  repeater: { steps: 500, batch: 32, rate: 2e-2, beta2: 0.99 },
  labeller: { steps: 500, batch: 64, rate: 1e-2, beta2: 0.999 },
};
export const STEPS = 500;
const HIDDEN = 64;
const WARM_UP = 0.3; // of the steps

/** The network that each model has unless the reader chooses otherwise. */
export const HAS_FEED_FORWARD = { tagger: true, repeater: false, labeller: false };

/** Return all choices, with the usual ones for those that are not given.
 * @param {Partial<Choices> & { task: Choices["task"] }} given
 * @returns {Choices} */
export const choicesWith = (given) => ({ ...USUAL, feed_forward: HAS_FEED_FORWARD[given.task], ...given });

/** @typedef {object} Plan what a Training needs
 * @property {Choices["task"]} task
 * @property {Partial<Shape> & Partial<Pick<Choices, "language" | "rule" | "seed" | "sees">> & { pool?: number }} sizes of the task
 * @property {Schedule} settings
 * @property {Switches} switches
 * @property {Switches} measured other switches while it is measured */

/** Return the plan of these choices.
 * @param {Partial<Choices> & { task: Choices["task"] }} choices
 * @returns {Plan} */
export function planOf(choices) {
  const set = choicesWith(choices);
  const { task, scaled, positions, residual, norm, layers, heads, language, rule, seed } = set;
  const { rate, ...plan } = PLANS[task];
  const sizes = { layers, heads, hidden: set.feed_forward ? HIDDEN : 0 };
  const settings = { ...plan, rate: rate * set.rate, warmUp: set.warm_up ? WARM_UP : 0, seed };
  if (task === "labeller") {
    const switches = { norm: false, positions: set.sees.includes("positions") };
    return { task, sizes: { sees: set.sees, seed }, settings, switches, measured: {} };
  }
  return {
    task,
    sizes: task === "tagger" ? { ...sizes, language, rule, seed, pool: set.sentences } : sizes,
    settings,
    switches: { scaled, positions, residual, norm, causal: task === "repeater" && !set.mask_forgotten },
    // A text that is being written has no future: there the mask is always on.
    measured: task === "repeater" ? { causal: true } : {},
  };
}

/* The trained repeater at the end of its training or at an earlier step, and the mean outputs of its heads. They are
 * computed at their first use.
 *
 * The weights of earlier steps are large. The package has them in the widget's script. A page of the site loads them
 * from a separate script when the reader first chooses such a step. */

import weights from "../../models/weights/repeater.safetensors";
import checkpoints from "../../models/weights/repeater-checkpoints.safetensors";
import measured from "../../models/weights/repeater-history.json";
import { onDemand } from "./on_demand.js";
import { remember } from "./remember.js";
import { drawTexts, makeRepeater, meanOutputs, repeaterAt } from "./repeater.js";
import { readSafetensors } from "./safetensors.js";

/** @import { Repeater } from "./repeater.js" */
/** @import { Weights } from "./safetensors.js" */

const EARLIER = "repeater-checkpoints";

/** The measures at each step of the training: { steps, loss, previous, induction }. */
export const HISTORY = measured;
export const LAST = Math.max(...HISTORY.steps);

const theTrained = remember(() => makeRepeater(weights));
const at = remember(repeaterAt, HISTORY.steps.length);

/** Return the repeater after a number of steps. `earlier` is the result of `loadEarlier`; the last step needs none.
 * @param {number} step
 * @param {Weights | null} earlier */
export const theRepeater = (step, earlier) =>
  step === LAST ? theTrained() : at(/** @type {Weights} */ (earlier), step);
export const theMeans = remember(
  (/** @type {Repeater} */ model) => meanOutputs(model, drawTexts(16, 1)),
  HISTORY.steps.length,
);

const read = remember(readSafetensors);

/** Return the weights of the earlier steps. After a failure, the next call loads them again. */
export async function loadEarlier() {
  return read(checkpoints ?? (await onDemand(EARLIER)));
}

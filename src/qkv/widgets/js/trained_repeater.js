/* The trained repeater at the end of its training or at an earlier step, and the mean outputs of its heads. They are
 * computed at their first use.
 *
 * The weights of earlier steps are large. The package has them in the widget's script. A page of the site loads them
 * from a separate script when the reader first chooses such a step. */

import weights from "../../models/weights/repeater.safetensors";
import checkpoints from "../../models/weights/repeater-checkpoints.safetensors";
import measured from "../../models/weights/repeater-history.json";
import { remember } from "./remember.js";
import { drawTexts, makeRepeater, meanOutputs, repeaterAt } from "./repeater.js";
import { readSafetensors } from "./safetensors.js";

const EARLIER = "repeater-checkpoints";

/** The measures at each step of the training: { steps, loss, previous, induction }. */
export const HISTORY = measured;
export const LAST = Math.max(...HISTORY.steps);

const theTrained = remember(() => makeRepeater(weights));
const at = remember(repeaterAt, HISTORY.steps.length);

/** Return the repeater after a number of steps. `earlier` is the result of `loadEarlier`; the last step needs none. */
export const theRepeater = (step, earlier) => (step === LAST ? theTrained() : at(earlier, step));
export const theMeans = remember((model) => meanOutputs(model, drawTexts(16, 1)), HISTORY.steps.length);

const read = remember(readSafetensors);

/** Return the weights of the earlier steps. After a failure, the next call loads them again. */
export async function loadEarlier() {
  return read(checkpoints ?? (await fromScript()));
}

let loading; // the promise of the weights, while they are loaded and after that

function fromScript() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const host = /** @type {HTMLScriptElement} */ (document.querySelector('script[src*="qkv-site.js"]'));
    script.src = new URL(`qkv-weights-${EARLIER}.js`, host.src).href;
    script.addEventListener("load", () => resolve(globalThis.qkvWeights[EARLIER]));
    script.addEventListener("error", () => {
      script.remove();
      loading = undefined;
      reject(new Error(`${script.src} could not be loaded`));
    });
    document.head.append(script);
  });
  return loading;
}

/* The trained repeater, as it is or as it was at a step of its training, and the mean outputs of its heads: worked out
 * when they are first asked for.
 *
 * The weights of earlier steps are large. The package has them in the widget's script; a page of the site loads them, from
 * a script of their own, when a reader first asks for such a step. */

import weights from "../../models/weights/repeater.safetensors";
import checkpoints from "../../models/weights/repeater-checkpoints.safetensors";
import measured from "../../models/weights/repeater-history.json";
import { remember } from "./remember.js";
import { drawTexts, makeRepeater, meanOutputs, repeaterAt } from "./repeater.js";
import { readSafetensors } from "./tagger.js";

const EARLIER = "repeater-checkpoints";

/** What was measured at each step: { steps, loss, previous, induction }. */
export const HISTORY = measured;
export const LAST = Math.max(...HISTORY.steps);

const theTrained = remember(() => makeRepeater(weights));
const at = remember(repeaterAt, HISTORY.steps.length);

/** The repeater after so many steps; `earlier` is what `loadEarlier` gave, which the last step does without. */
export const theRepeater = (step, earlier) => (step === LAST ? theTrained() : at(earlier, step));
export const theMeans = remember((model) => meanOutputs(model, drawTexts(16, 1)), HISTORY.steps.length);

const read = remember(readSafetensors);

/** The weights of the earlier steps. A second try after a failure asks again. */
export async function loadEarlier() {
  return read(checkpoints ?? (await fromScript()));
}

let asked;

function fromScript() {
  asked ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const host = /** @type {HTMLScriptElement} */ (document.querySelector('script[src*="qkv-site.js"]'));
    script.src = new URL(`qkv-weights-${EARLIER}.js`, host.src).href;
    script.addEventListener("load", () => resolve(globalThis.qkvWeights[EARLIER]));
    script.addEventListener("error", () => {
      script.remove();
      asked = undefined;
      reject(new Error(`${script.src} could not be loaded`));
    });
    document.head.append(script);
  });
  return asked;
}

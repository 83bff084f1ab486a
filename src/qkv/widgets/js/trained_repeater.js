/* The trained repeater and the mean outputs of its heads, worked out when they are first asked for. */

import weights from "../../models/weights/repeater.safetensors";
import { remember } from "./remember.js";
import { drawTexts, makeRepeater, meanOutputs } from "./repeater.js";

export const theRepeater = remember(() => makeRepeater(weights));
export const theMeans = remember(() => meanOutputs(theRepeater(), drawTexts(16, 1)));

/* The trained tagger and its grammar, which are read at their first use.
 *
 * On the site the weights are in a separate script, which only pages that compute with them load (tools/bundle.mjs). */

import data from "../../models/grammar.json";
import weights from "../../models/weights/tagger.safetensors";
import { Grammar } from "./grammar.js";
import { remember } from "./remember.js";
import { makeTagger } from "./tagger.js";

export const theGrammar = remember(() => new Grammar(data));
export const theTagger = remember(() => makeTagger(weights, theGrammar()));

import { live } from "lit-html/directives/live.js";
import {
  allHeads,
  contrastOf,
  finding,
  layerTabs,
  lookOf,
  matrixOf,
  nameOf,
  ONE,
  oneHead,
  orders,
  scoresTable,
  seenIn,
  sizeOf,
  spaced,
  weightsTable,
} from "./atlas.js";
import { button, html, logSlider, nothing, num, readings, remember, t, tables, toggle, widget } from "./base.js";
import { headScores } from "./head_scores.js";
import { whenColoursChange } from "./heatmap.js";

/** @import { Part } from "./atlas.js" */
/** @import { RealModel as Model, Text } from "../../../../real_model/engine.js" */
/** @typedef {{ sentence: string, other: string, layer: number, head: number, token: number, matrix: boolean, contrast: boolean, order: string,
 *   off: number[][], temperature: number, scaled: boolean, stored: string[][], packed: DataView, repainted: number,
 *   kept: string, model: Model | null, texts: Record<string, Text>, phase: "stored" | "loading" | "ready", loaded: number, total: number,
 *   problem: string }} State */

const [LAYERS, HEADS] = [6, 12];
const LONGEST = 64; // tokens
const SIZE = "13 MB";
const SEPARATORS = new Set(["[SEP]"]);

export default widget("RealModel", {
  // The chosen token while its sentence is changed, the loaded model, the texts that it has read by their sentences, how far it is loaded, and what went wrong.
  own: { repainted: 0, kept: "", model: null, texts: {}, phase: "stored", loaded: 0, total: 0, problem: "" },
  setup: ({ state, set, eachDrawing }) => {
    eachDrawing(reader(state, set));
    return whenColoursChange(() => set({ repainted: state.repainted + 1 }));
  },
  says: (/** @type {State} */ state) => {
    const seen = chosen(state);
    const parts = [isOff(state, seen.layer, seen.head) ? offText(seen) : "", finding(seen), state.problem];
    return parts.filter(Boolean).join(" ");
  },
  view: (state, set, id) => {
    const seen = chosen(state);
    const look = { ...state, ...lookOf(state) };
    const isReady = state.phase === "ready";
    const isSilent = isReady && isOff(state, seen.layer, seen.head);
    return html`<div class="qkv-real">
        ${storedSentences(state, set, id)}
        ${isReady || !isStored(state) ? field(state, set) : nothing}
        ${isReady ? nothing : offer(state, set)}
        ${namedHeads(seen, set, id)}
      </div>
      <div class="qkv-atlas qkv-real-atlas ${isSilent ? "qkv-real-silent" : ""} ${sizeOf(seen)}">
        ${isSilent ? html`<p class="qkv-lead qkv-atlas-finding">${offText(seen)}</p>` : lead(seen)}
        ${layerTabs(seen, look, set, id)}
        ${oneHead(seen, look, set)}
        ${allHeads(seen, { ...look, isOff: (layer, head) => isOff(state, layer, head) }, set, id)}
        <div class="qkv-atlas-below">
          ${isReady ? handles(seen, state, set) : nothing}
          ${state.problem ? html`<p class="qkv-error">${state.problem}</p>` : nothing}
          <details class="qkv-tables"><summary>${t`Order, scores and contrast of heads`}</summary>
            ${isReady ? further(state, set) : nothing}${orders(seen, look, set, id)}${contrastOf(look, set)}${matrixOf(look, set)}</details>
        </div>
      </div>
      ${tables(() => [weightsTable(seen), scoresTable(seen)])}`;
  },
});

/** @param {number[]} a
 * @param {number[]} b */
const same = (a, b) => a[0] === b[0] && a[1] === b[1];

/** Check whether a head is switched off.
 * @param {State} state
 * @param {number} layer
 * @param {number} head */
const isOff = ({ off }, layer, head) => off.some((each) => same(each, [layer, head]));

/** @param {ReturnType<typeof seenIn>} seen */
const offText = ({ layer, head }) => t`Head ${nameOf(layer, head)} is off: its output is 0.`;

/* ---- what is shown: the model's weights, or stored ones */

/** Return the stored sentences, each with the part that it is drawn from.
 * @type {(stored: string[][], packed: DataView) => { sentence: string, part: Part }[]} */
const storedParts = remember((stored, packed) => {
  let start = packed.byteOffset;
  return stored.map(([sentence, ...tokens]) => {
    const bytes = new Uint8Array(packed.buffer, start, LAYERS * HEADS * tokens.length ** 2);
    start += bytes.length;
    return {
      sentence,
      part: partOf(
        tokens,
        Uint16Array.from(bytes, (byte) => byte * (ONE / 255)),
      ),
    };
  });
});

/** @param {string[]} tokens
 * @param {Uint16Array} weights
 * @returns {Part} */
const partOf = (tokens, weights) => ({
  layers: LAYERS,
  heads: HEADS,
  queries: tokens,
  keys: tokens,
  weights,
  scores: headScores(
    Float64Array.from(weights, (weight) => weight / ONE),
    tokens,
    SEPARATORS,
  ),
});

/** @type {(model: Model, text: Text, temperature: number, scaled: boolean, off: number[][]) => ReturnType<Model["run"]>} */
const ran = remember((model, text, temperature, scaled, off) => model.run(text, { temperature, scaled, off }), 8);
const shownPart = remember((/** @type {Text} */ text, /** @type {Float32Array} */ weights) =>
  partOf(
    text.tokens,
    Uint16Array.from(weights, (weight) => Math.round(weight * ONE)),
  ),
);
/** @type {number[][]} */
const NONE = [];
const offOf = (/** @type {State} */ { off }) => (off.length ? off : NONE);

/** @param {State} state */
function chosen(state) {
  const { model, texts, temperature, scaled } = state;
  const text = texts[state.sentence];
  if (model && text?.rows.length) {
    const { weights } = ran(model, text, temperature, scaled, offOf(state));
    return seenFrom(shownPart(text, weights), state);
  }
  const all = storedParts(state.stored, state.packed);
  return seenFrom((all.find(({ sentence }) => sentence === state.sentence) ?? all[0]).part, state);
}

/** @param {Part} part
 * @param {State} state */
const seenFrom = (part, state) =>
  seenIn(part, { ...lookOf(state), token: state.token < 0 ? asking(part.queries, state.kept) : state.token });

const PRONOUN = /^(it|he|she|they|him|her|them)$/;
const WORD = /^[\p{L}\p{N}#]/u; // not [SEP], and no full stop

/** Return the place of the token that asks in a typed sentence: the one that was chosen before, if it is there, or else
 * the last pronoun, or the last word.
 * @param {string[]} tokens
 * @param {string} kept */
function asking(tokens, kept) {
  if (tokens.includes(kept)) return tokens.indexOf(kept);
  const pronoun = tokens.findLastIndex((token) => PRONOUN.test(token));
  return pronoun < 0 ? tokens.findLastIndex((token) => WORD.test(token)) : pronoun;
}

/** Return what the chosen token looks at most, as one line above the picture.
 * @param {ReturnType<typeof seenIn>} seen */
function lead({ queries, keys, token, row }) {
  const most = row.indexOf(Math.max(...row));
  const asks = html`<b class="qkv-atlas-query">${spaced(queries[token])}</b>`;
  const found = html`<b class="qkv-atlas-key">${spaced(keys[most])}</b>`;
  return html`<p class="qkv-lead qkv-atlas-finding">${t`${asks} looks most at ${found}: ${num(row[most], { places: 2 })}`}</p>`;
}

/* ---- loading */

/** Return a callback for each drawing, which cuts new sentences into tokens.
 * @param {State} state
 * @param {(changes: Partial<State>) => void} set */
function reader(state, set) {
  /** @type {Set<string>} */
  const asked = new Set();
  return () => {
    const { model } = state;
    if (!model) return;
    for (const text of [state.sentence, state.other].filter((each) => !asked.has(each))) {
      asked.add(text);
      model.read(text).then(
        (read) => {
          const problem = read.rows.length
            ? ""
            : t`The sentence has ${read.ids.length} tokens; the page takes ${LONGEST}.`;
          set({ texts: { ...state.texts, [text]: read }, problem });
        },
        () => {
          asked.delete(text);
          set({ problem: t`A word of this sentence could not be loaded. Is there a network?` });
        },
      );
    }
  };
}

/** Return the change of the state for a typed sentence: the token that a reader chose is kept.
 * @param {State} state
 * @param {string} sentence
 * @returns {Partial<State>} */
function typed(state, sentence) {
  const { queries, token } = chosen(state);
  const kept = state.token < 0 ? state.kept : queries[token];
  return { sentence, kept, token: -1 };
}

/** Load the model and show the progress.
 * @param {(changes: Partial<State>) => void} set */
async function load(set) {
  set({ phase: "loading", loaded: 0, problem: "" });
  try {
    const host = /** @type {HTMLScriptElement | null} */ (document.querySelector('script[src*="qkv-site.js"]'));
    if (!host) throw new Error("not on the site");
    await withEngine(new URL("real-model.js", host.src).href);
    const folder = new URL("real-model", host.src).href;
    const model = await qkvRealModel.loadModel(folder, (loaded, total) => set({ loaded, total }));
    set({ model, phase: "ready" });
  } catch {
    set({ phase: "stored", problem: problemText() });
  }
}

const problemText = () =>
  document.querySelector('script[src*="qkv-site.js"]')
    ? t`The model could not be loaded: this copy of the site has no model, or there is no network. The stored sentences stay.`
    : t`The model runs on the course’s site. Here, qkv.look shows any model that you have.`;

/** @param {string} address */
const withEngine = (address) =>
  new Promise((resolve, reject) => {
    if ("qkvRealModel" in globalThis) return resolve(undefined);
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => {
      script.remove();
      reject(new Error(`${address} could not be loaded`));
    });
    document.head.append(script);
  });

/* ---- the controls */

/** @param {State} state */
const isStored = (state) => storedParts(state.stored, state.packed).some(({ sentence }) => sentence === state.sentence);

/** Return the choice of a stored sentence.
 * @param {State} state
 * @param {(changes: Partial<State>) => void} set
 * @param {string} id */
const storedSentences = (state, set, id) =>
  picks({
    legend: t`stored sentences`,
    name: `${id}-stored`,
    options: storedParts(state.stored, state.packed).map(({ sentence }) => ({
      label: shortOf(sentence),
      chosen: sentence === state.sentence,
      pick: () => set({ sentence, token: sentence.includes(" it ") ? 9 : -1 }),
    })),
  });

/** The heads that have a name, as the page about this model measures them: their layers and heads, from 0.
 * @type {[number, number, () => string][]} */
const NAMED = [
  [3, 1, () => t`nouns`],
  [0, 2, () => t`before`],
  [1, 8, () => t`next`],
];

/** Return the choice of a head that has a name. The one that looks at nouns is shown at *it*.
 * @param {ReturnType<typeof seenIn>} seen
 * @param {(changes: Partial<State>) => void} set
 * @param {string} id */
const namedHeads = ({ layer, head, token, queries }, set, id) =>
  picks({
    legend: t`heads with a name`,
    name: `${id}-named`,
    options: NAMED.map(([inLayer, at, says]) => ({
      label: html`<b>${says()}</b> <small>${nameOf(inLayer, at)}</small>`,
      chosen: inLayer === layer && at === head,
      pick: () => set({ layer: inLayer, head: at, token: queries.includes("it") ? queries.indexOf("it") : token }),
    })),
  });

/** Return a row of radio buttons in boxes.
 * @param {{ legend: string, name: string, options: { label: unknown, chosen: boolean, pick: () => void }[] }} parts */
const picks = ({ legend, name, options }) => html`<fieldset class="qkv-control qkv-real-picks">
  <legend class="qkv-unseen">${legend}</legend>
  ${options.map(
    ({ label, chosen, pick }) =>
      html`<label class="qkv-pick"><input class="qkv-over" type="radio" name=${name} .checked=${live(chosen)} @change=${pick}>${label}</label>`,
  )}
</fieldset>`;

/** Return the field of the sentence.
 * @param {State} state
 * @param {(changes: Partial<State>) => void} set */
const field = (state, set) => html`<label class="qkv-control qkv-typed">
  <span class=${state.phase === "ready" ? "qkv-unseen" : ""}>${state.phase === "ready" ? t`sentence` : html`<b>${t`load the model to see this sentence`}</b>`}</span>
  <textarea rows="2" maxlength="300" autocomplete="off" .value=${live(state.sentence)}
    @input=${(/** @type {{ target: HTMLTextAreaElement }} */ { target }) => set(typed(state, target.value.replace(/\s+/g, " ")))}></textarea></label>`;

/** Return the end of a long sentence.
 * @param {string} sentence */
const shortOf = (sentence) => (sentence.length > 30 ? `… ${sentence.split(" ").slice(-2).join(" ")}` : sentence);

/** Return the offer to load the model, or how far it is loaded, in the place of the field.
 * @param {State} state
 * @param {(changes: Partial<State>) => void} set */
function offer({ phase, loaded, total }, set) {
  const megabytes = (/** @type {number} */ bytes) => num(bytes / 1e6, { places: 1 });
  if (phase === "loading") {
    return html`<div class="qkv-real-offer"><progress aria-label=${t`model loaded`} max=${total || 1} value=${loaded}></progress>
      <p class="qkv-note" role="status">${t`Loading: ${megabytes(loaded)} of ${total ? megabytes(total) : "13"} MB.`}</p></div>`;
  }
  return html`<div class="qkv-real-offer">${button({ label: t`Load the model (${SIZE})`, onClick: () => load(set) })}
    <p class="qkv-note">${t`to type any sentence`}</p></div>`;
}

/** Return the temperature, the switch of the chosen head, and what both do to the sentence's vector.
 * @param {ReturnType<typeof seenIn>} seen
 * @param {State} state
 * @param {(changes: Partial<State>) => void} set */
function handles({ layer, head }, state, set) {
  const others = state.off.filter((each) => !same(each, [layer, head]));
  const isChanged = state.off.length > 0 || state.temperature !== 1 || !state.scaled;
  return html`<div class="qkv-real-handles">
    ${logSlider({
      label: html`<var>T</var>`,
      value: state.temperature,
      min: 0.1,
      max: 10,
      onInput: (temperature) => set({ temperature }),
    })}
    ${toggle({
      label: t`head ${nameOf(layer, head)}`,
      checked: others.length === state.off.length,
      onChange: (on) => set({ off: on ? others : [...others, [layer, head]] }),
    })}
    <div class="qkv-real-effect">
      ${readings(measures(state))}
      ${button({ label: t`reset`, disabled: !isChanged, onClick: () => set({ off: [], temperature: 1, scaled: true }) })}
    </div>
  </div>`;
}

/** Return what is changed or measured less often: the division by √d_k, and the comparison with another sentence.
 * @param {State} state
 * @param {(changes: Partial<State>) => void} set */
const further = (state, set) => html`<div class="qkv-real-further">
  ${toggle({ label: t`divide by √${html`<var>d<sub>k</sub></var>`}`, checked: state.scaled, onChange: (scaled) => set({ scaled }) })}
  <label class="qkv-control qkv-typed"><span class="qkv-label">${t`compare with the sentence`}</span>
    <input type="text" maxlength="300" autocomplete="off" .value=${live(state.other)}
      @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ other: target.value })}></label>
  ${readings([[t`similarity of the two sentences (cosine)`, similarity(state)]])}
</div>`;

/** Return a function that returns the vector of a read text, with the handles as they are or as given.
 * @param {State} state */
const vectors = (state) => {
  const { model, temperature, scaled } = state;
  return (/** @type {Text | undefined} */ text, heads = offOf(state), at = temperature, divided = scaled) =>
    model && text?.rows.length ? ran(model, text, at, divided, heads).vector : undefined;
};

/** Return the cosine of two vectors of length 1, as text.
 * @param {Float32Array | undefined} a
 * @param {Float32Array | undefined} b */
const cosine = (a, b) =>
  a && b
    ? num(
        a.reduce((sum, each, i) => sum + each * b[i], 0),
        { places: 3 },
      )
    : "–";

/** @param {State} state */
function similarity(state) {
  const vector = vectors(state);
  return cosine(vector(state.texts[state.sentence]), vector(state.texts[state.other]));
}

/** Return what the handles do to the sentence's vector. If heads are off, the control is below it: other heads of the same
 * layers off.
 * @param {State} state
 * @returns {[unknown, unknown][]} */
function measures(state) {
  const [text, vector] = [state.texts[state.sentence], vectors(state)];
  const trained = vector(text, NONE, 1, true);
  const others = controls(state.off);
  const names = others.map(([layer, head]) => nameOf(layer, head)).join(", ");
  /** @type {[unknown, unknown]} */
  const changed = [t`cosine with trained`, cosine(vector(text), trained)];
  return others.length ? [changed, [t`without ${names} instead`, cosine(vector(text, others), trained)]] : [changed];
}

/** Return as many other heads of the same layers, which are drawn by the heads that are off.
 * @type {(off: number[][]) => number[][]} */
const controls = remember((off) => {
  /** @type {number[][]} */
  const found = [];
  for (const [layer, head] of off) {
    const free = Array.from({ length: HEADS }, (_, each) => [layer, each]).filter(
      (each) => ![...off, ...found].some((known) => same(known, each)),
    );
    if (free.length) found.push(free[(7 * layer + 5 * head + 3) % free.length]);
  }
  return found;
});

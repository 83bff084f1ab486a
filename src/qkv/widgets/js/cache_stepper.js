import { live } from "lit-html/directives/live.js";
import { button, choices, dragged, html, num, powersOfTwo, stepSlider, t, tables, widget, wordAt } from "./base.js";
import { attentionMultiplyAdds, kvCacheBytes, reusablePrefix, sum } from "./maths.js";

const TEXT = "the cat chased the mouse because it was hungry".split(" ");
const INSTEAD = "a dog saw a bird while she felt tired".split(" ");
const PROMPT = 3; // words of the prompt, which step 1 reads; each later step reads one word
const LAST = TEXT.length - PROMPT + 2; // the last step reads a second prompt
const PAUSE = 900; // ms between the steps that the reader plays
const [FIRST_LOOK, LOOK] = [3000, 1800]; // ms after the first and each later step that the widget plays by itself
const STILL = { playing: false, shown: 0, turned: false }; // the saved step is shown, and nothing plays

/** @import { SetState } from "./base.js" */
/** @import { Model as Sizes } from "./maths.js" */
/** @typedef {{ step: number, changed: number, model: string, token: number, playing: boolean, shown: number,
 *   cached: boolean, turned: boolean }} State */
/** @typedef {ReturnType<typeof atShown>} Shown the state that a view draws */
/** @typedef {ReturnType<typeof run>} Run a step, with a cache or without */
/** @typedef {"q" | "k" | "v" | "score"} Part */
/** @typedef {"new" | "again" | "kept" | "masked"} Look of a cell */

/** Published configurations. `parameters` is the number of all parameters, to compare the cache with.
 * @type {Record<string, Sizes & { parameters: number }>} */
export const MODELS = {
  "one layer": shape(1, 512, 8, 8, 64, 4 * 512 * 512, 4),
  "GPT-2 small": shape(12, 768, 12, 12, 64, 124_439_808),
  "Llama 2 7B": shape(32, 4096, 32, 32, 128, 6_738_415_616),
  "Llama 3 8B": shape(32, 4096, 32, 8, 128, 8_030_261_248),
  "Llama 3 70B": shape(80, 8192, 64, 8, 128, 70_553_706_496),
  "Falcon 7B": shape(32, 4544, 71, 1, 64, 6_921_720_704),
};

/** @param {number} layers
 * @param {number} dModel
 * @param {number} heads
 * @param {number} kvHeads
 * @param {number} dHead
 * @param {number} parameters */
function shape(layers, dModel, heads, kvHeads, dHead, parameters, bytesPerValue = 2) {
  return { layers, dModel, heads, kvHeads, dHead, parameters, bytesPerValue };
}

export default widget("CacheStepper", {
  // Once the reader has `turned` to the other way, or a word has changed, the rows change as a wave.
  own: { playing: false, shown: 0, turned: false },
  setup: ({ state, set, root, eachDrawing }) => {
    const end = playOnceSeen(state, set, root);
    let timer = 0;
    const goOn = () => {
      timer = 0;
      set(tick(state));
    };
    eachDrawing(() => {
      if (state.shown && state.step !== 1) set(STILL); // Python or a second view has changed the saved step
      if (!state.playing) timer = clearTimeout(timer) ?? 0;
      else timer ||= setTimeout(goOn, pauseAt(state));
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  },
  says: (/** @type {State} */ state) => {
    const [cached, plain] = [true, false].map((way) => amount(spent(state, run(state, way))));
    return `${headline(state)} ${notice(state)} ${t`This step takes ${cached} multiply-adds with a cache, and ${plain} without one.`}`;
  },
  view: (state, set, id) => picture(atShown(state), set, id),
});

const picture = (/** @type {Shown} */ state, /** @type {SetState<State>} */ set, /** @type {string} */ id) => html`
    ${ways(state, set, id)}
    <p class="qkv-kv-lead"><b data-number="headline">${headline(state)}</b><span data-number="notice">${notice(state)}</span></p>
    ${grid(state, set, id)}
    ${sums(state, set)}
    ${realModels(state, set, id)}
    ${tables(() => [everyStep(state)])}`;

// ---- playing: the button changes the saved step; playing by itself, once, changes only what this view shows

/** Return the state that this view shows. `shown` is the step that the widget has played to by itself, or 0 if the view
 * shows the saved step.
 * @param {State} parts */
const atShown = ({ step, changed, model, token, playing, shown, cached, turned }) => ({
  step: shown || step,
  changed,
  model,
  token,
  playing,
  cached,
  turned,
});

const pauseAt = (/** @type {State} */ { shown }) => (shown ? (shown === 1 ? FIRST_LOOK : LOOK) : PAUSE);

/** Return the change of the state after a pause. The widget plays to the last word by itself; the second prompt it
 * leaves to the reader.
 * @param {State} state */
const tick = (state) => (state.shown ? { shown: state.shown + 1, playing: state.shown + 1 < WRITTEN } : next(state));

/** Play once when the picture comes into sight, until the reader uses the widget. Return a function that stops this.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {HTMLElement} root */
function playOnceSeen(state, set, root) {
  const watch = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watch.disconnect();
      if (state.step === 1) set({ shown: 1, playing: true });
    },
    { threshold: 0.9 },
  );
  const stopPlaying = (/** @type {Event} */ { target }) => {
    watch.disconnect();
    if (state.shown && !(/** @type {Element} */ (target).closest(".qkv-kv-play"))) set({ step: state.shown, ...STILL });
  };
  const stop = new AbortController();
  for (const kind of ["pointerdown", "keydown", "input"]) {
    root.addEventListener(kind, stopPlaying, { capture: true, signal: stop.signal });
  }
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    watch.observe(/** @type {Element} */ (root.querySelector(".qkv-kv-grid")));
  }
  return () => {
    watch.disconnect();
    stop.abort();
  };
}

// ---- what happens in a step

const WRITTEN = LAST - 1; // the step of the last word, where playing stops
/** Return the change of the state at a press on play: the next step, or the first one after the last word.
 * @param {Pick<State, "step">} parts */
const next = ({ step }) =>
  step < WRITTEN ? { ...STILL, step: step + 1, playing: step + 1 < WRITTEN } : { ...STILL, step: 1, playing: true };
/** Return the words that a step of the first text reads.
 * @param {number} step */
const wordsOf = (step) => TEXT.slice(step === 1 ? 0 : PROMPT + step - 2, PROMPT + step - 1).join(" ");
const secondPrompt = (/** @type {Pick<State, "changed">} */ { changed }) =>
  TEXT.map((word, i) => (i + 1 === changed ? INSTEAD[i] : word));

/** Return the words that the model has read at the end of a step, how many of them were kept in the cache (`kept`), and
 * how many had been computed before (`seen`).
 * @param {{ changed: number, step?: number }} state
 * @param {number} [step] */
function reads(state, step = /** @type {number} */ (state.step)) {
  if (step === LAST) {
    const words = secondPrompt(state);
    // The last word is always computed, because its output is needed for the next word.
    const kept = Math.min(reusablePrefix(TEXT, words), words.length - 1);
    return { words, kept, seen: reusablePrefix(TEXT, words) };
  }
  const kept = step === 1 ? 0 : PROMPT + step - 2;
  return { words: TEXT.slice(0, PROMPT + step - 1), kept, seen: kept };
}

/** Return a step with a cache or without: the rows that are computed, the first of them, and the number of rows that
 * had been computed before (`seen`).
 * @param {{ changed: number, step?: number }} state
 * @param {boolean} cached
 * @param {number} [step] */
export function run(state, cached, step = /** @type {number} */ (state.step)) {
  const { words, kept, seen } = reads(state, step);
  const start = cached ? kept : 0;
  return { n: words.length, start, seen, rows: words.map((_, i) => i).slice(start) };
}

/** Return the multiply-adds of a step.
 * @param {Pick<State, "model">} state
 * @param {Pick<Run, "n" | "start">} step */
export const spent = ({ model }, { n, start }) => sum(attentionMultiplyAdds(MODELS[model], n - start, start));

/** Return a value of each step up to this one.
 * @param {{ step: number }} state
 * @param {(step: number) => number} of */
const eachStep = ({ step }, of) => Array.from({ length: step }, (_, i) => of(i + 1));

/** Return what all steps up to this one take.
 * @param {Shown} state
 * @param {boolean} cached
 * @param {(step: Run) => number} of a step */
const soFar = (state, cached, of) => sum(eachStep(state, (step) => of(run(state, cached, step))));
const rowsOf = (/** @type {Run} */ { rows }) => rows.length;

/** Return the rows that each step up to this one computes.
 * @param {Shown} state
 * @param {boolean} cached */
const rowsByStep = (state, cached) => eachStep(state, (step) => rowsOf(run(state, cached, step)));

// ---- numbers as text

/** Return a count as text: in full below 10⁶, with million, billion or trillion below 10¹⁵, else as a power of ten.
 * @param {number} count */
function amount(count) {
  if (count < 1e6 || count >= 1e15) return num(count);
  if (count < 1e9) return t`${num(count / 1e6)} million`;
  return count < 1e12 ? t`${num(count / 1e9)} billion` : t`${num(count / 1e12)} trillion`;
}

/** @param {number} count */
function bytes(count) {
  const power = count < 1 ? 0 : Math.min(4, Math.floor(Math.log2(count) / 10));
  return `${num(count / 1024 ** power)} ${[t`bytes`, "KiB", "MiB", "GiB", "TiB"][power]}`;
}

const times = (/** @type {number} */ ratio) => `${num(ratio, { places: Number.isInteger(ratio) ? 0 : 2 })} ×`;

// ---- drawing

/** Return the row under the pointer, if there is one.
 * @param {Element} area
 * @param {PointerEvent} event */
function pointedAt(area, { clientX, clientY }) {
  const root = /** @type {Document | ShadowRoot} */ (area.getRootNode());
  return /** @type {HTMLElement | null | undefined} */ (
    root.elementFromPoint(clientX, clientY)?.closest(".qkv-kv-row")
  );
}

/** @typedef {{ label: string, names: string[], chosen: number, choose: (place: number) => Partial<State> }} Handle the
 *   words as a handle: what a drag along them changes. `names[i]` is the name of the choice that word i makes; words
 *   with one choice in common have it at the last of them, and the others have no name */

/** Return the words of the text as a handle: a press on a word is the step that reads it. The prompt is read in one step.
 * @param {Shown} state
 * @returns {Handle} */
const reading = ({ step }) => ({
  label: t`read up to`,
  names: TEXT.map((word, i) => (i < PROMPT - 1 ? "" : i < PROMPT ? wordsOf(1) : word)),
  chosen: PROMPT + step - 2,
  choose: (place) => ({ step: Math.max(1, place - PROMPT + 2), ...STILL }),
});

/** Return the words of the second prompt as a handle: a press on a word changes it.
 * @param {Shown} state
 * @returns {Handle} */
const changing = ({ changed }) => ({
  label: t`changed word`,
  names: TEXT.map((_, i) => t`change ${wordAt(TEXT, i)}`),
  chosen: changed - 1,
  choose: (place) => ({ changed: place + 1, turned: true }),
});

/** Return the words, one below the other, and a row of cells for each: q, k and v, and the scores up to the word itself.
 * @param {Shown} state
 * @param {SetState<State>} set
 * @param {string} id */
function grid(state, set, id) {
  const handle = state.step === LAST ? changing(state) : reading(state);
  const along = dragged(({ area, event }) => {
    const row = pointedAt(area, event);
    if (row) set(handle.choose(Number(row.dataset.place)));
  });
  const words = state.step === LAST ? secondPrompt(state) : TEXT;
  const oldest = lookOf(run(state, state.cached), 0);
  return html`<div class="qkv-kv-grid ${state.step === LAST ? "qkv-kv-changes" : ""} qkv-drag" data-playing=${state.playing} data-turned=${state.turned} role="radiogroup" aria-label=${handle.label}
    @pointerdown=${along} @pointermove=${along}>
    <div class="qkv-kv-heads" aria-hidden="true">${oldest === "kept" ? html`<em data-is="kept">${t`kept`}</em>` : oldest === "again" ? html`<em data-is="again">${t`again`}</em>` : ""}${PARTS.map((part) => html`<b data-part=${part}>${part}</b>`)}<span>${t`scores`}</span></div>
    ${words.map((word, i) => row(state, handle, { word, i, name: `${id}-word` }, set))}
  </div>`;
}

/** @type {Part[]} */
const PARTS = ["q", "k", "v"];

/** @param {Shown} state
 * @param {Handle} handle
 * @param {{ word: string, i: number, name: string }} parts
 * @param {SetState<State>} set */
function row(state, handle, { word, i, name }, set) {
  const { names, chosen, choose } = handle;
  const isPrompt = state.step === 1 && i < PROMPT;
  const input = names[i]
    ? html`<input class="qkv-over qkv-keys" type="radio" name=${name} aria-label=${names[i]} .checked=${live(i === chosen)} @change=${() => set(choose(i))}>`
    : "";
  const isChosen = i === chosen || isPrompt;
  const ring = isChosen && names[i] ? html`<b class="qkv-knob" aria-hidden="true">↕</b>` : "";
  return html`<div class="qkv-kv-row" data-place=${i} data-is=${lookOf(run(state, state.cached), i)} style="--i: ${i}">
    <label class="qkv-kv-word" data-chosen=${isChosen}>${input}<span>${word}</span>${ring}</label>
    ${PARTS.map((part) => html`<i data-part=${part}></i>`)}${TEXT.slice(0, i + 1).map((_, j) => html`<i data-part="score" style="--j: ${j}"></i>`)}
  </div>`;
}

/** Return what a word's row is: "new" (computed for the first time), "again", "kept" (its k and v are read from the
 * cache) or "none".
 * @param {Run} step
 * @param {number} i */
const lookOf = (step, i) => {
  const keys = cellState(step, "k", i, 0);
  return keys === "kept" && !step.start ? "none" : keys;
};

/** Return the choice between the two ways, without a cache and with one: the chosen way is drawn.
 * @param {Shown} state
 * @param {SetState<State>} set
 * @param {string} id */
const ways = ({ cached }, set, id) => html`<fieldset class="qkv-kv-ways">
  <legend class="qkv-unseen">${t`way to compute`}</legend>
  ${[false, true].map(
    (way) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-way" .checked=${live(way === cached)} @change=${() => set({ cached: way, turned: true })}>
      ${way ? t`with a cache` : t`without a cache`}
    </label>`,
  )}
</fieldset>`;

/** Return the rows that each way has computed so far, as a sum over the steps with a bar for each of them; of the second prompt,
 * its rows alone.
 * @param {Shown} state
 * @param {SetState<State>} set */
function sums(state, set) {
  const isSecond = state.step === LAST;
  const most = isSecond ? TEXT.length : sum(rowsByStep({ ...state, step: WRITTEN }, false));
  return html`<div class="qkv-kv-sums">
    <div class="qkv-kv-title"><span>${isSecond ? t`rows computed` : t`Rows so far: the prompt’s ${PROMPT} words are read at once.`}</span>
      ${isSecond ? sameWords(set) : play(state, set)}</div>
    ${[false, true].map((cached) => {
      const rows = isSecond ? [rowsOf(run(state, cached))] : rowsByStep(state, cached);
      return html`<p class="qkv-kv-sum" data-chosen=${cached === state.cached}>
        <span>${cached ? t`with` : t`without`}</span>
        <span><b data-number="rows-${cached ? "with" : "without"}">${sum(rows)}</b>${rows.length > 1 ? html` = ${rows.join(" + ")}` : ""}</span>
        <span class="qkv-kv-bar" aria-hidden="true">${rows.map((each) => html`<i style="--share: ${each / most}"></i>`)}</span>
      </p>`;
    })}
  </div>`;
}

const play = (/** @type {Shown} */ { step, playing }, /** @type {SetState<State>} */ set) =>
  html`<span class="qkv-kv-play">${button({ label: playing ? t`pause` : t`play`, onClick: () => set(playing ? { step, ...STILL } : next({ step })) })}</span>`;
const sameWords = (/** @type {SetState<State>} */ set) =>
  html`<span>${button({ label: t`no change`, onClick: () => set({ changed: 0 }) })}</span>`;

/** Return the choice of a real model, and what a token late in a conversation costs there. It is folded away.
 * @param {Shown} state
 * @param {SetState<State>} set
 * @param {string} id */
const realModels = (state, set, id) => {
  const { parameters, bytesPerValue } = MODELS[state.model];
  const [withCache, without] = atToken(state);
  return html`<details class="qkv-tables">
    <summary>${t`Multiply-adds, real models and long texts`}</summary>
    ${counters(state)}
    ${choices({
      label: t`whose work is counted`,
      name: `${id}-model`,
      value: state.model,
      options: Object.keys(MODELS).map((name) => ({ value: name, label: nameOf(name) })),
      onChange: (value) => set({ model: value }),
    })}
    ${stepSlider({
      label: t`at token`,
      value: state.token,
      values: powersOfTwo(17),
      onInput: (token) => set({ token }),
    })}
    <p class="qkv-note qkv-kv-far">${t`A step with a cache: ${strong("far-with", amount(withCache))} multiply-adds. Without one: ${strong("far-without", amount(without))}, ${strong("far-ratio", times(without / withCache))} as many.`}
      ${t`The cache takes ${strong("far-kept-with", bytes(kvCacheBytes(MODELS[state.model], state.token)))}, all parameters ${strong("parameters", bytes(parameters * bytesPerValue))}.`}</p>
  </details>`;
};

const strong = (/** @type {string} */ name, /** @type {string} */ text) => html`<b data-number=${name}>${text}</b>`;
const nameOf = (/** @type {string} */ model) => (model === "one layer" ? t`one layer` : model);

/** Return how many rows a step computes, and how many the cache has kept.
 * @param {Shown | State} state */
function headline(state) {
  const rows = rowsOf(run(state, state.cached));
  const { kept } = reads(state);
  if (!state.cached || !kept) return rows === 1 ? t`1 row computed` : t`${rows} rows computed`;
  return rows === 1 ? t`1 row computed, ${kept} kept` : t`${rows} rows computed, ${kept} kept`;
}

/** Return what there is to notice in a step.
 * @param {Shown | State} state */
function notice(state) {
  const { step, cached } = state;
  if (step === LAST) return cached ? stillRight(state) : t`Nothing of the first text was kept.`;
  if (step === 1) return cached ? t`The cache was empty before the prompt.` : t`The prompt is read at once.`;
  const { kept } = reads(state);
  return cached
    ? t`k and v of ${kept} words come from the cache.`
    : t`“${TEXT[PROMPT + step - 2]}” is new: ${kept} computed again.`;
}

/** Return how many keys of the first text are still right for the second prompt, in layer 1 and in later layers.
 *
 * In layer 1 a key depends on its own word, in later layers on all words up to that.
 * @param {Pick<State, "changed">} state */
export const keysStillRight = ({ changed }) => (changed ? [TEXT.length - 1, changed - 1] : [TEXT.length, TEXT.length]);

/** @param {Pick<State, "changed" | "model">} parts */
function stillRight({ changed, model }) {
  const all = TEXT.length;
  if (!changed) return t`All ${all} cached keys are still right. The last word is run again, for its output.`;
  const [inFirst, inLater] = keysStillRight({ changed });
  if (MODELS[model].layers > 1) {
    return inLater === 1
      ? t`Of ${all} cached keys, ${inFirst} are still right in layer 1 and 1 in later layers: 1 row is reused.`
      : t`Of ${all} cached keys, ${inFirst} are still right in layer 1 and ${inLater} in later layers: ${inLater} rows are reused.`;
  }
  return inFirst === inLater
    ? t`Of ${all} cached keys, ${inFirst} are still right, and reused.`
    : t`Of ${all} cached keys, ${inFirst} are still right. But only those before word ${changed} are reused: ${inLater}.`;
}

/** Return what a cell is: "new" (computed for the first time), "again", "kept" (read from the cache), "masked"
 * (computed, masked) or "none".
 * @param {Run} step
 * @param {Part} part
 * @param {number} i
 * @param {number} j
 * @returns {Look | "none"} */
export function cellState({ rows: computed, seen, n }, part, i, j) {
  if (i >= n || (part === "score" && j >= n)) return "none";
  const isComputed = computed.includes(i);
  if (part === "k" || part === "v") return isComputed ? (i < seen ? "again" : "new") : "kept";
  if (!isComputed) return "none";
  if (part === "score" && j > i) return "masked";
  return i < seen ? "again" : "new";
}

/** Return a table of multiply-adds with a cache and without: of this step, and of all steps so far.
 * @param {Shown} state */
function counters(state) {
  const total = (/** @type {boolean} */ cached) => soFar(state, cached, (step) => spent(state, step));
  /** @type {[string, string, number, number][]} */
  const counted = [
    [t`this step`, "step", spent(state, run(state, true)), spent(state, run(state, false))],
    [t`so far`, "total", total(true), total(false)],
  ];
  return html`<table class="qkv-kv-counters">
    <caption>${t`multiply-adds of attention, ${nameOf(state.model)}`}</caption>
    <thead><tr><td></td><th scope="col">${t`with a cache`}</th><th scope="col">${t`without`}</th><th scope="col">${t`ratio`}</th></tr></thead>
    <tbody>${counted.map(
      ([name, key, withCache, without]) => html`<tr>
        <th scope="row">${name}</th>
        <td data-number="${key}-with">${amount(withCache)}</td><td data-number="${key}-without">${amount(without)}</td>
        <td data-number="${key}-ratio">${times(without / withCache)}</td>
      </tr>`,
    )}</tbody>
  </table>`;
}

/** @param {Pick<State, "model" | "token">} state
 * @returns {[number, number]} */
const atToken = ({ model, token }) => [
  sum(attentionMultiplyAdds(MODELS[model], 1, token - 1)),
  sum(attentionMultiplyAdds(MODELS[model], token)),
];

/** @param {Shown} state */
function everyStep(state) {
  return {
    caption: t`Every step: rows computed, multiply-adds, and the cache after it (${nameOf(state.model)})`,
    head: [t`step`, t`reads`, t`rows with`, t`rows without`, t`multiply-adds with`, t`multiply-adds without`, t`cache`],
    rows: Array.from({ length: LAST }, (_, i) => {
      const [cached, plain] = [run(state, true, i + 1), run(state, false, i + 1)];
      return [
        i + 1,
        i + 1 === LAST ? t`the second prompt` : wordsOf(i + 1),
        cached.rows.length,
        plain.rows.length,
        amount(spent(state, cached)),
        amount(spent(state, plain)),
        bytes(kvCacheBytes(MODELS[state.model], cached.n)),
      ];
    }),
  };
}

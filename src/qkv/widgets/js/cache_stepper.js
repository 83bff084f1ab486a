import { live } from "lit-html/directives/live.js";
import {
  button,
  choices,
  dragged,
  html,
  num,
  powersOfTwo,
  remember,
  stepSlider,
  svg,
  tables,
  widget,
  wordAt,
} from "./base.js";
import { attentionMultiplyAdds, kvCacheBytes, reusablePrefix, sum } from "./maths.js";

const TEXT = "the cat chased the mouse because it was hungry".split(" ");
const INSTEAD = "a dog saw a bird while she felt tired".split(" ");
const PROMPT = 3; // words of the prompt, which step 1 reads; each later step reads one word
const LAST = TEXT.length - PROMPT + 2; // the last step reads a second prompt
const PAUSE = 900; // ms between the steps that the reader plays
const [FIRST_LOOK, LOOK] = [3000, 1800]; // ms after the first and each later step that the widget plays by itself
const STILL = { playing: false, shown: 0 }; // the saved step is shown, and nothing plays

/** @import { SetState } from "./base.js" */
/** @import { Model as Sizes } from "./maths.js" */
/** @typedef {{ step: number, changed: number, model: string, token: number, playing: boolean, shown: number }} State */
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
  own: { playing: false, shown: 0 },
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
    const [cached, plain] = [run(state, true), run(state, false)];
    return `${title(state)} With a cache ${rows(cached.rows.length)} computed, ${cost(state, cached)} multiply-adds. Without one ${rows(plain.rows.length)}, ${cost(state, plain)}.`;
  },
  view: (state, set, id) => picture(atShown(state), set, id),
});

const picture = (/** @type {Shown} */ state, /** @type {SetState<State>} */ set, /** @type {string} */ id) => html`
    ${state.step === LAST ? changedWords(state, set, id) : readWords(state, set, id)}
    <p class="qkv-kv-lead"><b data-number="title">${title(state)}</b> <span data-number="notice">${notice(state)}</span></p>
    <div class="qkv-kv-pictures">
      ${sheets(state, id)}
      ${legend}
      ${memory(state)}
    </div>
    ${realModels(state, set, id)}
    ${tables(() => [everyStep(state)])}`;

// ---- playing: the button changes the saved step; playing by itself, once, changes only what this view shows

/** Return the state that this view shows. `shown` is the step that the widget has played to by itself, or 0 if the view
 * shows the saved step.
 * @param {State} parts */
const atShown = ({ step, changed, model, token, playing, shown }) => ({
  step: shown || step,
  changed,
  model,
  token,
  playing,
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
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) watch.observe(root.querySelectorAll(".qkv-kv-sheet")[1]);
  return () => {
    watch.disconnect();
    stop.abort();
  };
}

// ---- what happens in a step

const rows = (/** @type {number} */ count) => (count === 1 ? "1 row is" : `${count} rows are`);
const WRITTEN = LAST - 1; // the step of the last word, where playing stops
/** Return the change of the state at a press on play: the next step, or the first one after the last word.
 * @param {Pick<State, "step">} parts */
const next = ({ step }) =>
  step < WRITTEN ? { step: step + 1, shown: 0, playing: step + 1 < WRITTEN } : { step: 1, shown: 0, playing: true };
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
const cost = (/** @type {Shown} */ state, /** @type {Run} */ step) => amount(spent(state, step));

/** Return the multiply-adds of all steps up to this one.
 * @param {Shown} state
 * @param {boolean} cached */
const spentSoFar = (state, cached) =>
  sum(Array.from({ length: state.step }, (_, i) => spent(state, run(state, cached, i + 1))));

// ---- numbers as text

/** Return a count as text: in full below 10⁶, with million, billion or trillion below 10¹⁵, else as a power of ten.
 * @param {number} count */
function amount(count) {
  const scale = [1e12, 1e9, 1e6].find((size) => count >= size);
  /** @type {Record<number, string>} */
  const names = { 1e12: "trillion", 1e9: "billion", 1e6: "million" };
  return !scale || count >= 1e15 ? num(count) : `${num(count / scale)} ${names[scale]}`;
}

/** @param {number} count */
function bytes(count) {
  const power = count < 1 ? 0 : Math.min(4, Math.floor(Math.log2(count) / 10));
  return `${num(count / 1024 ** power)} ${["bytes", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

const times = (/** @type {number} */ ratio) => `${num(ratio, { places: Number.isInteger(ratio) ? 0 : 2 })} ×`;

// ---- drawing

const unseen = (/** @type {string} */ words) => html`<span class="qkv-unseen">${words}</span>`;

/** @typedef {PointerEvent & { currentTarget: Element }} Press */

/** Return the word under the pointer, if there is one.
 * @param {Press} event */
function pointedAt({ clientX, clientY, currentTarget }) {
  const root = /** @type {Document | ShadowRoot} */ (currentTarget.getRootNode());
  return /** @type {HTMLElement | null | undefined} */ (
    root.elementFromPoint(clientX, clientY)?.closest("[data-step]")
  );
}

/** Return a listener for the words: a press on a word, and a drag along them, is the step that reads it.
 * @param {SetState<State>} set */
const along = (set) =>
  dragged(({ event }) => {
    const word = pointedAt(event);
    if (word) set({ step: Number(word.dataset.step), ...STILL });
  });

/** Let the arrow keys go on from the word on which a press or a drag ends: the area has caught the press, not the word.
 * @param {Press} event */
const goOnFrom = (event) => pointedAt(event)?.querySelector("input")?.focus({ preventScroll: true });

/** Return the words of the text, and the button that plays. A press on a word is the step that reads it; the prompt is
 * read in one step.
 * @param {Shown} parts
 * @param {SetState<State>} set
 * @param {string} id */
const readWords = ({ step, playing }, set, id) => html`<div class="qkv-kv-words">
  <div class="qkv-drag" role="radiogroup" aria-label="read up to" @pointerdown=${along(set)} @pointermove=${along(set)} @pointerup=${goOnFrom}>${Array.from(
    { length: WRITTEN },
    (_, i) => {
      const isRead = i + 1 < step;
      return html`<label class="qkv-kv-chip qkv-pick ${isRead ? "qkv-kv-read" : ""}" data-step=${i + 1}>
      <input class="qkv-over" type="radio" name="${id}-step" .checked=${live(i + 1 === step)} @change=${() => set({ step: i + 1, ...STILL })}>
      ${wordsOf(i + 1)}${isRead ? unseen(", read before") : ""}
    </label>`;
    },
  )}</div>
  <span class="qkv-kv-play">${button({ label: playing ? "pause" : "play", onClick: () => set(playing ? { step, ...STILL } : next({ step })) })}</span>
</div>`;

/** Return the words of the second prompt: a press changes a word. A chip is as wide as the longer of its two words, so
 * that nothing moves.
 * @param {Shown} parts
 * @param {SetState<State>} set
 * @param {string} id */
const changedWords = ({ changed }, set, id) => html`<div class="qkv-kv-words">
  <div role="radiogroup" aria-label="changed word">${[0, ...TEXT.map((_, i) => i + 1)].map(
    (word) => html`<label class="qkv-kv-chip qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-changed" aria-label=${word ? `change ${wordAt(TEXT, word - 1)}` : "no change"} .checked=${live(word === changed)} @change=${() => set({ changed: word })}>
      ${word ? twoWords(TEXT[word - 1], INSTEAD[word - 1], word === changed) : "no change"}
    </label>`,
  )}</div>
</div>`;

const twoWords = (
  /** @type {string} */ word,
  /** @type {string} */ instead,
  /** @type {boolean} */ isChanged,
) => html`<span class="qkv-kv-two">
  <span ?data-hidden=${isChanged}>${word}</span><span ?data-hidden=${!isChanged}>${instead}</span>
</span>`;

/** Return the choice of a real model, and what a token late in a conversation costs there. It is folded away.
 * @param {Shown} state
 * @param {SetState<State>} set
 * @param {string} id */
const realModels = (state, set, id) => {
  const { parameters, bytesPerValue } = MODELS[state.model];
  const [withCache, without] = atToken(state);
  return html`<details class="qkv-tables">
    <summary>Multiply-adds, real models and long texts</summary>
    ${counters(state)}
    ${choices({
      label: "whose work is counted",
      name: `${id}-model`,
      value: state.model,
      options: Object.keys(MODELS).map((name) => ({ value: name, label: name })),
      onChange: (value) => set({ model: value }),
    })}
    ${stepSlider({
      label: "at token",
      value: state.token,
      values: powersOfTwo(17),
      onInput: (token) => set({ token }),
    })}
    <p class="qkv-note qkv-kv-far">A step with a cache: <b data-number="far-with">${amount(withCache)}</b> multiply-adds. Without one:
      <b data-number="far-without">${amount(without)}</b>, <b data-number="far-ratio">${times(without / withCache)}</b> as many. The cache
      takes <b data-number="far-kept-with">${bytes(kvCacheBytes(MODELS[state.model], state.token))}</b>, all parameters
      <b data-number="parameters">${bytes(parameters * bytesPerValue)}</b>.</p>
  </details>`;
};

/** @param {Shown} parts */
function title({ step, changed }) {
  if (step === 1) return `It reads the prompt, ${PROMPT} words.`;
  if (step < LAST) return `It wrote “${TEXT[PROMPT + step - 2]}”, and now reads it.`;
  return changed ? `A second prompt: word ${changed} is another.` : "A second prompt: the same words.";
}

/** Return what there is to notice in a step.
 * @param {Shown} state */
function notice(state) {
  if (state.step === LAST) return stillRight(state);
  if (state.step === 1) return "The cache was empty, so both ways cost the same.";
  return `The cache has k and v of ${reads(state).kept} words, so only the new word needs a row.`;
}

/** Return how many keys of the first text are still right for the second prompt, in layer 1 and in later layers.
 *
 * In layer 1 a key depends on its own word, in later layers on all words up to that.
 * @param {Pick<State, "changed">} state */
export const keysStillRight = ({ changed }) => (changed ? [TEXT.length - 1, changed - 1] : [TEXT.length, TEXT.length]);

/** @param {Shown} parts */
function stillRight({ changed, model }) {
  if (!changed) return `All ${TEXT.length} cached keys are still right. The last word is run again, for its output.`;
  const [inFirst, inLater] = keysStillRight({ changed });
  const right = `Of ${TEXT.length} cached keys, ${inFirst} are still right`;
  if (MODELS[model].layers === 1 && inFirst === inLater) return `${right}, and reused.`;
  if (MODELS[model].layers === 1) return `${right}. But only those before word ${changed} are reused: ${inLater}.`;
  return `${right} in layer 1 and ${inLater} in later layers: ${rows(inLater)} reused.`;
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

// A sheet has one path for each look of cells, coloured by a gradient with a stripe for each part. Hundreds of
// elements, or a path for each part, would take too long on a slow phone.
const [CELL, ROW, TOP, LEFT, GAP] = [21, 15, 30, 58, 5];
const SHEET = 12 * CELL + GAP;
const [WIDTH, HEIGHT] = [LEFT + SHEET, TOP + TEXT.length * ROW];
/** @type {Part[]} */
const PARTS = ["q", "k", "v"];
/** @type {Part[]} */
const EVERY_PART = [...PARTS, "score"];
const columnOf = (/** @type {Part} */ part, /** @type {number} */ j) =>
  part === "score" ? 3 * CELL + GAP + j * CELL : PARTS.indexOf(part) * CELL;
const box = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ w, /** @type {number} */ h) =>
  `M${x} ${y}h${w}v${h}h${-w}z`;

/** Functions that return a cell's path from its upper left corner: full, hatched, a ring with a dot, or a dash.
 * @type {Record<Look, (x: number, y: number) => string>} */
const LOOKS = {
  new: (x, y) => box(x + 1, y + 1, 19, 13),
  again: (x, y) =>
    `${box(x + 1.5, y + 1.5, 18, 12)}M${x + 2} ${y + 9}l7 -7M${x + 4} ${y + 13}l11 -11M${x + 11} ${y + 13}l8 -8`,
  kept: (x, y) => box(x + 1, y + 1, 19, 13) + box(x + 3, y + 3, 15, 9) + box(x + 8.5, y + 5.5, 4, 4),
  masked: (x, y) => box(x + 6, y + 6.75, 9, 1.5),
};
const NOTHING = EVERY_PART.flatMap((part) =>
  TEXT.flatMap((_, i) =>
    (part === "score" ? TEXT : [0]).map((_, j) => box(columnOf(part, j) + 1.5, TOP + i * ROW + 1.5, 18, 12)),
  ),
);

/** The paths of a sheet, each with the kinds of cells in it.
 * @type {Record<string, Look[]>} */
const PAINTED = { full: ["new", "kept"], again: ["again"], masked: ["masked"] };

/** Return the paths of a step, with a cache or without. */
const paths = remember((/** @type {number} */ changed, /** @type {boolean} */ cached, /** @type {number} */ step) => {
  const done = run({ changed }, cached, step);
  const cells = EVERY_PART.flatMap((part) =>
    TEXT.flatMap((_, i) =>
      (part === "score" ? TEXT : [0]).map((_, j) => ({
        is: cellState(done, part, i, j),
        at: /** @type {const} */ ([columnOf(part, j), TOP + i * ROW]),
      })),
    ),
  );
  return Object.entries(PAINTED).map(([name, kinds]) => {
    const drawn = cells.flatMap(({ is, at }) => (is !== "none" && kinds.includes(is) ? [LOOKS[is](...at)] : []));
    return { name, path: drawn.join("") };
  });
}, 40);

/** The gradient's stops: where the colours of q, k, v and the scores begin and end across a sheet. */
const STRIPES = EVERY_PART.flatMap((part, i) => {
  const [from, to] = [columnOf(part, 0), i < 3 ? columnOf(part, 0) + CELL : SHEET];
  return [from, to].map((x) => svg`<stop data-part=${part} offset=${x / SHEET} />`);
});

/** Return the sheets with a cache and without one.
 * @param {Shown} state
 * @param {string} id */
const sheets = (state, id) =>
  [true, false].map((cached) => {
    const done = run(state, cached);
    const count = done.rows.length;
    const words = state.step === LAST ? secondPrompt(state) : TEXT;
    const read = done.start ? `, and the keys and values of ${done.start} read` : "";
    return html`<svg class="qkv-kv-sheet" style="--ink: url(#${id}-parts)" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img"
      aria-label="${cached ? "With" : "Without"} a cache ${rows(count)} computed${read}.">
      ${cached ? svg`<linearGradient id="${id}-parts" gradientUnits="userSpaceOnUse" x1="0" x2=${SHEET}>${STRIPES}</linearGradient>` : ""}
      <text x="0" y="11"><tspan class="qkv-kv-name">${cached ? "with a cache" : "without"}:</tspan> <tspan
        data-number=${cached ? "rows-with" : "rows-without"}>${count}</tspan> of ${done.n} rows computed</text>
      ${words.map(
        (word, i) =>
          svg`<text class="qkv-kv-word" data-unread=${i >= done.n} x=${LEFT - 5} y=${TOP + i * ROW + 11.5}>${word}</text>`,
      )}
      <g transform="translate(${LEFT} 0)">${cells(state, cached)}</g>
    </svg>`;
  });

const cells = (/** @type {Shown} */ { changed, step }, /** @type {boolean} */ cached) => svg`
  ${PARTS.map((part) => svg`<text class="qkv-kv-head" data-part=${part} x=${columnOf(part, 0) + CELL / 2} y=${TOP - 4}>${part}</text>`)}
  <text class="qkv-kv-scores" x=${columnOf("score", 0)} y=${TOP - 4}>scores</text>
  <path class="qkv-kv-nothing" d=${NOTHING.join("")} />
  ${paths(changed, cached, step).map(({ name, path }) => svg`<path class="qkv-kv-cells" data-is=${name} d=${path} />`)}`;

/** Return the cache after this step: a box for the key and the value of every token, full if the cache has it.
 * @param {Shown} state */
function memory(state) {
  const { n, start } = run(state, true);
  const kept = bytes(kvCacheBytes(MODELS[state.model], n));
  const slot = (/** @type {Part} */ part, /** @type {number} */ i) => {
    const is = i < start ? "kept" : i < n ? "new" : "none";
    return html`<i data-part=${part} data-is=${is}></i>`;
  };
  return html`<figure class="qkv-kv-memory">
    <figcaption><span class="qkv-label">in memory: k, v of ${n} tokens</span> <b data-number="kept-with">${kept}</b></figcaption>
    <div class=${state.playing ? "qkv-kv-playing" : ""} role="img" aria-label="In memory: keys and values of ${n} tokens.">${/** @type {Part[]} */ (["k", "v"]).map((part) => html`<em data-part=${part}>${part}</em>${TEXT.map((_, i) => slot(part, i))}`)}</div>
  </figure>`;
}

const swatch = (/** @type {Look} */ is, /** @type {string} */ text) => html`<li>
  <svg viewBox="0 0 21 15" aria-hidden="true"><path class="qkv-kv-cells" data-is=${is} d=${LOOKS[is](0, 0)} /></svg>${text}
</li>`;

const legend = html`<ul class="qkv-kv-legend">
  ${swatch("new", "computed now")} ${swatch("again", "again")} ${swatch("kept", "from the cache")}
</ul>`;

/** Return a table of multiply-adds with a cache and without: of this step, and of all steps so far.
 * @param {Shown} state */
function counters(state) {
  /** @type {[string, string, number, number][]} */
  const counted = [
    ["this step", "step", spent(state, run(state, true)), spent(state, run(state, false))],
    ["so far", "total", spentSoFar(state, true), spentSoFar(state, false)],
  ];
  return html`<table class="qkv-kv-counters">
    <caption>multiply-adds of attention, ${state.model}</caption>
    <thead><tr><td></td><th scope="col">with a cache</th><th scope="col">without</th><th scope="col">ratio</th></tr></thead>
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
    caption: `Every step: rows computed, and multiply-adds (${state.model})`,
    head: ["step", "reads", "rows with", "rows without", "multiply-adds with", "multiply-adds without"],
    rows: Array.from({ length: LAST }, (_, i) => {
      const [cached, plain] = [run(state, true, i + 1), run(state, false, i + 1)];
      return [
        i + 1,
        i + 1 === LAST ? "the second prompt" : wordsOf(i + 1),
        cached.rows.length,
        plain.rows.length,
        cost(state, cached),
        cost(state, plain),
      ];
    }),
  };
}

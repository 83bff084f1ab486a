import {
  button,
  choices,
  html,
  nothing,
  num,
  panel,
  powersOfTwo,
  slider,
  stepSlider,
  svg,
  tables,
  widget,
} from "./base.js";
import { attentionMultiplyAdds, kvCacheBytes, reusablePrefix, sum } from "./maths.js";

const TEXT = "the cat chased the mouse because it was hungry".split(" ");
const INSTEAD = "a dog saw a bird while she felt tired".split(" ");
const PROMPT = 3; // words that step 1 runs at once; after it one word a step, and a second prompt at the end
const LAST = TEXT.length - PROMPT + 2;
const PAUSE = 900;

/** Published configurations; `parameters` are all of them, for the comparison with the cache. */
export const MODELS = {
  "one layer": shape(1, 512, 8, 8, 64, 4 * 512 * 512, 4),
  "GPT-2 small": shape(12, 768, 12, 12, 64, 124_439_808),
  "Llama 2 7B": shape(32, 4096, 32, 32, 128, 6_738_415_616),
  "Llama 3 8B": shape(32, 4096, 32, 8, 128, 8_030_261_248),
  "Llama 3 70B": shape(80, 8192, 64, 8, 128, 70_553_706_496),
  "Falcon 7B": shape(32, 4544, 71, 1, 64, 6_921_720_704),
};

function shape(layers, dModel, heads, kvHeads, dHead, parameters, bytesPerValue = 2) {
  return { layers, dModel, heads, kvHeads, dHead, parameters, bytesPerValue };
}

export default widget("CacheStepper", {
  own: { playing: false },
  setup: ({ state, set }) => {
    const timer = setInterval(() => state.playing && set(next(state)), PAUSE);
    return () => clearInterval(timer);
  },
  says: (state) => {
    const [cached, plain] = [run(state, true), run(state, false)];
    return `${title(state)} With a cache ${rows(cached.rows.length)} computed, ${cost(state, cached)} multiply-adds. Without one ${rows(plain.rows.length)}, ${cost(state, plain)}.`;
  },
  view: (state, set, id) => html`
    ${controls(state, set)}
    ${story(state)}
    <div class="qkv-kv-sheets">${sheet(state, true)} ${sheet(state, false)}</div>
    ${legend}
    ${whose(state, set, id)}
    ${counters(state)}
    ${farOn(state, set)}
    ${tables(() => [everyStep(state)])}`,
});

// ---- what happens in a step

const rows = (count) => (count === 1 ? "1 row is" : `${count} rows are`);
const next = ({ step }) => (step < LAST ? { step: step + 1, playing: step + 1 < LAST } : { step: 1, playing: true });
const secondPrompt = ({ changed }) => TEXT.map((word, i) => (i + 1 === changed ? INSTEAD[i] : word));

/** What one step reads: the words that are in the model by its end, and how many of them are new. */
function reads(state, step = state.step) {
  if (step === LAST) {
    const words = secondPrompt(state);
    // The last word is run in any case: its output is the first thing that is wanted.
    const kept = Math.min(reusablePrefix(TEXT, words), words.length - 1);
    return { words, kept, seen: reusablePrefix(TEXT, words) };
  }
  const kept = step === 1 ? 0 : PROMPT + step - 2;
  return { words: TEXT.slice(0, PROMPT + step - 1), kept, seen: kept };
}

/** One step, with a cache or without: which rows are computed, and how many rows had been computed before. */
export function run(state, cached, step = state.step) {
  const { words, kept, seen } = reads(state, step);
  const start = cached ? kept : 0;
  return { n: words.length, start, seen, rows: words.map((_, i) => i).slice(start) };
}

/** Multiply-adds of a step. */
export const spent = ({ model }, { n, start }) => sum(attentionMultiplyAdds(MODELS[model], n - start, start));
const cost = (state, step) => amount(spent(state, step));

/** All steps up to this one. */
const spentSoFar = (state, cached) =>
  sum(Array.from({ length: state.step }, (_, i) => spent(state, run(state, cached, i + 1))));

// ---- numbers as text

/** A count: whole where it has few digits, in words where it has many. */
function amount(count) {
  const scale = [1e18, 1e15, 1e12, 1e9, 1e6].find((size) => count >= size) ?? 1;
  const names = { 1e18: "quintillion", 1e15: "quadrillion", 1e12: "trillion", 1e9: "billion", 1e6: "million" };
  return scale === 1 || count < 1e8 ? num(count) : `${num(count / scale)} ${names[scale]}`;
}

function bytes(count) {
  const power = count < 1 ? 0 : Math.min(4, Math.floor(Math.log2(count) / 10));
  return `${num(count / 1024 ** power)} ${["bytes", "KiB", "MiB", "GiB", "TiB"][power]}`;
}

const times = (ratio) => `${num(ratio, { places: Number.isInteger(ratio) ? 0 : 2 })} ×`;

// ---- drawing

const controls = (state, set) => html`<div class="qkv-controls">
  ${slider({
    label: "step",
    value: state.step,
    min: 1,
    max: LAST,
    text: `${state.step} of ${LAST}`,
    ends: ["prompt", "second prompt"],
    onInput: (step) => set({ step, playing: false }),
  })}
  <div class="qkv-kv-buttons">
    ${button({ label: "back", disabled: state.step === 1, onClick: () => set({ step: state.step - 1, playing: false }) })}
    ${button({ label: "next", disabled: state.step === LAST, onClick: () => set({ step: state.step + 1, playing: false }) })}
    ${button({ label: state.playing ? "pause" : "play", onClick: () => set(state.playing ? { playing: false } : next(state)) })}
  </div>
  ${slider({
    label: "second prompt",
    value: state.changed,
    min: 0,
    max: TEXT.length,
    text: state.changed ? `${TEXT[state.changed - 1]} → ${INSTEAD[state.changed - 1]}` : "the same",
    ends: ["the same", "another last word"],
    onInput: (changed) => set({ changed }),
  })}
</div>`;

const whose = ({ model }, set, id) => html`<div class="qkv-controls">
  ${choices({
    label: "whose work is counted",
    name: `${id}-model`,
    value: model,
    options: Object.keys(MODELS).map((name) => ({
      value: name,
      label: name === "one layer" ? "one layer, width 512" : name,
    })),
    onChange: (value) => set({ model: value }),
  })}
</div>`;

function title({ step, changed }) {
  if (step === 1) return `Step 1: the model reads the prompt, ${PROMPT} words at once.`;
  if (step < LAST) return `Step ${step}: it has written “${TEXT[PROMPT + step - 2]}”, and reads it to write on.`;
  const what = changed ? `in which word ${changed} is another` : "which is the same";
  return `Step ${LAST}: a second prompt comes, ${what}.`;
}

/** The text of this step, marked where it is run with a cache, and what the second prompt finds. */
function story(state) {
  const { words, kept } = reads(state);
  const text = state.step === LAST ? words : TEXT;
  return html`<p class="qkv-kv-title" data-number="title">${title(state)}</p>
    <p class="qkv-kv-text">${text.map((word, i) => {
      const isRun = i >= kept && i < words.length;
      return html`<span class=${isRun ? "qkv-kv-now" : ""}>${word}</span> `;
    })}</p>
    <p class="qkv-note" data-number="still-right">${stillRight(state)}</p>`;
}

/** How many keys of the first text a second prompt leaves right, in layer 1 and in later layers.
 *
 * In layer 1 a key depends on one word; in later layers on all words up to it. */
export const keysStillRight = ({ changed }) => (changed ? [TEXT.length - 1, changed - 1] : [TEXT.length, TEXT.length]);

function stillRight({ step, changed }) {
  const [inFirst, inLater] = keysStillRight({ changed });
  const found = `of ${TEXT.length} cached keys, ${inFirst} still right in layer 1 and ${inLater} in later layers`;
  if (step === LAST) return `The cache from the first text: ${found}.`;
  return `Then a second prompt, with ${changed ? `${INSTEAD[changed - 1]} for ${TEXT[changed - 1]}` : "nothing changed"}: ${found}.`;
}

/** What a cell is: computed now, computed again, read from the cache, computed and then masked, or not there. */
export function cellState({ rows: computed, seen, n }, part, i, j) {
  if (i >= n || (part === "score" && j >= n)) return "none";
  const isComputed = computed.includes(i);
  if (part === "k" || part === "v") return isComputed ? (i < seen ? "again" : "new") : "kept";
  if (!isComputed) return "none";
  if (part === "score" && j > i) return "masked";
  return i < seen ? "again" : "new";
}

// A sheet is drawn as one path for each kind of cell: hundreds of elements would take too long on a slow phone.
const [CELL, ROW, TOP, LEFT] = [20, 17, 60, 62];
const WIDTH = LEFT + 12 * CELL + 6;
const PARTS = ["q", "k", "v"];
const columnOf = (part, j) => LEFT + (part === "score" ? 3 * CELL + 6 + j * CELL : PARTS.indexOf(part) * CELL);
const box = (x, y, w, h) => `M${x} ${y}h${w}v${h}h${-w}z`;

/** What a cell looks like, from its upper left corner: full, hatched, a ring with a dot, or four dots. */
const LOOKS = {
  new: (x, y) => box(x + 1, y + 1, 18, 15),
  again: (x, y) =>
    `${box(x + 1.5, y + 1.5, 17, 14)}M${x + 2} ${y + 9}l7 -7M${x + 3} ${y + 15}l13 -13M${x + 11} ${y + 15}l7 -7`,
  kept: (x, y) => box(x + 1, y + 1, 18, 15) + box(x + 3, y + 3, 14, 11) + box(x + 8, y + 6.5, 4, 4),
  masked: (x, y) => [5, 9, 13].flatMap((dx) => [4, 8, 12].map((dy) => box(x + dx, y + dy, 1.5, 1.5))).join(""),
};
const NOTHING = PARTS.concat("score").flatMap((part) =>
  TEXT.flatMap((_, i) =>
    (part === "score" ? TEXT : [0]).map((_, j) => box(columnOf(part, j) + 1.5, TOP + i * ROW + 1.5, 17, 14)),
  ),
);

/** The cells of one part and one kind, as a single path. */
function cells(step, part, is) {
  const columns = part === "score" ? TEXT.length : 1;
  let path = "";
  for (let i = 0; i < TEXT.length; i++) {
    for (let j = 0; j < columns; j++) {
      if (cellState(step, part, i, j) === is) path += LOOKS[is](columnOf(part, j), TOP + i * ROW);
    }
  }
  return svg`<path class="qkv-kv-cells" data-part=${part} data-is=${is} d=${path} />`;
}

function sheet(state, cached) {
  const step = run(state, cached);
  const words = state.step === LAST ? secondPrompt(state) : TEXT;
  const read = step.start ? `, and the keys and values of ${step.start} read from the cache` : "";
  const label = `${cached ? "With" : "Without"} a cache ${rows(step.rows.length)} computed${read}.`;
  const middle = (part, j = 0) => columnOf(part, j) + CELL / 2;
  return panel({
    title: html`<span class="qkv-kv-name">${cached ? "with a cache" : "without"}</span>`,
    reading: html`<b data-number=${cached ? "rows-with" : "rows-without"}>${step.rows.length}</b>
      <small>of ${step.n} ${step.n === 1 ? "row" : "rows"} computed</small>`,
    drawing: html`<svg class="qkv-kv-sheet" viewBox="0 0 ${WIDTH} ${TOP + TEXT.length * ROW}" role="img" aria-label=${label}>
      <path class="qkv-kv-nothing" d=${NOTHING.join("")} />
      ${PARTS.map((part) => svg`<text class="qkv-kv-head" data-part=${part} x=${middle(part)} y=${TOP - 5}>${part}</text>`)}
      ${words.map(
        (word, j) => svg`
          <text class="qkv-kv-key" data-unread=${j >= step.n} transform="translate(${middle("score", j) + 4} ${TOP - 4}) rotate(-90)">${word}</text>
          <text class="qkv-kv-query" data-unread=${j >= step.n} x=${LEFT - 5} y=${TOP + j * ROW + 13}>${word}</text>`,
      )}
      ${[...PARTS, "score"].map((part) => Object.keys(LOOKS).map((is) => cells(step, part, is)))}
    </svg>`,
  });
}

const swatch = (part, is, text) => html`<li>
  <svg viewBox="0 0 20 17" aria-hidden="true"><path class="qkv-kv-cells" data-part=${part} data-is=${is} d=${LOOKS[is](0, 0)} /></svg>${text}
</li>`;

const legend = html`<ul class="qkv-kv-legend">
  ${swatch("k", "new", "computed now")} ${swatch("k", "again", "computed once more")}
  ${swatch("k", "kept", "read from the cache")} ${swatch("score", "masked", "computed, then masked")}
</ul>`;

const counterTable = (caption, body) => html`<div class="qkv-scroll"><table class="qkv-kv-counters">
  <caption class="qkv-unseen">${caption}</caption>
  <thead><tr><td></td><th scope="col">with a cache</th><th scope="col">without</th><th scope="col">without ÷ with</th></tr></thead>
  <tbody>${body.map(
    ([name, key, withCache, without, ratio]) => html`<tr>
      <th scope="row">${name}</th>
      <td data-number="${key}-with">${withCache}</td><td data-number="${key}-without">${without}</td>
      <td data-number="${key}-ratio">${ratio ?? nothing}</td>
    </tr>`,
  )}</tbody>
</table></div>`;

function counters(state) {
  const [cached, plain] = [run(state, true), run(state, false)];
  const [now, nowPlain] = [spent(state, cached), spent(state, plain)];
  const [all, allPlain] = [spentSoFar(state, true), spentSoFar(state, false)];
  return counterTable(`Multiply-adds and bytes up to step ${state.step}`, [
    ["multiply-adds in this step", "step", amount(now), amount(nowPlain), times(nowPlain / now)],
    ["in all steps so far", "total", amount(all), amount(allPlain), times(allPlain / all)],
    ["kept for the next step", "kept", bytes(kvCacheBytes(MODELS[state.model], cached.n)), "nothing"],
  ]);
}

/** The same model, far on in a conversation. */
function farOn({ model, token }, set) {
  const [withCache, without] = [
    sum(attentionMultiplyAdds(MODELS[model], 1, token - 1)),
    sum(attentionMultiplyAdds(MODELS[model], token)),
  ];
  const { parameters, bytesPerValue } = MODELS[model];
  return html`<div class="qkv-kv-far">
    ${stepSlider({ label: "and far on in a conversation, at token", value: token, values: powersOfTwo(17), onInput: (value) => set({ token: value }) })}
    ${counterTable(`Token ${token} of a conversation`, [
      ["multiply-adds for this token", "far", amount(withCache), amount(without), times(without / withCache)],
      ["kept for the next", "far-kept", bytes(kvCacheBytes(MODELS[model], token)), "nothing"],
    ])}
    <p class="qkv-note">For comparison, all parameters of this model take <span data-number="parameters">${bytes(parameters * bytesPerValue)}</span>.
      Counted is attention in all its layers: the four projections, the scores and the mixing.</p>
  </div>`;
}

function everyStep(state) {
  const words = (step) =>
    step === LAST ? "the second prompt" : TEXT.slice(step === 1 ? 0 : PROMPT + step - 2, PROMPT + step - 1).join(" ");
  return {
    caption: `Every step: rows computed, and multiply-adds (${state.model})`,
    head: ["step", "reads", "rows with", "rows without", "multiply-adds with", "multiply-adds without"],
    rows: Array.from({ length: LAST }, (_, i) => {
      const [cached, plain] = [run(state, true, i + 1), run(state, false, i + 1)];
      return [i + 1, words(i + 1), cached.rows.length, plain.rows.length, cost(state, cached), cost(state, plain)];
    }),
  };
}

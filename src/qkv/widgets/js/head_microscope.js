import { live } from "lit-html/directives/live.js";
import {
  button,
  choices,
  curve,
  dragged,
  gripMark,
  html,
  nearestOf,
  num,
  panel,
  partAt,
  plot,
  readings,
  remember,
  rule,
  slider,
  stepSlider,
  tables,
  widget,
  words,
  xAxis,
  yAxis,
} from "./base.js";
import { heatmap, whenColoursChange } from "./heatmap.js";
import { headScores, idsOf, intervene, moved, nextChances, repeatedLoss, SYMBOLS } from "./repeater.js";
import { linear } from "./scales.js";
import { HISTORY, LAST, loadEarlier, theMeans, theRepeater } from "./trained_repeater.js";

const HEADS = [0, 1, 2, 3];
const MODES = ["on", "zeros", "mean", "other text"];
const LIKELIEST = 3; // predictions that are shown

/** @import { Weights } from "./repeater.js" */
/** @typedef {{ symbols: string, position: number, head: number, modes: string[], step: number, repainted: number,
 *   earlier: Weights | null, failed: boolean }} State */

export default widget("HeadMicroscope", {
  own: { repainted: 0, earlier: null, failed: false }, // the weights of earlier steps, and whether loading them failed
  setup: ({ state, set, eachDrawing }) => {
    eachDrawing(loader(state, set));
    return whenColoursChange(() => set({ repainted: state.repainted + 1 }));
  },
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return `${predictionText(seen)} ${attentionText(seen)} ${lossText(seen)}`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`${text(seen, set)}
      <p class="qkv-scope-next">${predictionText(seen)}</p>
      <div class="qkv-scope">
        <div class="qkv-scope-maps">${HEADS.map((head) => map(head, state, seen, set))}</div>
        <div class="qkv-scope-controls">
          <div class="qkv-scope-heads">
            ${choices({
              label: "head (layer.head)",
              name: `${id}-scope-head`,
              value: state.head,
              options: HEADS.map((value) => ({ value, label: named(value, state.modes[value]) })),
              onChange: (head) => set({ head }),
            })}
            ${button({ label: "all on", disabled: seen.modes === ALL_ON, onClick: () => set({ modes: ALL_ON }) })}
          </div>
          ${choices({
            label: `output of head ${short(state.head)}`,
            name: `${id}-scope-mode`,
            value: state.modes[state.head],
            options: MODES.map((value) => ({ value, label: value })),
            onChange: (mode) => set({ modes: state.modes.map((now, head) => (head === state.head ? mode : now)) }),
          })}
          ${numbers(seen)}
          <div class="qkv-scope-place">
            ${slider({
              label: "position",
              value: seen.at + 1,
              min: 1,
              max: seen.n,
              text: `${seen.at + 1} of ${seen.n}: ${symbol(seen.ids[seen.at])}`,
              onInput: (value) => set({ position: value - 1 }),
            })}
            <label class="qkv-control qkv-scope-typed"><span class="qkv-label">${fieldLabel(state.symbols)}</span>
              <input type="text" maxlength="32" autocomplete="off" autocapitalize="characters" spellcheck="false"
                .value=${live(state.symbols)} @input=${({ target }) => set({ symbols: target.value, position: -1 })}></label>
          </div>
        </div>
        ${training(state, set)}
      </div>
      <p class="qkv-note">Press a symbol or a row. <b>previous</b>: mean weight on the symbol before. <b>induction</b>: mean weight on the symbol
        after the last equal one. Other text: ${moved(seen.ids).map(symbol).join("")}. Curves: 64 texts.</p>
      ${tables(() => [table(seen)])}`;
  },
});

/** Return a callback for each drawing, which loads the weights of earlier steps when such a step is shown. If that
 * fails, it tries again at another step. */
function loader(state, set) {
  let tried = LAST;
  const load = async () => {
    if (state.earlier || state.step === tried) return;
    tried = state.step;
    if (tried === LAST) return;
    try {
      const earlier = await loadEarlier();
      set({ earlier, failed: false });
    } catch {
      set({ failed: true });
    }
  };
  load();
  return load;
}

const symbol = (id) => SYMBOLS[id];
/** Return a head's short name, such as "2.1" for head 1 of layer 2. */
const short = (head) => `${1 + Math.floor(head / 2)}.${1 + (head % 2)}`;
/** Return a head's name, struck out if its output is replaced. */
const named = (head, mode) =>
  mode === "on" ? short(head) : html`<s>${short(head)}</s><span class="qkv-unseen"> replaced</span>`;
const shown = (number) => num(number, { places: 2 });

/* ---- the model's output for a state */

const read = remember((symbols) => {
  const ids = idsOf(symbols);
  return ids.length < 2 ? idsOf("AB") : ids;
});

const ran = remember((model, ids, modes) => {
  const { logits, ...places } = intervene(model, ids, modes, modes.includes("mean") ? theMeans(model) : {});
  const n = ids.length;
  const maps = HEADS.map((head) => {
    const start = (head % 2) * n * n;
    return places[`${Math.floor(head / 2)}.attention.weights`].subarray(start, start + n * n);
  });
  return { logits, maps, scores: maps.map((weights) => headScores(weights, ids)), loss: repeatedLoss(logits, ids) };
}, 8);

const ALL_ON = HEADS.map(() => "on");

/** Return the label of the text field: the symbols that it takes, or what is wrong with the text. */
function fieldLabel(text) {
  const others = [...new Set(text.toUpperCase().replace(/\s/g, ""))].filter((letter) => !SYMBOLS.includes(letter));
  if (others.length) return html`<b>left out: ${others.slice(0, 6).join(" ")}</b>`;
  return idsOf(text).length < 2 ? html`<b>too short: AB</b>` : "text: A to Z, 1 to 6";
}

/** Return the values that the drawing of a state needs. */
function computed(state) {
  const ids = read(state.symbols);
  const n = ids.length;
  const at = state.position < 0 || state.position >= n ? n - 1 : state.position;
  const modes = state.modes.every((mode) => mode === "on") ? ALL_ON : state.modes;
  const shown = isLoaded(state) ? state.step : LAST;
  const model = theRepeater(shown, state.earlier);
  const run = ran(model, ids, modes);
  const chances = nextChances(run.logits, at);
  const best = [...chances.keys()].sort((a, b) => chances[b] - chances[a]).slice(0, LIKELIEST);
  const row = run.maps[state.head].subarray(at * n, (at + 1) * n);
  const intact = ran(model, ids, ALL_ON).loss;
  return { ...run, ids, n, at, row, chances, best, modes, head: state.head, intact, missing: missing(state) };
}

/** Check whether the weights of the state's step are loaded; those of the last step always are. */
const isLoaded = ({ step, earlier }) => step === LAST || earlier !== null;

function missing(state) {
  if (isLoaded(state)) return "";
  if (state.failed) return `Step ${state.step} did not load. Try another step.`;
  return `Step ${state.step} is loading.`;
}

const predictionText = ({ ids, at, best, chances, missing }) =>
  missing || `After ${symbol(ids[at])} comes ${best.map((id) => `${symbol(id)} (${shown(chances[id])})`).join(", ")}.`;

const attentionText = ({ head, ids, row }) => {
  const most = row.indexOf(Math.max(...row));
  return `Head ${short(head)} looks most at position ${most + 1}, ${symbol(ids[most])}, weight ${shown(row[most])}.`;
};

const lossText = ({ loss }) =>
  Number.isNaN(loss) ? "Nothing repeats." : `Surprise where the text repeats: ${shown(loss)} nats.`;

/* ---- the text */

/** Return the symbols, shaded by the weights of the chosen head. A press on a symbol makes it the query. */
const text = (
  { ids, at, row },
  set,
) => html`<div class="qkv-scope-text" role="group" aria-label="the text: choose a position">
  ${ids.map(
    (
      id,
      i,
    ) => html`<button type="button" class=${i === at ? "qkv-scope-symbol qkv-scope-asks" : "qkv-scope-symbol"} aria-pressed=${i === at}
      style="--qkv-p: ${Math.round(1000 * row[i]) / 1000}" @click=${() => set({ position: i })}>${symbol(id)}</button>`,
  )}
</div>`;

/* ---- the heads */

/** Return a head's weights as a map. A press or a drag in it chooses the head and the query. */
function map(head, state, { n, at, maps, scores, modes }, set) {
  const weights = maps[head];
  const grab = dragged(({ y }) => set({ head, position: partAt(y, n) }));
  const picture = heatmap({
    label: `Weights of head ${short(head)}: previous token ${shown(scores[head].previous)}, induction ${shown(scores[head].induction)}.`,
    rows: (i) => weights.subarray(i * n, (i + 1) * n),
    width: n,
    height: n,
    key: weights,
    repainted: state.repainted,
  });
  return html`<figure class="qkv-scope-head ${head === state.head ? "qkv-scope-chosen" : ""} ${modes[head] === "on" ? "" : "qkv-scope-out"}">
    <div class="qkv-scope-map" @pointerdown=${grab} @pointermove=${grab}>
      ${picture}<div class="qkv-looked-at" style="top: ${(100 * at) / n}%; height: ${100 / n}%"></div>
    </div>
    <figcaption><b>${short(head)}</b><span>${modes[head] === "on" ? "" : modes[head]}</span>
      <span>previous <b>${shown(scores[head].previous)}</b></span>
      <span>induction <b>${shown(scores[head].induction)}</b></span></figcaption>
  </figure>`;
}

const nats = (loss) => (Number.isNaN(loss) ? "–" : shown(loss));

const numbers = ({ loss, intact }) =>
  readings([["surprise where the text repeats", nats(loss), `nats; with all heads on ${nats(intact)}`]]);

const table = ({ ids, at, maps, chances }) => ({
  caption: `Weights of position ${at + 1}, and the chance that the symbol comes next`,
  head: ["position", ...HEADS.map((head) => `head ${short(head)}`), "chance that it comes next"],
  rows: ids.map((id, i) => [
    `${i + 1}: ${symbol(id)}`,
    ...maps.map((weights) => shown(weights[at * ids.length + i])),
    shown(chances[id]),
  ]),
});

/* ---- the training */

const { steps: STEPS, loss: LOSS, previous: PREVIOUS, induction: INDUCTION } = HISTORY;
const NAMED = [0, 200, 250, 300, 500, 1500];
const LARGEST = 4; // nats: the loss is drawn as a share of this

const across = linear([0, STEPS.length - 1], [0, 100]); // by index in the list: half of its steps are before step 300
const up = linear([0, 1], [100, 0]);
const pointsOf = (values) => values.map((value, i) => [across(i), up(value)]);
const CURVES = [
  ["qkv-scope-loss", pointsOf(LOSS.map((loss) => loss / LARGEST))],
  ["qkv-scope-previous", pointsOf(PREVIOUS)],
  ["qkv-scope-induction", pointsOf(INDUCTION)],
];

/** Return the curves of the training. They were measured on 64 other texts at each step, and need no weights. */
function training({ step }, set) {
  const i = STEPS.indexOf(step);
  const drag = dragged(({ x }) => set({ step: STEPS[nearestOf([...STEPS.keys()], x * (STEPS.length - 1))] }));
  const label = `Loss where texts repeat, previous-token score and induction score after ${STEPS.length} numbers of training steps. After ${step}: loss ${shown(LOSS[i])}, previous token ${shown(PREVIOUS[i])}, induction ${shown(INDUCTION[i])}.`;
  return html`<div class="qkv-scope-training">
    ${panel({
      title: "in training",
      reading: html`loss <b>${shown(LOSS[i])}</b>, induction <b>${shown(INDUCTION[i])}</b>`,
      drawing: plot({ label, kind: "qkv-scope-plot", onDrag: drag, marks: trainingMarks(i) }),
    })}
    ${stepSlider({
      label: "training step",
      value: step,
      values: STEPS,
      text: `${num(step)} of ${num(LAST)}`,
      onInput: (step) => set({ step }),
    })}
  </div>`;
}

const trainingMarks = (i) => [
  yAxis({ scale: up, ticks: [0, 0.5, 1], named: [0, 1] }),
  xAxis({ scale: (step) => across(STEPS.indexOf(step)), ticks: NAMED, format: (tick) => num(tick), title: "" }),
  rule({ x1: across(i), x2: across(i), kind: "qkv-here" }),
  CURVES.map(([kind, points]) => curve({ points, kind })),
  words({ x: 1, y: up(0.66), anchor: "start", content: `loss / ${LARGEST}` }),
  words({ x: 94, y: up(0.7), anchor: "end", kind: "qkv-scope-induction", content: "induction" }),
  words({ x: 68, y: up(0.63), anchor: "end", content: "previous token" }),
  gripMark({ x: across(i), y: up(INDUCTION[i]), kind: "qkv-scope-induction" }),
];

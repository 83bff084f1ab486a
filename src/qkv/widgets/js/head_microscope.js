import { live } from "lit-html/directives/live.js";
import {
  button,
  choices,
  curve,
  dotMark,
  dragged,
  gripMark,
  html,
  nearestOf,
  num,
  panel,
  partAt,
  pct,
  plot,
  remember,
  rule,
  svg,
  t,
  tables,
  widget,
  words,
  yAxis,
} from "./base.js";
import { heatmap, whenColoursChange } from "./heatmap.js";
import { afterTheLast, headScores, idsOf, intervene, moved, nextChances, repeatedLoss, SYMBOLS } from "./repeater.js";
import { linear } from "./scales.js";
import { HISTORY, LAST, loadEarlier, theMeans, theRepeater } from "./trained_repeater.js";

const HEADS = [0, 1, 2, 3];
/** What can replace the output of a head.
 * @type {Record<string, () => string>} */
const MODES = {
  on: () => t`on`,
  zeros: () => t`zeros`,
  mean: () => t`mean`,
  "other text": () => t`other text`,
};
const LIKELIEST = 2; // predictions that are shown
const SEEN = 0.02; // a second prediction with a smaller chance is not shown
const GUESS = Math.log(SYMBOLS.length); // the loss of an even guess
const [WELL, BADLY] = [0.25, 0.9]; // the model repeats well, or badly, up to these shares of that loss

/** @import { SetState } from "./base.js" */
/** @import { Repeater } from "./repeater.js" */
/** @import { Weights } from "./safetensors.js" */
/** @typedef {ReturnType<typeof computed>} Seen */
/** @typedef {"previous" | "induction"} Score */
/** @typedef {{ symbols: string, position: number, head: number, modes: string[], step: number, repainted: number,
 *   earlier: Weights | null, failed: boolean, apart: number }} State */

export default widget("HeadMicroscope", {
  // The weights of earlier steps, whether loading them failed, and how far the query is from the pointer that drags it.
  own: { repainted: 0, earlier: null, failed: false, apart: 0 },
  setup: ({ state, set, eachDrawing }) => {
    eachDrawing(loader(state, set));
    return whenColoursChange(() => set({ repainted: state.repainted + 1 }));
  },
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return `${lastTimeText(seen)} ${predictionText(seen)} ${attentionText(seen)} ${seen.modes === ALL_ON ? "" : arcText(seen)} ${lossText(seen)}`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`<div class="qkv-scope">
        ${prediction(seen)}
        ${tape(state, seen, set)}
        ${lossBar(seen)}
        ${maps(state, seen, set)}
      </div>
      <details class="qkv-tables">
        <summary>${t`Training, and a text of your own`}</summary>
        ${replacing(state, set, id)}
        ${training(state, seen, set)}
        <label class="qkv-control qkv-scope-typed"><span class="qkv-label">${fieldLabel(state.symbols)}</span>
          <input type="text" maxlength="32" autocomplete="off" autocapitalize="characters" spellcheck="false"
            .value=${live(state.symbols)} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ symbols: target.value, position: -1 })}></label>
      </details>
      ${tables(() => [weightsTable(seen), scoresTable(seen)])}`;
  },
});

/** Return a callback for each drawing, which loads the weights of earlier steps when such a step is shown. If that
 * fails, it tries again at another step.
 * @param {State} state
 * @param {SetState<State>} set */
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

const symbol = (/** @type {number} */ id) => SYMBOLS[id];
/** Return a head's short name, such as "2.1" for head 1 of layer 2.
 * @param {number} head */
const short = (head) => `${1 + Math.floor(head / 2)}.${1 + (head % 2)}`;
const shown = (/** @type {number} */ number) => num(number, { places: 2 });

/* ---- the model's output for a state */

const read = remember((/** @type {string} */ symbols) => {
  const ids = idsOf(symbols);
  return ids.length < 2 ? idsOf("AB") : ids;
});

const ran = remember((/** @type {Repeater} */ model, /** @type {number[]} */ ids, /** @type {string[]} */ modes) => {
  const { logits, ...places } = intervene(model, ids, modes, modes.includes("mean") ? theMeans(model) : {});
  const n = ids.length;
  const maps = HEADS.map((head) => {
    const start = (head % 2) * n * n;
    return places[`${Math.floor(head / 2)}.attention.weights`].subarray(start, start + n * n);
  });
  return { logits, maps, scores: maps.map((weights) => headScores(weights, ids)), loss: repeatedLoss(logits, ids) };
}, 8);

const ALL_ON = HEADS.map(() => "on");

/** Return the label of the text field: the symbols that it takes, or what is wrong with the text.
 * @param {string} text */
function fieldLabel(text) {
  const others = [...new Set(text.toUpperCase().replace(/\s/g, ""))].filter((letter) => !SYMBOLS.includes(letter));
  if (others.length) return html`<b>${t`left out: ${others.slice(0, 6).join(" ")}`}</b>`;
  return idsOf(text).length < 2 ? html`<b>${t`too short: ${"AB"}`}</b>` : t`text of A–Z and 1–6`;
}

/** Return the values that the drawing of a state needs.
 * @param {State} state */
function computed(state) {
  const ids = read(state.symbols);
  const n = ids.length;
  const at = state.position < 0 || state.position >= n ? n - 1 : state.position;
  const modes = state.modes.every((mode) => mode === "on") ? ALL_ON : state.modes;
  const shown = isLoaded(state) ? state.step : LAST;
  const model = theRepeater(shown, state.earlier);
  const run = ran(model, ids, modes);
  const chances = nextChances(run.logits, at);
  const likeliest = [...chances.keys()].sort((a, b) => chances[b] - chances[a]).slice(0, LIKELIEST);
  const best = likeliest.filter((id) => chances[id] >= SEEN);
  const row = run.maps[state.head].subarray(at * n, (at + 1) * n);
  const { loss: intact, maps } = ran(model, ids, ALL_ON);
  const before = maps[state.head].subarray(at * n, (at + 1) * n);
  const next = afterTheLast(ids);
  return {
    ...run,
    ids,
    n,
    at,
    row,
    before,
    next,
    chances,
    best,
    modes,
    head: state.head,
    intact,
    missing: missing(state),
  };
}

/** Check whether the weights of the state's step are loaded; those of the last step always are.
 * @param {State} parts */
const isLoaded = ({ step, earlier }) => step === LAST || earlier !== null;

/** @param {State} state */
function missing(state) {
  if (isLoaded(state)) return "";
  if (state.failed) return t`Step ${state.step} did not load. Try another step.`;
  return t`Step ${state.step} is loading.`;
}

/** Return what came after the symbol at its last occurrence, which is what a text that repeats goes on with.
 * @param {Seen} parts */
function lastTimeText({ ids, at, next }) {
  if (next[at] < 0) return t`${symbol(ids[at])} is new here: a guess.`;
  return t`Last time, ${symbol(ids[next[at]])} came after ${symbol(ids[at])}.`;
}

/** @param {Seen} seen */
function predictionText({ best, chances, missing, modes }) {
  if (missing) return missing;
  const [first, second] = best.map((id) => t`${symbol(id)} (${shown(chances[id])})`);
  const predicted = second ? t`${first} or ${second}` : first;
  const silent = HEADS.filter((head) => modes[head] === "zeros");
  if (silent.length === 0) return t`The model predicts ${predicted}.`;
  return silent.length === 1
    ? t`Without head ${short(silent[0])}: ${predicted}.`
    : t`Without ${silent.length} heads: ${predicted}.`;
}

const attentionText = (/** @type {Seen} */ { head, ids, row }) => {
  const to = most(row);
  return t`Head ${short(head)} looks most at position ${to + 1}, ${symbol(ids[to])}, weight ${shown(row[to])}.`;
};

const most = (/** @type {Float64Array} */ row) => row.indexOf(Math.max(...row));

/** Check whether the thickest arc leads to what followed last time, which is what the model copies.
 * @param {Seen} parts */
const isCopied = ({ before, next, at }) => most(before) === next[at];

/** Check whether the widget asks for head 1.1: all heads are on, and the arcs are those of a head that reads it, and copies.
 * @param {Seen} seen */
const isAsked = (seen) => seen.modes === ALL_ON && seen.head >= 2 && isCopied(seen);

/** Return a question before a head is replaced; then what has become of the arc that copies.
 * @param {Seen} seen */
function arcText(seen) {
  const { head, ids, row, before, modes } = seen;
  if (isAsked(seen)) return t`Silence 1.1: which arc breaks?`;
  if (modes === ALL_ON) return t`Press a map to silence its head.`;
  if (modes[head] !== "on") return t`Head ${short(head)} is cut off.`;
  if (!isCopied(seen)) return t`No arc copies here.`;
  const to = most(before);
  return row[to] < before[to] / 2 ? t`The arc to ${symbol(ids[to])} breaks.` : t`The arc to ${symbol(ids[to])} holds.`;
}

/** Return how well the model repeats the whole text, in words, with its loss.
 * @param {Seen} parts
 * @param {unknown} [bold] the loss, if it is not to be plain text */
function lossText({ loss, intact, modes }, bold = shown(loss)) {
  if (Number.isNaN(loss)) return t`Nothing repeats.`;
  const numbers = modes === ALL_ON ? bold : t`${shown(intact)} → ${bold}`;
  if (loss < WELL * GUESS) return t`Whole text: loss ${numbers} nats, good.`;
  return loss < BADLY * GUESS
    ? t`Whole text: loss ${numbers} nats, bad.`
    : t`Whole text: loss ${numbers} nats, a guess.`;
}

/* ---- the text */

/** Return the symbols in one line, shaded by the weights of the chosen head, and an arc from the query to each symbol that
 * it looks at; grey and dotted if the head's output is replaced. A press or a drag on the symbols or on the lane below them chooses the query. The ring, and the arcs, are
 * moved with the pointer.
 * @param {State} state
 * @param {Seen} parts
 * @param {SetState<State>} set */
function tape(state, { ids, n, at, row, before, head, modes }, set) {
  const grab = dragged(({ x, isPress, event }) => {
    const isHeld = isPress && /** @type {Element} */ (event.target).closest(".qkv-scope-arcs, .qkv-scope-ring");
    const apart = isPress ? (isHeld ? at + 0.5 - x * n : 0) : state.apart;
    set({ apart, position: Math.max(0, partAt(x + apart / n, n)) });
  });
  return html`<div class="qkv-scope-tape qkv-drag ${modes[head] === "on" ? "" : "qkv-scope-unused"}" style="--n: ${n}; --at: ${(at + 0.5) / n}" @pointerdown=${grab} @pointermove=${grab}>
    <div class="qkv-scope-arcs">
      <small aria-hidden="true">${t`arcs: head ${short(head)}`}</small>
      <svg viewBox="0 0 ${n} 10" preserveAspectRatio="none" aria-hidden="true">${[...before.keys()].map((i) => (modes[head] === "on" && before[i] - row[i] > BROKEN ? arc(i, at, n, before[i], "qkv-scope-before") : ""))}${[...row.keys()].map((i) => arc(i, at, n, row[i]))}</svg>
    </div>
    <div class="qkv-scope-text">${ids.map((id, i) => html`<span class=${i === at ? "qkv-scope-asks" : ""} style="--qkv-p: ${Math.round(1000 * row[i]) / 1000}">${symbol(id)}</span>`)}
      <input class="qkv-over" type="range" aria-label=${t`position`} min="1" max=${n} aria-valuetext=${t`${at + 1} of ${n}: ${symbol(ids[at])}`}
        .value=${live(String(at + 1))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ position: target.valueAsNumber - 1 })}></div>
    <div class="qkv-scope-lane"><i class="qkv-knob qkv-scope-ring" aria-hidden="true">↔</i></div>
  </div>`;
}

const SURE = 0.5; // a smaller chance is a guess

/** Return the symbol that the model predicts, large, and what came after the query last time. The symbol's box is filled as
 * high as its chance; a guess has a question mark.
 * @param {Seen} seen */
const prediction = (seen) => html`<div class="qkv-scope-says">
  <p class="qkv-scope-symbols" aria-hidden="true"><b class="qkv-scope-from">${symbol(seen.ids[seen.at])}</b> → <b class="qkv-scope-to" style="--qkv-p: ${Math.round(100 * seen.chances[seen.best[0]]) / 100}">${seen.missing ? "…" : symbol(seen.best[0])}${seen.chances[seen.best[0]] < SURE ? "?" : ""}</b></p>
  <div>
    <p class="qkv-scope-next">${predictionText(seen)}</p>
    <p class="qkv-scope-last">${lastTimeText(seen)}</p>
  </div>
</div>`;

/** Return the loss on this text as a bar, with a mark at the loss of a guess.
 * @param {Seen} seen */
function lossBar(seen) {
  const share = (/** @type {number} */ loss) => Math.round(1000 * Math.min(1, loss / LARGEST)) / 1000 || 0;
  return html`<div class="qkv-scope-bar">
    <p class="qkv-scope-surprise">${lossText(seen, html`<b>${shown(seen.loss)}</b>`)}</p>
    <i class="qkv-filled" aria-hidden="true" style="--qkv-p: ${share(seen.loss)}; --guess: ${share(GUESS)}"><u></u></i>
    <small aria-hidden="true" style="--guess: ${share(GUESS)}">${t`a guess`}</small>
  </div>`;
}

const THICKEST = 6; // pixels of the arc of a weight of 1
const BROKEN = 0.1; // a weight that falls by more leaves a dashed arc where it was
const FAINT = 0.02; // a smaller weight has no arc
const HIGHEST = 12.5; // of an arc over all symbols, three quarters are its height: less than the picture's 10

/** Return the arc from the query to another symbol: as thick as the weight is large, and higher if it is further.
 * @param {number} i
 * @param {number} at
 * @param {number} n
 * @param {number} weight
 * @param {string} [kind] */
function arc(i, at, n, weight, kind = "") {
  if (i === at || weight < FAINT) return "";
  const top = 10 - HIGHEST * Math.sqrt(Math.abs(at - i) / n);
  return svg`<path class=${kind} d="M${at + 0.5} 10C${at + 0.5} ${top} ${i + 0.5} ${top} ${i + 0.5} 10" stroke-width=${THICKEST * weight} />`;
}

/* ---- the heads */

/** The scores of heads, and their meanings.
 * @type {[Score, () => string][]} */
const SCORES = [
  ["previous", () => t`weight on the symbol before`],
  ["induction", () => t`weight on what followed last time`],
];

/** Return the maps, a column for each layer. A press on one silences its head, or brings it back.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
const maps = (state, seen, set) => html`<div class="qkv-scope-heads">
  <p class="qkv-scope-asked">${arcText(seen)}</p>
  ${button({ label: t`all on`, disabled: seen.modes === ALL_ON, onClick: () => set({ modes: ALL_ON }) })}
  <div class="qkv-scope-maps">${[0, 1].map(
    (layer) => html`<div class="qkv-scope-layer"><p class="qkv-note">${t`layer ${layer + 1}`}</p>
      ${[0, 1].map((i) => map(2 * layer + i, state, seen, set))}</div>`,
  )}</div>
</div>`;

/** A loudspeaker, with waves if the head is on and a cross if it is silent: what a press on the map switches.
 * @param {boolean} isOn */
const loudspeaker = (isOn) =>
  html`<svg class="qkv-scope-sound" viewBox="0 0 16 16" aria-hidden="true"><path d="M1 6v4h3l4 3.5v-11L4 6z" /><path class="qkv-scope-waves" d=${isOn ? "M10.5 5.5a4 4 0 0 1 0 5M13 3.5a7 7 0 0 1 0 9" : "M10.5 5.5l5 5m0-5l-5 5"} /></svg>`;

/** Return a head: its name, and its weights as a map that is grey when the head is silent.
 * @param {number} head
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function map(head, state, seen, set) {
  const { n, at, maps, modes } = seen;
  const weights = maps[head];
  const isOn = modes[head] === "on";
  const name = short(head);
  const picture = heatmap({
    label: t`Weights of head ${name}.`,
    rows: (i) => weights.subarray(i * n, (i + 1) * n),
    width: n,
    height: n,
    key: weights,
    repainted: state.repainted,
  });
  return html`<label class="qkv-scope-head ${isOn ? "" : "qkv-scope-out"} ${isAsked(seen) && head === 0 ? "qkv-scope-named" : ""}">
    <b>${name}</b>
    <div class="qkv-scope-map">
      ${picture}<div class="qkv-looked-at" style="top: ${(100 * at) / n}%; height: ${100 / n}%"></div>
      ${isOn || modes[head] === "zeros" ? loudspeaker(isOn) : html`<span aria-hidden="true">${MODES[modes[head]]()}</span>`}
    </div>
    <input class="qkv-over" type="checkbox" role="switch" aria-label=${t`silence head ${name}`} .checked=${live(!isOn)}
      @change=${() => set({ modes: withMode(state, head, isOn ? "zeros" : "on") })}>
  </label>`;
}

/** Return the modes with another one for a head.
 * @param {State} state
 * @param {number} head
 * @param {string} mode */
const withMode = ({ modes }, head, mode) => modes.map((now, each) => (each === head ? mode : now));

/** Return the choices of a head and of what replaces its output, and what that is.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const replacing = (state, set, id) => html`<div class="qkv-scope-modes">
  ${choices({
    label: t`head whose arcs are shown`,
    name: `${id}-scope-head`,
    value: state.head,
    options: HEADS.map((head) => ({ value: head, label: short(head) })),
    onChange: (head) => set({ head }),
  })}
  ${choices({
    label: t`output of head ${short(state.head)}`,
    name: `${id}-scope-mode`,
    value: state.modes[state.head],
    options: Object.entries(MODES).map(([value, label]) => ({ value, label: label() })),
    onChange: (mode) => set({ modes: withMode(state, state.head, mode) }),
  })}
  <p class="qkv-note">${REPLACED[state.modes[state.head]](read(state.symbols))}</p>
</div>`;

/** What each mode puts in place of the head's output.
 * @type {Record<string, (ids: number[]) => string>} */
const REPLACED = {
  on: () => t`its own output, as trained`,
  zeros: () => t`nothing: the head is silent`,
  mean: () => t`its mean output over 16 random texts`,
  "other text": (ids) => t`its output on another text: ${moved(ids).slice(0, 8).map(symbol).join("")}…`,
};

const weightsTable = (/** @type {Seen} */ { ids, at, maps, chances }) => ({
  caption: t`Weights of position ${at + 1}, and the chance that the symbol comes next`,
  head: [t`position`, ...HEADS.map((head) => t`head ${short(head)}`), t`chance that it comes next`],
  rows: ids.map((id, i) => [
    `${i + 1}: ${symbol(id)}`,
    ...maps.map((weights) => shown(weights[at * ids.length + i])),
    shown(chances[id]),
  ]),
});

const scoresTable = (/** @type {Seen} */ { scores }) => ({
  caption: t`Scores of each head: mean weights`,
  head: [t`head`, ...SCORES.map(([, means]) => means())],
  rows: scores.map(({ previous, induction }, head) => [short(head), shown(previous), shown(induction)]),
});

/* ---- the training */

const { steps: STEPS, loss: LOSS } = HISTORY;
const NAMED = [0, 200, 250, 300, 500, 1500];
const LARGEST = 5; // nats: a larger loss is drawn here

const across = linear([0, STEPS.length - 1], [0, 100]); // by index in the list: half of its steps are before step 300
const up = (/** @type {number} */ loss) => 100 - (100 * Math.min(loss, LARGEST)) / LARGEST;
/** @type {import("./chart.js").Point[]} */
const CURVE = LOSS.map((loss, i) => [across(i), up(loss)]);

/** Return the loss on this text as a dot beside the curve of the training, which was measured on 64 other texts. The dot is
 * dragged along the steps; the slider for the keyboard lies over it.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function training({ step }, { loss, intact }, set) {
  const i = STEPS.indexOf(step);
  const drag = dragged(({ x }) => set({ step: STEPS[nearestOf([...STEPS.keys()], x * (STEPS.length - 1))] }));
  const repeats = !Number.isNaN(loss);
  const [now, before] = repeats ? [loss, intact] : [LOSS[i], LOSS[i]];
  return html`<div class="qkv-scope-training">
    ${panel({
      title: t`loss on repeated symbols`,
      reading: html`<b>${t`step ${num(step)}`}</b>`,
      drawing: html`<p class="qkv-note">${t`in nats; line: 64 other texts, dot: this text`}</p>
        ${plot({
          label: t`The loss after each training step. After step ${num(step)} it is ${shown(LOSS[i])}.`,
          kind: "qkv-scope-plot",
          onDrag: drag,
          marks: [axes(), curve({ points: CURVE, kind: "qkv-scope-loss" }), dots(across(i), now, before)],
        })}`,
    })}
    <input class="qkv-over" type="range" min="0" max=${STEPS.length - 1} aria-label=${t`training step`} aria-valuetext=${t`${num(step)} of ${num(LAST)}`}
      .value=${live(String(i))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ step: STEPS[target.valueAsNumber] })}>
  </div>`;
}

/** Return the axes. Their numbers are so far out that the ring around the dot covers none. */
const axes = () => [
  yAxis({ scale: up, ticks: [0, 2, 4], named: [] }),
  [0, 2, 4].map((tick) => words({ x: 0, y: up(tick), dx: -16, anchor: "end", content: tick })),
  NAMED.map((tick) => words({ x: across(STEPS.indexOf(tick)), y: 100, lines: 1.5, content: num(tick) })),
  words({
    x: 50,
    y: 100,
    lines: 2.75,
    kind: "qkv-axis-title",
    content: t`training step; half of the axis is before 300`,
  }),
];

/** Return the dot, and where it would be with all heads on.
 * @param {number} x
 * @param {number} loss
 * @param {number} intact */
const dots = (x, loss, intact) => [
  rule({ x1: x, x2: x, y1: up(loss), y2: up(intact), kind: "qkv-scope-moved" }),
  dotMark({ x, y: up(intact), kind: "qkv-scope-intact" }),
  gripMark({ x, y: up(loss) }),
  svg`<svg class="qkv-scope-ways" x=${pct(x)} y=${pct(up(loss))} width="1" height="1"><path d="M-16 -3L-20 0L-16 3M16 -3L20 0L16 3" /></svg>`,
];

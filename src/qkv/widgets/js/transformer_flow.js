import { live } from "lit-html/directives/live.js";
import { dragged, html, num, partAt, remember, svg, t, tables, toggle, widget, wordAt } from "./base.js";
import { className } from "./class_names.js";
import { GLOSSES } from "./glosses.js";
import { linear } from "./scales.js";
import { ATTENTION, BOXES, blockOf, LEGS, NORMS, STAGES, stageNamed, stageRows, tagWithParts } from "./stages.js";
import { chances } from "./tagger.js";
import { theTagger } from "./trained.js";

const because = (/** @type {string} */ last) => html`… <span class="qkv-flow-because">because it was </span>${last}`;
const SENTENCES = {
  "the cat chased the mouse because it was hungry": because("hungry"),
  "the cat chased the mouse because it was tasty": because("tasty"),
  "I saw a saw": "I saw a saw",
};

/** @import { SetState } from "./base.js" */
/** @import { Places, Table } from "./engine/trained.js" */
/** @import { Part, Stage } from "./stages.js" */
/** @import { Tagged } from "./tagger.js" */
/** @typedef {ReturnType<typeof computed>} Seen */
/** @typedef {{ part: "residual" | "feed_forward", classes: string[] }} Press a part, and the classes before it was pressed */
/** @typedef {{ sentence: string, word: number, stage: string, residual: boolean, norm: boolean,
 *   feed_forward: boolean, pressed: Press | null, touched: "" | "network" | "all" }} State */

export default widget("TransformerFlow", {
  // Before a part is `touched`, a network that is off is the only one to press. Then the residual is there, too, and the norms
  // come when more than the network was touched.
  own: { pressed: null, touched: "" },
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return `${seen.stage.title()}, ${shapeText(seen)}. ${verdict(seen, state.pressed)} ${answerText(seen, state)}`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`
      <p class="qkv-lead qkv-flow-answer">${verdict(seen, state.pressed, (count) => html`<b class=${count ? "qkv-flow-bad" : ""}>${count}</b>`)} <small>${answerText(seen, state)}</small></p>
      ${flow(state, seen, set, id)}
      ${sentences(state, set, id)}
      ${here(state, seen, set)}
      ${tables(() => [stageTable(seen), answerTable(seen)])}`;
  },
});

/** Return the sentences as words in boxes. Their other words are in the flow.
 * @param {State} parts
 * @param {SetState<State>} set
 * @param {string} id */
const sentences = ({ sentence }, set, id) => html`<fieldset class="qkv-control qkv-flow-sentences">
  <legend class="qkv-unseen">${t`sentence`}</legend>
  <div>${Object.entries(SENTENCES).map(
    ([value, label]) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-flow-sentence" .checked=${live(value === sentence)} @change=${() => set({ sentence: value, word: -1, pressed: null })}>
      <span>${label}</span>
    </label>`,
  )}</div>
</fieldset>`;

const shown = (/** @type {number} */ number) => num(number, { places: 2 });

/* ---- the tagger's output for a state */

const tagged = remember(
  (
    /** @type {string} */ sentence,
    /** @type {boolean} */ residual,
    /** @type {boolean} */ norm,
    /** @type {boolean} */ feed_forward,
  ) => tagWithParts(theTagger(), sentence, { residual, norm, feed_forward }),
);

/** Return the values that the drawing of a state needs.
 * @param {State} state */
function computed(state) {
  const said = tagged(state.sentence, state.residual, state.norm, state.feed_forward);
  const { words, places } = said;
  const n = words.length;
  const it = [...said.refersTo.keys()][0] ?? n - 1;
  const at = state.word < 0 || state.word >= n ? it : state.word;
  const stage = stageNamed(state.stage);
  const intact = tagged(state.sentence, true, true, true);
  return { said, intact, words, n, at, stage, ...stageRows(places, stage, n, theTagger().shape.heads) };
}

/** Return the tagger's probability of a word's class.
 * @param {Tagged} parts
 * @param {number} at */
const sure = ({ places }, at) => Math.max(...chances(places.class_logits, at, theTagger().classes.length));

/** Say which noun of the sentence a word stands for. Where a part is off, it may be none of them.
 * @param {string[]} words
 * @param {string} word
 * @param {string} noun */
const standsFor = (words, word, noun) =>
  words.includes(noun) ? t`“${word}” stands for ${noun}.` : t`“${word}” stands for no noun.`;

/** Say how many classes are wrong because of the parts that are off, or how the last press changed their number.
 * @param {Seen} parts
 * @param {Press | null} pressed
 * @param {(count: number) => unknown} [mark] */
function verdict({ said, intact }, pressed, mark = (count) => count) {
  const lostOf = (/** @type {string[]} */ classes) => classes.filter((each, i) => each !== intact.classes[i]).length;
  const lost = lostOf(said.classes);
  if (pressed) return t`Wrong classes: ${lostOf(pressed.classes)} → ${mark(lost)}.`;
  if (lost === 0) return t`All classes are right.`;
  return lost === 1 ? t`${mark(1)} class is wrong.` : t`${mark(lost)} classes are wrong.`;
}

/** @param {Seen} parts
 * @param {State} state */
function answerText({ said, intact, words, at }, { touched }) {
  const noun = said.refersTo.get(at);
  const kind = className(said.classes[at]);
  const answer = noun ? standsFor(words, words[at], noun) : t`“${words[at]}”: ${kind}.`;
  const isRight = said.classes[at] === intact.classes[at] && noun === intact.refersTo.get(at);
  if (!isRight) return t`Wrong answer: ${answer}`;
  if (said !== intact) return answer;
  return touched === "network" ? t`${answer} Now press “residual”.` : t`${answer} Press a box.`;
}

/* ---- the flow: a line for each word, from the word to its class, through the parts of a block and the last norm. A line
 * is as thick as its numbers are large, so that a norm is seen to make them alike. The network is a box across all lines, and
 * the residual passes above them: a press switches them off, in both blocks. The norms, whose switch is with the numbers, are
 * strokes. */

const [TOP, ROWS, FOOT] = [80, 216, 20]; // of the flow: above the words' rows, the rows, and below; in sixteenths of a rem
const HEIGHT = TOP + ROWS + FOOT;
const [START, END] = [20, 75.8]; // of the lines

/** Return how far down a word's line is.
 * @param {number} i
 * @param {number} n */
const lineOf = (i, n) => TOP + ((i + 0.5) * ROWS) / n;

/** @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set
 * @param {string} id */
function flow(state, seen, set, id) {
  const { said, intact, words, n, at, stage } = seen;
  const pick = dragged(({ y }) => set({ word: partAt(inRows(y), n) }));
  const stillHidden = isFresh(state) ? "qkv-flow-fresh" : state.touched === "network" ? "qkv-flow-early" : "";
  return html`<div class="qkv-flow qkv-drag ${stillHidden}" style="--rows: ${n}" @pointerdown=${pick} @pointermove=${pick}>
    <b class="qkv-flow-attention" aria-hidden="true">${t`attention`}</b>
    <svg viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${t`${n} words through two blocks.`} ${readText(seen)}">
      ${words.map((_, i) => svg`<path class="qkv-flow-line ${i === at ? "qkv-flow-chosen" : ""}" d=${line(seen, state, i)} />`)}
      ${state.residual ? svg`<path class="qkv-flow-past" d=${LEGS.map((x) => `M${x} 32V${TOP}`).join("")} />` : ""}
      ${reads(seen)}
    </svg>
    <div role="radiogroup" aria-label=${t`word`}>${words.map(
      (word, i) => html`<label class="qkv-flow-word" style="--y: ${lineOf(i, n)}">
        <input class="qkv-over qkv-keys" type="radio" name="${id}-flow-word" aria-label=${wordAt(words, i)} .checked=${live(i === at)} @change=${() => set({ word: i })}>${word}
      </label>`,
    )}</div>
    ${said.classes.map((kind, i) => answer(kind, intact.classes[i], lineOf(i, n), turning(state.pressed, kind, i)))}
    ${NORMS.map(
      ({ x, isOfNetwork }) =>
        html`<span class="qkv-flow-norm" data-on=${state.norm} data-idle=${Boolean(isOfNetwork) && !state.feed_forward} style="--x: ${x}%" aria-hidden="true">${t`norm`}</span>`,
    )}
    <div role="group" aria-label=${t`parts of a block`}>
      ${box("residual", t`residual`, t`residual`, state, seen, set)}
      ${box("feed_forward", t`FFN, feed-forward network`, state.feed_forward ? t`FFN` : t`FFN off`, state, seen, set)}
    </div>
    <i class="qkv-flow-ring" style="left: ${stage.x}%; --y: ${lineOf(at, n)}"></i>
  </div>`;
}

const isFresh = (/** @type {State} */ { touched, residual, norm, feed_forward }) =>
  !touched && residual && norm && !feed_forward;

/** Return what is touched after a press on a part.
 * @param {State} state
 * @param {"residual" | "feed_forward"} part
 * @returns {State["touched"]} */
const touchedBy = (state, part) =>
  part === "feed_forward" && (isFresh(state) || state.touched === "network") ? "network" : "all";

const THICKNESS = 3.2; // of a line whose numbers have a standard deviation of 1

/** Return the outline of a word's line. Its thickness changes in the norms, and where the residual joins.
 * @param {Seen} seen
 * @param {State} state
 * @param {number} i */
function line({ said: { places }, n, stage }, state, i) {
  const [before, inNetwork, after] = NORMS.map(({ x }) => x);
  const l = blockOf(stage);
  const network = state.feed_forward ? "feed_forward.normed" : "attention.sum";
  const steps = /** @type {[string, number][]} */ ([
    [`${l}.state`, before],
    [`${l}.attention.normed`, LEGS[1]],
    [`${l}.attention.sum`, inNetwork],
    [`${l}.${network}`, LEGS[2]],
    [`${l}.feed_forward.sum`, after],
    ["normed", END],
  ]);
  const y = lineOf(i, n);
  const half = steps.map(([place]) => (THICKNESS / 2) * meanAndSpread(rowOf(places[place], i, n)).spread);
  const side = (/** @type {number} */ sign) => half.map((size) => (y + sign * size).toFixed(2));
  const above = side(-1).map((edge, s) => `V${edge}H${steps[s][1]}`);
  const starts = [START, ...steps.map(([, x]) => x)];
  const below = side(1).map((edge, s) => `V${edge}H${starts[s]}`);
  return `M${START} ${y}${above.join("")}${below.reverse().join("")}z`;
}

/** @param {Table} table
 * @param {number} i
 * @param {number} n */
const rowOf = (table, i, n) => table.subarray((i * table.length) / n, ((i + 1) * table.length) / n);

/** Return a share of the flow's height as a share of the height of the words' rows.
 * @param {number} y */
const inRows = (y) => Math.max(0, (y * HEIGHT - TOP) / ROWS);

/** Return how far across the flow the part is that changed the class of word i when it was pressed.
 * @param {Press | null} pressed
 * @param {string} kind
 * @param {number} i */
const turning = (pressed, kind, i) => (pressed && pressed.classes[i] !== kind ? BOXES[pressed.part] : undefined);

/** Return the class of a word. Where a part that is off has changed it, the old class is named beside it. If the last press
 * changed it, a dot comes along the word's line from the part that was pressed, at `from`, and a class that is right again
 * has a mark.
 * @param {string} kind
 * @param {string} before
 * @param {number} y
 * @param {number} [from] */
function answer(kind, before, y, from) {
  const place = `--y: ${y}; --from: ${from}%`;
  const turned = from === undefined ? "" : "qkv-flow-turned";
  const dot = turned && html`<i class="qkv-flow-dot" style=${place}></i>`;
  return kind === before
    ? html`${dot}<span class="qkv-flow-answer-of ${turned}" style=${place}>${turned && html`<b class="qkv-flow-right"></b>`}${className(kind)}</span>`
    : html`${dot}<span class="qkv-flow-answer-of ${turned}" style=${place}><b class="qkv-flow-wrong">${className(kind)}</b> <small>${t`not ${className(before)}`}</small></span>`;
}

/** Return the box of a part, which is its switch.
 * @param {"residual" | "feed_forward"} part
 * @param {string} name
 * @param {string} shown the name in the box
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
const box = (
  part,
  name,
  shown,
  state,
  { said: { classes } },
  set,
) => html`<label class="qkv-flow-part" data-part=${part} data-on=${state[part]} style="--x: ${BOXES[part]}%"
  @pointerdown=${alone} @pointermove=${alone}><input class="qkv-over" type="checkbox" role="switch" aria-label=${name} .checked=${live(state[part])}
    @change=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ [part]: target.checked, pressed: { part, classes }, touched: touchedBy(state, part) })}><i class="qkv-lever ${state[part] ? "" : "qkv-lever-off"}"></i><span>${shown}</span></label>`;

/** A press or a swipe that begins on a part chooses no word. */
const alone = (/** @type {Event} */ event) => event.stopPropagation();

const MOST = 9; // pixels of the band of a weight of 1

/** Return what the chosen word reads in the block that is shown: a band from each word, as thick as the mean weight of
 * the heads.
 * @param {Seen} parts */
const reads = ({ said, n, at, stage }) =>
  weightsOf(said.places[`${blockOf(stage)}.attention.weights`], n, at).map((weight, j) => {
    const [from, to] = [lineOf(j, n), lineOf(at, n)];
    const { start, end } = ATTENTION;
    const middle = (start + end) / 2;
    return svg`<path class="qkv-flow-read" stroke-width=${MOST * weight} d="M${start} ${from}C${middle} ${from} ${middle} ${to} ${end} ${to}" />`;
  });

/** Return the weights of word i, averaged over the heads.
 * @param {Table} table
 * @param {number} n
 * @param {number} i */
function weightsOf(table, n, i) {
  const heads = table.length / n / n;
  const ofHeads = (/** @type {number} */ j) => Array.from({ length: heads }, (_, h) => table[(h * n + i) * n + j]);
  return Array.from({ length: n }, (_, j) => ofHeads(j).reduce((total, weight) => total + weight, 0) / heads);
}

const readText = (/** @type {Seen} */ { said, words, n, at }) =>
  [0, 1]
    .map((layer) => {
      const weights = weightsOf(said.places[`${layer}.attention.weights`], n, at);
      return t`In block ${layer + 1}, ${words[at]} reads most from ${words[weights.indexOf(Math.max(...weights))]}.`;
    })
    .join(" ");

/* ---- the numbers at a place in the flow: those of the chosen word, as bars */

/** Check whether the part that computes a stage is switched off.
 * @param {Stage} parts
 * @param {Pick<State, Part>} parts */
const isOff = ({ name, place }, { norm, feed_forward }) =>
  (!norm && place.endsWith("normed")) || (!feed_forward && name.endsWith("hidden"));

const last = STAGES.length - 1;

/** @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function here(state, seen, set) {
  const { stage } = seen;
  const title = isOff(stage, state) ? t`${stage.title()}, off` : stage.title();
  return html`<details class="qkv-tables qkv-flow-here">
    <summary>${t`The numbers on the way`}</summary>
    <div class="qkv-flow-norms">${toggle({ label: t`norm`, checked: state.norm, onChange: (norm) => set({ norm, pressed: null, touched: "all" }) })}
      <small>${t`block ${blockOf(stage) + 1} of 2; thick lines: large numbers`}</small></div>
    <label class="qkv-control qkv-flow-title">
      <span class="qkv-label"><b>${title}</b></span>
      <input type="range" min="0" max=${last} aria-label=${t`place in the flow`} aria-valuetext="${title}, ${shapeText(seen)}" .value=${live(String(STAGES.indexOf(stage)))}
        @input=${(/** @type {{ target: HTMLInputElement }} */ event) => set({ stage: STAGES[event.target.valueAsNumber].name })}>
    </label>
    <p class="qkv-note"><span class="qkv-flow-shape">${shapeText(seen)}</span>: ${meaning(state, seen)}</p>
    ${bars(seen)}
    <p class="qkv-flow-row">${reading(seen)}</p>
  </details>`;
}

/** Return the shape of a stage's table as text.
 * @param {Seen} parts */
function shapeText({ stage, isWeights, heads, n, width }) {
  if (isWeights) return t`${heads} heads × ${n} × ${n} words`;
  if (stage.name === "classes") return t`${n} words × ${width} classes`;
  return stage.name === "nouns" ? t`${n} words × ${width} nouns` : t`${n} words × ${width} numbers`;
}

/** The stages whose numbers have names, which the tagger knows.
 * @type {Record<string, "classes" | "nouns">} */
const NAMED = { classes: "classes", nouns: "nouns" };

/** Return what a stage is, as text.
 * @param {State} state
 * @param {Seen} parts */
function meaning(state, { stage, words, at }) {
  const word = html`<i>${words[at]}</i>`;
  const part = stage.name.replace(/^\d /, "");
  if (isOff(stage, state)) return part === "hidden" ? t`computed, but not added to the stream` : t`the stream as it is`;
  const { residual } = state;
  /** @type {Record<string, () => unknown>} */
  const texts = {
    embedding: () => t`${word} and its position, as numbers`,
    "norm 1": () => t`a copy of the stream, on one scale, for attention to read`,
    attention: () => t`how much ${word} reads from each word`,
    "sum 1": () => (residual ? t`what was there, plus what attention has read` : t`only what attention has read`),
    "norm 2": () => t`a copy of the stream, on one scale, for the network to read`,
    hidden: () => t`the network's hidden numbers for ${word} alone, none below 0`,
    "sum 2": () => {
      if (!state.feed_forward) return t`as before: nothing is added`;
      return residual ? t`what was there, plus what the network has computed` : t`only what the network has computed`;
    },
    norm: () => t`the stream, on one scale, for the answers`,
    classes: () => t`how likely each class is for ${word}`,
    nouns: () => t`how likely ${word} stands for each noun, English or Chinese`,
  };
  return texts[part]();
}

/** Return the numbers of the chosen word to draw, and their limits: weights and probabilities from 0 to 1, others on one
 * scale for all stages.
 * @param {Seen} parts */
function drawn({ said, intact, stage, isWeights, table, at, width, rows }) {
  if (isWeights) return { values: [...rows(at)], low: 0, high: 1 };
  if (stage.name in NAMED) return { values: [...chances(table, at, width)], low: 0, high: 1 };
  const most = Math.max(largest(said.places), largest(intact.places));
  return { values: [...rows(at)], low: -most, high: most };
}

const FEATURES = STAGES.map(({ place }) => place).filter((place) => !/weights|logits/.test(place));
const largest = remember((/** @type {Places} */ places) =>
  Math.max(...FEATURES.map((place) => places[place].reduce((most, x) => Math.max(most, Math.abs(x)), 0))),
);

/** @param {Seen} seen */
function bars(seen) {
  const { stage, isWeights, heads, width } = seen;
  const { values, low, high } = drawn(seen);
  const height = linear([low, high], [100, 0]);
  const step = 100 / values.length;
  const path = values
    .map(
      (x, i) =>
        `M${((i + 0.15) * step).toFixed(2)} ${height(0)}V${height(x).toFixed(2)}h${(0.7 * step).toFixed(2)}V${height(0)}z`,
    )
    .join("");
  return html`<div class="qkv-flow-bars ${isWeights ? "qkv-flow-weights" : ""}">
    <div class="qkv-flow-columns" aria-hidden="true">${strongest(seen, values).map(
      ({ name, column }) => html`<span><i style="--at: ${100 * column}%">${name}</i></span>`,
    )}</div>
    <div class="qkv-flow-scale"><span>${num(high, { digits: 2 })}</span><span>${num(low, { digits: 2 })}</span></div>
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label=${t`${values.length} bars: ${stage.title()}`}>
      <path class="qkv-flow-zero" d="M0 ${height(0)}H100" /><path d=${path} />
    </svg>
    <div class="qkv-flow-across">${across(seen, heads, width).map((text) => html`<span>${text}</span>`)}</div>
  </div>`;
}

/** Return the names of the columns of a stage's table, if they have names.
 * @param {Seen} seen
 * @returns {string[] | undefined} */
const columnNames = ({ stage, words, isWeights }) => {
  if (isWeights) return words;
  const names = theTagger()[NAMED[stage.name]];
  return stage.name === "classes" ? names.map(className) : names;
};

/** Return the words below the bars.
 * @param {Seen} parts
 * @param {number} heads
 * @param {number} width */
function across({ words, at, stage, n }, heads, width) {
  if (stage.name === "classes") return [t`${width} classes`];
  if (stage.name === "nouns") return [t`${width} nouns`];
  if (heads === 1) return [t`${width} numbers of ${html`<i>${words[at]}</i>`}`];
  return Array.from({ length: heads }, (_, h) => t`head ${h + 1}: ${n} words`);
}

/** Return for each head the column of the largest number: its name, and its position from 0 to 1.
 * @param {Seen} seen
 * @param {number[]} values */
function strongest(seen, values) {
  const names = columnNames(seen);
  if (!names) return [];
  return Array.from({ length: seen.heads }, (_, h) => {
    const part = values.slice(h * seen.width, (h + 1) * seen.width);
    const column = part.indexOf(Math.max(...part));
    return { name: names[column], column: (column + 0.5) / seen.width };
  });
}

/** Return numbers about the word's row: each head's largest weight, the likeliest answers, or mean and deviation.
 * @param {Seen} seen */
function reading(seen) {
  const { values } = drawn(seen);
  if (seen.isWeights) return headsReading(seen, values);
  const names = columnNames(seen);
  if (names) return likeliest(values, names);
  const { mean, spread } = meanAndSpread(Float64Array.from(values));
  return html`<span>${t`mean ${html`<b>${shown(mean)}</b>`}`}</span> <span>${t`standard deviation ${html`<b>${shown(spread)}</b>`}`}</span>`;
}

/** @param {Table} row */
function meanAndSpread(row) {
  const mean = row.reduce((total, x) => total + x, 0) / row.length;
  return { mean, spread: Math.sqrt(row.reduce((total, x) => total + (x - mean) ** 2, 0) / row.length) };
}

const headsReading = (/** @type {Seen} */ { heads, n, words }, /** @type {number[]} */ values) =>
  Array.from({ length: heads }, (_, h) => {
    const weights = values.slice(h * n, (h + 1) * n);
    const most = Math.max(...weights);
    return html`<span>${t`head ${h + 1}: ${html`<b>${words[weights.indexOf(most)]}</b>`} ${shown(most)}`}</span> `;
  });

const LIKELIEST = 2;

/** @param {number[]} shares
 * @param {string[]} names */
function likeliest(shares, names) {
  const best = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, LIKELIEST);
  return best.map(
    (i) =>
      html`<span><b>${GLOSSES.has(names[i]) ? `${names[i]}, ${GLOSSES.get(names[i])}` : names[i]}</b> ${shown(shares[i])}</span> `,
  );
}

/* ---- the numbers as tables */

const COLUMNS = 8; // columns in the table of numbers if they have no names

const stageTable = (/** @type {Seen} */ seen) => {
  const names = columnNames(seen);
  const columns = names ? seen.heads * seen.width : Math.min(COLUMNS, seen.width);
  const head = (/** @type {number} */ j) =>
    seen.isWeights ? t`${seen.words[j % seen.n]} (head ${1 + Math.floor(j / seen.n)})` : (names?.[j] ?? j + 1);
  const title = `${seen.stage.title()}, ${shapeText(seen)}`;
  return {
    caption: columns < seen.width ? t`${title}: the first ${columns} features` : title,
    head: [t`word`, ...Array.from({ length: columns }, (_, j) => head(j))],
    rows: seen.words.map((word, i) => [word, ...[...seen.rows(i)].slice(0, columns).map(shown)]),
  };
};

const answerTable = (/** @type {Seen} */ { said, words }) => ({
  caption: t`What the tagger says`,
  head: [t`word`, t`class`, t`chance of it`, t`stands for`],
  rows: words.map((word, i) => [word, className(said.classes[i]), shown(sure(said, i)), said.refersTo.get(i) ?? "–"]),
});

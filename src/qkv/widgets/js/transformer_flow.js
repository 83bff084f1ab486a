import { live } from "lit-html/directives/live.js";
import { choices, dragged, html, nearestOf, num, partAt, remember, svg, tables, widget, wordAt } from "./base.js";
import { GLOSSES } from "./glosses.js";
import { linear } from "./scales.js";
import { BRANCHES, STAGES, stageNamed, stageRows, streamOf, tagWithParts } from "./stages.js";
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
/** @import { Branch, Stage } from "./stages.js" */
/** @import { Tagged } from "./tagger.js" */
/** @typedef {"residual" | "norm" | "feed_forward"} Part a part that can be switched off */
/** @typedef {ReturnType<typeof computed>} Seen */
/** @typedef {{ sentence: string, word: number, stage: string, residual: boolean, norm: boolean,
 *   feed_forward: boolean }} State */

export default widget("TransformerFlow", {
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return `${seen.stage.title}, ${shapeText(seen)}. ${answerText(seen)}`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`
      ${choices({
        label: "sentence",
        name: `${id}-flow-sentence`,
        value: state.sentence,
        options: Object.entries(SENTENCES).map(([value, label]) => ({ value, label })),
        onChange: (sentence) => set({ sentence, word: -1 }),
      })}
      <p class="qkv-flow-answer">${answerText(seen)}</p>
      ${parts(state, set)} ${flow(state, seen, set, id)}
      <p class="qkv-note qkv-flow-legend">violet: what <i>${seen.words[seen.at]}</i> reads. Thick: large numbers.</p>
      ${here(state, seen, set)}
      ${tables(() => [stageTable(seen), answerTable(seen)])}`;
  },
});

const shown = (/** @type {number} */ number) => num(number, { places: 2 });
const glossed = (/** @type {string} */ word) =>
  GLOSSES.has(word) ? `${word}, Chinese for ${GLOSSES.get(word)}` : word;

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

/** Return the tagger's probabilities of a word's class, and of the noun that it stands for.
 * @param {Tagged} parts
 * @param {number} at */
const sure = ({ places }, at) => ({
  kind: Math.max(...chances(places.class_logits, at, theTagger().classes.length)),
  noun: Math.max(...chances(places.noun_logits, at, theTagger().nouns.length)),
});

/** @param {Seen} parts */
function answerText({ said, intact, words, n, at }) {
  const { kind, noun } = sure(said, at);
  const stands = said.refersTo.has(at)
    ? ` It stands for ${glossed(/** @type {string} */ (said.refersTo.get(at)))} (${shown(noun)}).`
    : "";
  const same = said.classes.filter((each, i) => each === intact.classes[i]).length;
  const next = said === intact ? "Press a word, or switch a part off." : `${same} of ${n} words keep their class.`;
  return `${words[at]}: ${said.classes[at]} (${shown(kind)}).${stands} ${next}`;
}

/* ---- the flow: a line for each word, from the word to its answer. It is as thick as the word's numbers are large.
 * Attention and the feed-forward network are on branches beside it. */

/** The parts that can be switched off, and their names. A part's mark is that of the drawing.
 * @type {[Part, string][]} */
const PARTS = [
  ["residual", "residual"],
  ["norm", "norm"],
  ["feed_forward", "feed-forward"],
];

/** Return the switches of the parts, on top of the drawing. A part that is off is crossed out.
 * @param {State} state
 * @param {SetState<State>} set */
const parts = (state, set) =>
  html`<div class="qkv-flow-parts" role="group" aria-label="parts of a block">${PARTS.map(
    ([part, label]) => html`<label class="qkv-flow-part" data-part=${part}>
    <input class="qkv-over" type="checkbox" role="switch" .checked=${live(state[part])} @change=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ [part]: target.checked })}>
    <i aria-hidden="true"></i><span>${label}</span>
  </label>`,
  )}</div>`;

/** @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set
 * @param {string} id */
function flow(state, seen, set, id) {
  const { said, intact, words, n, at, stage } = seen;
  const point = dragged(({ x, y }) => set({ word: partAt(y, n), stage: stageAt(100 * x) }));
  const pick = dragged(({ y }) => set({ word: partAt(y, n) }));
  return html`<div class="qkv-flow" style="--n: ${n}">
    <div class="qkv-flow-heads" aria-hidden="true">
      <span>word</span><span class="qkv-flow-block">block 1</span><span class="qkv-flow-block">block 2</span><span>class</span>
    </div>
    <div class="qkv-flow-words" role="radiogroup" aria-label="word">${words.map(
      (word, i) => html`<label class="qkv-flow-word qkv-pick">
        <input class="qkv-over" type="radio" name="${id}-flow-word" aria-label=${wordAt(words, i)} .checked=${live(i === at)} @change=${() => set({ word: i })}>${word}
      </label>`,
    )}</div>
    <div class="qkv-flow-map qkv-drag" @pointerdown=${point} @pointermove=${point}>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="${n} words through two blocks: ${readText(seen)}">
        ${drawing(state, said.places, n, at)}
      </svg>
      <i class="qkv-flow-ring" style="left: ${stage.x}%; top: ${heightOf(at, n, stage.beside)}%"></i>
    </div>
    <div class="qkv-flow-answers" @pointerdown=${pick} @pointermove=${pick}>${said.classes.map(
      (kind, i) => html`<span class=${kind === intact.classes[i] ? "" : "qkv-flow-wrong"}>${kind}</span>`,
    )}</div>
  </div>`;
}

const PLACES_ACROSS = STAGES.map(({ x }) => x);
const stageAt = (/** @type {number} */ x) => STAGES[PLACES_ACROSS.indexOf(nearestOf(PLACES_ACROSS, x))].name;

/** Return how far down a word's stream is, or the branches beside it, in percent.
 * @param {number} i
 * @param {number} n */
const heightOf = (i, n, beside = false) => (100 * (i + (beside ? 0.82 : 0.36))) / n;

/** Return the drawing: the streams of all words, then the chosen word over them, with its branches.
 * @param {State} state
 * @param {Places} places
 * @param {number} n
 * @param {number} at */
const drawing = (state, places, n, at) => {
  const all = allShapes(places, n, state.residual, state.norm, state.feed_forward);
  return svg`<path class="qkv-flow-stream" d=${all.streams} /> ${reads(places, n, at)} ${ofChosen(shapesOf([at], places, n, state))}`;
};

/** Return the paths of the chosen word: its stream, branches, norms and networks.
 * @param {ReturnType<typeof shapesOf>} paths */
const ofChosen = ({ streams, branches, norms, networks }) => svg`
  <path class="qkv-flow-branch qkv-flow-mine" d=${branches} />
  <path class="qkv-flow-stream qkv-flow-mine" d=${streams} />
  <path class="qkv-flow-norm qkv-flow-mine" d=${norms} />
  <path class="qkv-flow-network qkv-flow-mine" d=${networks} />`;

const allShapes = remember(
  (
    /** @type {Places} */ places,
    /** @type {number} */ n,
    /** @type {boolean} */ residual,
    /** @type {boolean} */ norm,
    /** @type {boolean} */ feed_forward,
  ) => shapesOf([...Array(n).keys()], places, n, { residual, norm, feed_forward }),
);

/** @param {number[]} words
 * @param {Places} places
 * @param {number} n
 * @param {Pick<State, Part>} state */
function shapesOf(words, places, n, { residual, norm, feed_forward }) {
  const isOn = (/** @type {Branch} */ { part }) => feed_forward || part === "attention";
  const pieces = streamOf((branch) => residual || !isOn(branch));
  const on = BRANCHES.filter(isOn);
  const inUse = STAGES.filter(({ place }) => feed_forward || !place.includes("feed_forward"));
  const normed = inUse.filter(({ place }) => norm && place.endsWith("normed"));
  const networks = inUse.filter(({ place }) => place.endsWith("hidden"));
  /** @type {<Piece>(parts: Piece[], draw: (piece: Piece, i: number) => string) => string} */
  const of = (parts, draw) => words.flatMap((i) => parts.map((part) => draw(part, i))).join("");
  return {
    streams: of(pieces, (piece, i) => bar(piece, heightOf(i, n), spread(places[piece.place], i, n))),
    branches: of(on, ({ start, end }, i) => branchPath(start, end, heightOf(i, n), heightOf(i, n, true))),
    norms: of(normed, ({ x, beside }, i) => `M${x} ${heightOf(i, n, beside) - TICK}v${2 * TICK}`),
    networks: of(networks, ({ x, beside }, i) => `M${x} ${heightOf(i, n, beside)}h0`), // a square, by its caps
  };
}

const TICK = 2.2; // half the height of a norm's mark, in percent of the flow's height
const THICKNESS = 1.2; // of a stream whose numbers have a standard deviation of 1, in percent of the flow's height

const bar = (
  /** @type {{ from: number, to: number }} */ { from, to },
  /** @type {number} */ y,
  /** @type {number} */ spread,
) => {
  const height = THICKNESS * spread;
  return `M${from} ${y - height / 2}H${to}v${height}H${from}z`;
};

const branchPath = (
  /** @type {number} */ start,
  /** @type {number} */ end,
  /** @type {number} */ y,
  /** @type {number} */ deep,
) =>
  `M${start} ${y}C${start + 2} ${y} ${start + 1} ${deep} ${start + 4} ${deep}H${end - 4}C${end - 1} ${deep} ${end - 2} ${y} ${end} ${y}`;

/** Return the standard deviation of row i of a table of n rows.
 * @param {Table} table
 * @param {number} i
 * @param {number} n */
function spread(table, i, n) {
  const width = table.length / n;
  return meanAndSpread(table.subarray(i * width, (i + 1) * width)).spread;
}

/** @param {Table} row */
function meanAndSpread(row) {
  const mean = row.reduce((total, x) => total + x, 0) / row.length;
  return { mean, spread: Math.sqrt(row.reduce((total, x) => total + (x - mean) ** 2, 0) / row.length) };
}

const MOST = 6; // pixels of the line of a weight of 1

/** Return what the chosen word reads in each block: a line from each word, as thick as the mean weight of the heads.
 * @param {Places} places
 * @param {number} n
 * @param {number} at */
const reads = (places, n, at) =>
  BRANCHES.filter(({ part }) => part === "attention").map(({ layer, start, end }) =>
    weightsOf(places[`${layer}.attention.weights`], n, at).map((weight, j) => {
      const [from, to] = [heightOf(j, n), heightOf(at, n, true)]; // from the stream of a word to the branch of the chosen one
      const middle = (start + end) / 2;
      return svg`<path class="qkv-flow-read" stroke-width=${MOST * weight} d="M${start + 5} ${from}C${middle + 3} ${from} ${middle - 3} ${to} ${end - 5} ${to}H${end - 4}" />`;
    }),
  );

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
  BRANCHES.filter(({ part }) => part === "attention")
    .map(({ layer }) => {
      const weights = weightsOf(said.places[`${layer}.attention.weights`], n, at);
      return `in block ${layer + 1} ${words[at]} reads most from ${words[weights.indexOf(Math.max(...weights))]}`;
    })
    .join(", ");

/* ---- what stands at the place that is pointed at: the numbers of the chosen word, as bars */

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
  const off = isOff(stage, state) ? ", off" : "";
  return html`<details class="qkv-tables qkv-flow-here">
    <summary><span class="qkv-unseen">At the ring: </span><b>${stage.title}${off}</b></summary>
    <label class="qkv-control qkv-flow-title">
      <span class="qkv-label">place in the flow</span>
      <input type="range" min="0" max=${last} aria-valuetext="${stage.title}${off}, ${shapeText(seen)}" .value=${live(String(STAGES.indexOf(stage)))}
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
  if (isWeights) return `${heads} heads × ${n} × ${n} words`;
  return `${n} words × ${width} ${stage.name in NAMED ? stage.name : "numbers"}`;
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
  if (isOff(stage, state)) return part === "hidden" ? "computed, but not added to the stream" : "the stream as it is";
  const before = state.residual ? "what was there, plus " : "only ";
  /** @type {Record<string, unknown>} */
  const texts = {
    embedding: html`${word} and its position, as numbers`,
    "norm 1": "a copy of the stream, on one scale, for attention to read",
    attention: html`how much ${word} reads from each word`,
    "sum 1": `${before}what attention has read`,
    "norm 2": "a copy of the stream, on one scale, for the network to read",
    hidden: html`the network's hidden numbers for ${word} alone, none below 0`,
    "sum 2": state.feed_forward ? `${before}what the network has computed` : "as before: nothing is added",
    norm: "the stream, on one scale, for the answers",
    classes: html`how likely each class is for ${word}`,
    nouns: html`how likely ${word} stands for each noun, English or Chinese`,
  };
  return texts[part];
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
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="${values.length} bars: ${stage.title}">
      <path class="qkv-flow-zero" d="M0 ${height(0)}H100" /><path d=${path} />
    </svg>
    <div class="qkv-flow-across">${across(seen, heads, width).map((text) => html`<span>${text}</span>`)}</div>
  </div>`;
}

/** Return the names of the columns of a stage's table, if they have names.
 * @param {Seen} seen
 * @returns {string[] | undefined} */
const columnNames = ({ stage, words, isWeights }) => (isWeights ? words : theTagger()[NAMED[stage.name]]);

/** Return the words below the bars.
 * @param {Seen} parts
 * @param {number} heads
 * @param {number} width */
function across({ words, at, stage, n }, heads, width) {
  if (stage.name in NAMED) return [`${width} ${stage.name}`];
  if (heads === 1) return [html`${width} numbers of <i>${words[at]}</i>`];
  return Array.from({ length: heads }, (_, h) => `head ${h + 1}: ${n} words`);
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
  return html`<span>mean <b>${shown(mean)}</b></span> <span>standard deviation <b>${shown(spread)}</b></span>`;
}

const headsReading = (/** @type {Seen} */ { heads, n, words }, /** @type {number[]} */ values) =>
  Array.from({ length: heads }, (_, h) => {
    const weights = values.slice(h * n, (h + 1) * n);
    const most = Math.max(...weights);
    return html`<span>head ${h + 1}: <b>${words[weights.indexOf(most)]}</b> ${shown(most)}</span> `;
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
    seen.isWeights ? `${seen.words[j % seen.n]} (head ${1 + Math.floor(j / seen.n)})` : (names?.[j] ?? j + 1);
  return {
    caption: `${seen.stage.title}, ${shapeText(seen)}${columns < seen.width ? `: the first ${columns} features` : ""}`,
    head: ["word", ...Array.from({ length: columns }, (_, j) => head(j))],
    rows: seen.words.map((word, i) => [word, ...[...seen.rows(i)].slice(0, columns).map(shown)]),
  };
};

const answerTable = (/** @type {Seen} */ { said, words }) => ({
  caption: "What the tagger says",
  head: ["word", "class", "chance of it", "stands for"],
  rows: words.map((word, i) => [word, said.classes[i], shown(sure(said, i).kind), said.refersTo.get(i) ?? "–"]),
});

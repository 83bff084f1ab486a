import { live } from "lit-html/directives/live.js";
import {
  choices,
  dragged,
  html,
  nothing,
  num,
  partAt,
  readings,
  remember,
  slider,
  tables,
  toggle,
  widget,
} from "./base.js";
import { GLOSSES } from "./glosses.js";
import { heatmap, whenColoursChange } from "./heatmap.js";
import { STAGES, stageNamed, stageRows, tagWithParts } from "./stages.js";
import { chances } from "./tagger.js";
import { theTagger } from "./trained.js";

const because = (last) => html`… <span class="qkv-flow-because">because it was </span>${last}`;
const SENTENCES = {
  "the cat chased the mouse because it was hungry": because("hungry"),
  "the cat chased the mouse because it was tasty": because("tasty"),
  "I saw a saw": "I saw a saw",
};

/** @typedef {{ sentence: string, word: number, stage: string, residual: boolean, norm: boolean, feed_forward: boolean,
 *   repainted: number }} State */

export default widget("TransformerFlow", {
  own: { repainted: 0 },
  setup: ({ state, set }) => whenColoursChange(() => set({ repainted: state.repainted + 1 })),
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return `${seen.stage.title}, ${shapeText(seen)}. ${answerText(seen)}`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`
      <div class="qkv-controls qkv-flow-handles">
        ${toggle({ label: "residual", checked: state.residual, onChange: (residual) => set({ residual }) })}
        ${toggle({ label: "norm", checked: state.norm, onChange: (norm) => set({ norm }) })}
        ${toggle({ label: "feed-forward", checked: state.feed_forward, onChange: (on) => set({ feed_forward: on }) })}
      </div>
      ${choices({
        label: "sentence",
        name: `${id}-flow-sentence`,
        value: state.sentence,
        options: Object.entries(SENTENCES).map(([value, label]) => ({ value, label })),
        onChange: (sentence) => set({ sentence, word: -1 }),
      })}
      <p class="qkv-flow-answer">${answerText(seen)}</p>
      <div class="qkv-flow">
        ${flow(state, seen, set, id)}
        <div class="qkv-flow-numbers">${picture(state, seen, set)}<div class="qkv-flow-row">${numbers(seen)}</div></div>
      </div>
      ${slider({
        label: "word",
        value: seen.at + 1,
        min: 1,
        max: seen.n,
        text: `${seen.at + 1} of ${seen.n}: ${seen.words[seen.at]}`,
        onInput: (value) => set({ word: value - 1 }),
      })}
      ${tables(() => [stageTable(seen), answerTable(seen)])}`;
  },
});

const shown = (number) => num(number, { places: 2 });
const glossed = (word) => (GLOSSES.has(word) ? `${word}, Chinese for ${GLOSSES.get(word)}` : word);

/* ---- the tagger's output for a state */

const tagged = remember((sentence, residual, norm, feed_forward) =>
  tagWithParts(theTagger(), sentence, { residual, norm, feed_forward }),
);

/** Return the values that the drawing of a state needs. */
function computed(state) {
  const said = tagged(state.sentence, state.residual, state.norm, state.feed_forward);
  const { words, places } = said;
  const n = words.length;
  const it = [...said.refersTo.keys()][0] ?? n - 1;
  const at = state.word < 0 || state.word >= n ? it : state.word;
  const stage = stageNamed(state.stage);
  const intact = tagged(state.sentence, true, true, true);
  const same = said.classes.filter((kind, i) => kind === intact.classes[i]).length;
  return {
    said,
    words,
    n,
    at,
    stage,
    same,
    changed: changedPlaces(places, intact.places),
    ...stageRows(places, stage, n, theTagger().nHeads),
  };
}

/** Return the places whose numbers the switches change. */
const changedPlaces = remember(
  (places, intact) =>
    new Set(Object.keys(intact).filter((place) => intact[place].some((x, i) => x !== places[place][i]))),
);

const shapeText = ({ isWeights, heads, n, width }) => (isWeights ? `${heads} × ${n} × ${n}` : `${n} × ${width}`);
const shapeOf = ({ place }, said, n) => {
  const size = said.places[place].length / n;
  return place.endsWith("weights") ? `${size / n}×${n}×${n}` : `${n}×${size}`;
};

/** Return the tagger's probabilities of a word's class, and of the noun that it stands for. */
const sure = ({ places }, at) => ({
  kind: Math.max(...chances(places.class_logits, at, theTagger().classes.length)),
  noun: Math.max(...chances(places.noun_logits, at, theTagger().nouns.length)),
});

function answerText({ said, words, n, at, same }) {
  const { kind, noun } = sure(said, at);
  const stands = said.refersTo.has(at) ? ` It stands for ${glossed(said.refersTo.get(at))} (${shown(noun)}).` : "";
  return `${words[at]}: ${said.classes[at]} (${shown(kind)}).${stands} ${same} of ${n} words keep their class.`;
}

/* ---- the flow */

/** Check whether the part that computes a stage is switched off. */
const isOff = ({ name, place }, { norm, feed_forward }) =>
  (!norm && place.endsWith("normed")) || (!feed_forward && name.endsWith("hidden"));

/** Return the stages as one choice, from top to bottom; on a phone the blocks are side by side. The line at the left
 * is the residual stream, which is cut without residuals. */
const flow = (
  state,
  { said, n, changed },
  set,
  id,
) => html`<fieldset class=${state.residual ? "qkv-flow-stages" : "qkv-flow-stages qkv-flow-cut"}>
  <legend class="qkv-unseen">stage, from the words to the answers</legend>
  ${STAGES.map(
    (
      stage,
    ) => html`${stage.name.endsWith("norm 1") ? html`<small class="qkv-flow-block" data-block=${stage.block}>block ${stage.block}</small>` : nothing}
    <label data-block=${stage.block ?? (stage.name === "embedding" ? "before" : "after")} class="qkv-flow-stage qkv-pick ${stage.aside ? "qkv-flow-aside" : ""} ${isOff(stage, state) ? "qkv-flow-off" : ""}">
      <input class="qkv-over" type="radio" name="${id}-flow-stage" .checked=${live(stage.name === state.stage)} @change=${() => set({ stage: stage.name })}>
      <span>${stage.label}<i class="qkv-unseen">${isOff(stage, state) ? " (off)" : ""}${changed.has(stage.place) ? " (changed)" : ""}</i></span> <small class=${changed.has(stage.place) ? "qkv-flow-changed" : ""}>${shapeOf(stage, said, n)}</small>
    </label>`,
  )}
</fieldset>`;

/* ---- the numbers of a stage */

/** Return whether the switches change the stage that is shown, as text; "" while they change nothing. */
function changeText({ stage, changed }) {
  if (changed.size === 0) return "";
  return changed.has(stage.place) ? html`, <i class="qkv-flow-changed"></i>changed` : ", as before";
}

/** Return a stage's table as a picture with a row for each word. A press or a drag chooses the word. */
function picture(state, seen, set) {
  const { n, at, table, isWeights, heads, width, rows, words } = seen;
  const press = dragged(({ y }) => set({ word: partAt(y, n) }));
  const most = isWeights ? 1 : table.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-9);
  return html`<p class="qkv-flow-title" data-off=${isOff(seen.stage, state)}><b>${seen.stage.title}</b><span>${isOff(seen.stage, state) ? ", off" : ""}</span>${changeText(seen)} <span>${shapeText(seen)}</span></p>
    <div class="qkv-flow-table">
      <div class="qkv-flow-columns" aria-hidden="true">${strongest(seen).map(
        ({ name, column }) => html`<span><i style="--at: ${100 * column}%">${name}</i></span>`,
      )}</div>
      <div class="qkv-flow-words" aria-hidden="true">${words.map((word, i) => html`<span class=${i === at ? "qkv-flow-at" : ""}>${word}</span>`)}</div>
      <div class=${isWeights ? "qkv-flow-map qkv-flow-weights" : "qkv-flow-map"} @pointerdown=${press} @pointermove=${press}>
        ${heatmap({
          label: `${seen.stage.title}: ${n} rows of ${heads * width} numbers.`,
          rows,
          width: heads * width,
          height: n,
          most,
          key: table,
          repainted: `${isWeights} ${state.repainted}`,
        })}
        <div class="qkv-looked-at" style="top: ${(100 * at) / n}%; height: ${100 / n}%"></div>
      </div>
      <div class=${isWeights ? "qkv-flow-scale qkv-flow-weights" : "qkv-flow-scale"}><span>${isWeights ? 0 : num(-most, { digits: 2 })}</span><i></i><span>${num(most, { digits: 2 })}</span></div>
    </div>
    <p class="qkv-note qkv-flow-across">across: ${across(seen)}</p>`;
}

/** Return the names of the columns of a stage's table, if they have names. */
const columnNames = ({ stage, words }) =>
  stage.place.endsWith("weights") ? words : { classes: theTagger().classes, nouns: theTagger().nouns }[stage.name];

function across(seen) {
  if (seen.isWeights) return `the ${seen.n} words, for head 1 and for head 2`;
  if (seen.stage.name === "nouns") return `${seen.width} nouns: the model has one list for both languages`;
  return `${seen.width} ${seen.stage.name === "classes" ? "classes" : "features"}`;
}

/** Return for each head the column of the largest number in the chosen row: its name, and its position from 0 to 1. */
function strongest(seen) {
  const names = columnNames(seen);
  if (!names) return [];
  const row = [...seen.rows(seen.at)];
  return Array.from({ length: seen.heads }, (_, h) => {
    const part = row.slice(h * seen.width, (h + 1) * seen.width);
    const column = part.indexOf(Math.max(...part));
    return { name: names[column], column: (column + 0.5) / seen.width };
  });
}

/** Return numbers about the word's row: each head's largest weight, the likeliest answers, or mean and deviation. */
function numbers(seen) {
  const row = [...seen.rows(seen.at)];
  const names = columnNames(seen);
  if (names && !seen.isWeights) return html`<p class="qkv-note">most likely:</p>${likeliest(seen, names)}`;
  if (!seen.isWeights) {
    const mean = row.reduce((total, x) => total + x, 0) / row.length;
    const spread = Math.sqrt(row.reduce((total, x) => total + (x - mean) ** 2, 0) / row.length);
    return readings([
      ["mean of the row", shown(mean)],
      ["its standard deviation", shown(spread)],
    ]);
  }
  return readings(
    Array.from({ length: seen.heads }, (_, h) => {
      const weights = row.slice(h * seen.n, (h + 1) * seen.n);
      const most = Math.max(...weights);
      return [`head ${h + 1} looks most at`, seen.words[weights.indexOf(most)], shown(most)];
    }),
  );
}

const LIKELIEST = 3;

function likeliest({ table, at, width }, names) {
  const shares = chances(table, at, width);
  const best = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, LIKELIEST);
  return html`<div class="qkv-flow-likeliest">${readings(
    best.map((i) => [GLOSSES.has(names[i]) ? `${names[i]}, ${GLOSSES.get(names[i])}` : names[i], shown(shares[i])]),
  )}</div>`;
}

const COLUMNS = 8; // columns in the table of numbers if they have no names

const stageTable = (seen) => {
  const names = columnNames(seen);
  const columns = names ? seen.heads * seen.width : Math.min(COLUMNS, seen.width);
  const head = (j) =>
    seen.isWeights ? `${names[j % seen.n]} (head ${1 + Math.floor(j / seen.n)})` : (names?.[j] ?? j + 1);
  return {
    caption: `${seen.stage.title}, ${shapeText(seen)}${columns < seen.width ? `: the first ${columns} features` : ""}`,
    head: ["word", ...Array.from({ length: columns }, (_, j) => head(j))],
    rows: seen.words.map((word, i) => [word, ...[...seen.rows(i)].slice(0, columns).map(shown)]),
  };
};

const answerTable = ({ said, words }) => ({
  caption: "What the tagger says",
  head: ["word", "class", "chance of it", "stands for"],
  rows: words.map((word, i) => [word, said.classes[i], shown(sure(said, i).kind), said.refersTo.get(i) ?? "–"]),
});

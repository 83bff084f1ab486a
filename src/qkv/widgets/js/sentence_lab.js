import { live } from "lit-html/directives/live.js";
import { choices, html, logSlider, nothing, num, readings, remember, svg, tables, toggle, widget } from "./base.js";
import { EXAM_LENGTH, examiner } from "./exam.js";
import { GLOSSES } from "./glosses.js";
import { tag } from "./tagger.js";
import { theGrammar, theTagger } from "./trained.js";
import { completions, mended, readText, withWord } from "./typing.js";

const LAYERS = [0, 1];
const HEADS = [0, 1];
const SEEN = 0.005; // a smaller weight is drawn as 0
const CHINESE = /[\u4e00-\u9fff]/;
const ROOMY = 9; // the number of words up to which their classes fit into a line in full
const SHORT = {
  noun: "noun",
  verb: "verb",
  determiner: "det.",
  adjective: "adj.",
  conjunction: "conj.",
  pronoun: "pron.",
};
const EXAMPLES = ["the cat chased the mouse because it was hungry", "I saw a saw", "貓追老鼠因為它餓了"];

/** @typedef {{ sentence: string, word: number, layer: 1 | 2 | "both", head: 1 | 2 | "both", matrix: boolean,
 *   temperature: number, scaled: boolean, positions: boolean, heads: boolean[][], layers: boolean[], handles: string[],
 *   changing: number, over: number, typing: boolean, draft: string | null,
 *   marks: { it: number, words: number } | null }} State */
/** @typedef {{ problem: "unknown", unknown: string[], nearest?: string[] }
 *   | { problem: "length", unknown?: undefined, nearest?: undefined }} Problem */
/** @typedef {object} Seen
 * @property {undefined} [problem]
 * @property {string[]} words
 * @property {ReturnType<typeof tag>} said
 * @property {number} it
 * @property {number} from
 * @property {number} changing
 * @property {number[][]} weights
 * @property {number[]} row
 * @property {string} off */

export default widget("SentenceLab", {
  // The index of the word that is being changed (−1: the last word) and of the word under the pointer, whether the
  // sentence is typed, the text that is being typed, and the result of the exam.
  own: { changing: -1, over: -1, typing: false, draft: null, marks: null },
  setup: ({ state, set, eachDrawing }) => {
    if (state.handles.length === 0) return undefined;
    const { check, close } = examiner({ settings: () => settings(state), report: (marks) => set({ marks }) });
    eachDrawing(check);
    check();
    return close;
  },
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return seen.problem ? problemText(seen) : [verdictText(seen), examText(state)].join(" ").trim();
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`
      ${state.handles.length ? handles(state, set) : nothing}
      ${seen.problem ? html`<p class="qkv-finding">${problemText(seen)}</p>` : [verdict(seen), sentence(seen, set, id)]}
      ${seen.problem ? nothing : picker(seen, set, id)}
      <div class="qkv-controls qkv-more">
        ${toggle({ label: "type a sentence", checked: state.typing, onChange: (value) => set({ typing: value, draft: null }) })}
        ${toggle({ label: "all weights", checked: state.matrix, onChange: (value) => set({ matrix: value }) })}
      </div>
      ${state.typing || seen.problem ? typing(state, set) : nothing}
      ${state.matrix && !seen.problem ? matrixOf(state, seen, set, id) : nothing}
      ${tables(() => (seen.problem ? [] : numbers(seen)))}`;
  },
});

/* ---- the model's output for a state */

const settings = ({ temperature, scaled, positions, heads, layers }) => ({
  temperature,
  scaled,
  positions,
  heads,
  layers,
});

const read = remember((text) => readText(theGrammar(), text));

const tagged = remember((words, temperature, scaled, positions, heads, layers) =>
  tag(theTagger(), words, { temperature, scaled, positions, heads, layers }),
);

/** Return the values that the drawing of a state needs, or the problem with a sentence that the model cannot read.
 * @returns {Problem | Seen} */
function computed(state) {
  const { words, unknown, unfinished, nearest } = read(state.sentence);
  if (!words) return { problem: "unknown", unknown: unknown ?? [unfinished], nearest };
  if (!words.length || words.length > theTagger().nMax) return { problem: "length" };
  const said = tagged(words, state.temperature, state.scaled, state.positions, state.heads, state.layers);
  const it = [...said.refersTo.keys()][0] ?? -1;
  const followed = state.word < 0 ? it : state.word;
  const chosen = followed < 0 || followed >= words.length ? words.length - 1 : followed;
  const from = state.over >= 0 && state.over < words.length ? state.over : chosen;
  const changing = state.changing >= 0 && state.changing < words.length ? state.changing : words.length - 1;
  const weights = weightsOf(said.places, words.length, state);
  return {
    words,
    said,
    it,
    from,
    changing,
    weights,
    row: weights[from],
    off: shownHeads(state).length ? "" : offText(state),
  };
}

/** Return the mean weights (n, n) of the chosen layers and heads that are on. */
function weightsOf(places, n, state) {
  const tablesOf = shownHeads(state).map(([l, h]) => places[`${l}.attention.weights`].subarray(h * n * n));
  const mean = (i, j) => tablesOf.reduce((sum, table) => sum + table[i * n + j], 0) / Math.max(1, tablesOf.length);
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => mean(i, j)));
}

/** Return layer and head of each head that the arcs show; heads that are switched off are left out. */
const shownHeads = ({ layer, head, layers, heads }) =>
  chosenOf(LAYERS, layer).flatMap((l) =>
    chosenOf(HEADS, head).flatMap((h) => (layers[l] && heads[l][h] ? [[l, h]] : [])),
  );

/** Return the sentence for when all heads that the arcs show are off. */
const offText = ({ layer, head }) =>
  layer === "both" || head === "both" ? "These heads are off." : `Layer ${layer}, head ${head} is off.`;

const chosenOf = (all, choice) => (choice === "both" ? all : [choice - 1]);

const shown = (weight) => num(weight, { places: 2 });
const rounded = (number) => Math.round(1000 * number) / 1000;
const langOf = (word) => (CHINESE.test(word) ? "zh-Hant" : nothing);
const joined = (words) => words.join(words.some((word) => CHINESE.test(word)) ? "" : " ");
const glossed = (word) => (GLOSSES.has(word) ? `${word} (${GLOSSES.get(word)})` : word);

/* ---- texts */

/** Return the sentence from *it* on, with the noun in the place of *it*: the cat was hungry. */
function reading({ words, said, it }) {
  const rest = words.slice(it + 1);
  const noun = said.refersTo.get(it);
  if (!CHINESE.test(words[it])) return ["the", noun, ...rest].join(" ");
  return `${joined([noun, ...rest])} (${[noun, ...rest].map((word) => GLOSSES.get(word) ?? word).join(" ")})`;
}

function most({ words, row }) {
  const weight = Math.max(...row);
  return { word: words[row.indexOf(weight)], weight, how: weight > 0.8 ? "looks at" : "looks most at" };
}

function verdictText(seen) {
  const { word, weight, how } = most(seen);
  const start = seen.off || `${seen.words[seen.from]} ${how} ${word}, weight ${shown(weight)}.`;
  return seen.from === seen.it ? `${start} Read as: ${reading(seen)}.` : `${start} ${classText(seen)}`;
}

const classText = ({ words, said, from }) => `The model says that ${words[from]} is a ${said.classes[from]} here.`;

function verdict(seen) {
  const { word, how } = most(seen);
  const named = (text, kind) => html`<b class=${kind} lang=${langOf(text)}>${glossed(text)}</b>`;
  const asking = named(seen.words[seen.from], "qkv-asks");
  return html`<p class="qkv-finding">
    <span>${seen.off || html`${asking} ${how} ${named(word, "qkv-looked-to")}.`}</span>
    <span>${
      seen.from === seen.it
        ? html`Read as: <b class="qkv-read-as">${reading(seen)}</b>.`
        : html`Its class: <b class="qkv-read-as">${seen.said.classes[seen.from]}</b>.`
    }</span>
  </p>`;
}

const notKnown = (unknown) =>
  `The model does not know the word${unknown.length > 1 ? "s" : ""} ${unknown.map((word) => `“${word}”`).join(", ")}.`;
const SPELLED = "Known words spelled most like"; // similar in their letters, not in their meaning
const STILL = "The picture still shows the previous sentence.";

/** @param {Problem} found */
const problemText = ({ problem, unknown, nearest }) =>
  problem === "unknown"
    ? `${notKnown(unknown)}${nearest ? ` ${SPELLED} “${unknown[0]}”: ${nearest.join(", ")}.` : ""}`
    : `The model reads 1 to ${theTagger().nMax} words.`;

const examText = ({ handles: turned, marks }) =>
  turned.length && marks ? `It finds the noun in ${Math.round(100 * marks.it)} of ${EXAM_LENGTH} new sentences.` : "";

/* ---- the sentence and its arcs */

/** Return the words with arcs above and beside them. The style shows the arcs that have room. */
function sentence(seen, set, id) {
  const { words } = seen;
  const widths = words.map((word, i) => widthOf(word, words.length > ROOMY ? "" : seen.said.classes[i]));
  return html`<div class="qkv-reading" style="--qkv-n: ${words.length}; --qkv-columns: ${widths.map((w) => `minmax(0, ${w}fr)`).join(" ")}; --qkv-letters: ${sum(widths)}">
    ${arcsAbove(seen, widths)} ${arcsBeside(seen)}
    <fieldset class="qkv-words" @pointerleave=${() => set({ over: -1 })}>
      <legend class="qkv-unseen">the sentence: choose a word to see where it looks, and to change it</legend>
      ${words.map((word, i) => wordOf(word, i, seen, set, id))}
    </fieldset>
  </div>`;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Return the width of a word's column, in letters of the word. Glosses and classes are set in smaller letters. */
const widthOf = (word, kind) =>
  rounded(
    Math.max(
      1.2 + word.length * (CHINESE.test(word) ? 2 : 1),
      0.8 * (GLOSSES.get(word)?.length ?? 0),
      0.8 * kind.length,
    ),
  );

function wordOf(word, i, { said, row, from, changing, it }, set, id) {
  const hover = ({ pointerType }) => pointerType === "mouse" && set({ over: i });
  const state = `${i === from ? "qkv-from" : ""} ${i === changing ? "qkv-changing" : ""}`;
  return html`<label class="qkv-word ${state}" style="--qkv-p: ${rounded(row[i])}" @pointerenter=${hover}>
    <input class="qkv-over" type="radio" name="${id}-word" .checked=${live(i === changing)}
      @change=${() => set({ word: i, changing: i, over: -1 })} @click=${() => set({ word: i, changing: i, over: -1 })}>
    <span class="qkv-weight-of" aria-hidden="true">${row[i] < SEEN ? "" : shown(row[i])}</span>
    <span class="qkv-word-said">
      <span class="qkv-token" lang=${langOf(word)}>${word}</span>
      ${GLOSSES.has(word) ? html`<small class="qkv-gloss">${GLOSSES.get(word)}</small>` : nothing}
      ${i === it ? html`<b class="qkv-read-as" lang=${langOf(said.refersTo.get(i))}>= ${said.refersTo.get(i)}</b>` : nothing}
    </span>
    <small class="qkv-class">${classLabel(said.classes[i], row.length)}</small>
  </label>`;
}

/** Return a word's class, with its short form if the sentence has many words. */
const classLabel = (kind, n) =>
  n > ROOMY
    ? html`<span class="qkv-class-full">${kind}</span><span class="qkv-class-short" aria-hidden="true">${SHORT[kind]}</span>`
    : kind;

/** Return the arcs above the words, in a picture as wide as the words and 10 high. */
function arcsAbove({ row, from }, widths) {
  const total = sum(widths);
  const middle = (i) => rounded((100 * (sum(widths.slice(0, i)) + widths[i] / 2)) / total);
  const path = (i) => {
    const [a, b] = [middle(from), middle(i)];
    if (i === from) return `M${a} 10m-1 0c-2 -4 4 -4 2 0`;
    const top = rounded(10 - Math.min(13, 4 + Math.abs(a - b) / 6));
    return `M${a} 10C${a} ${top} ${b} ${top} ${b} 10`;
  };
  return arcs("qkv-arcs-above", "0 0 100 10", row, path);
}

/** Return the arcs left of the words, in a picture 10 wide with a height of 1 for each word. */
function arcsBeside({ row, from }) {
  const path = (i) => {
    const [a, b] = [from + 0.5, i + 0.5];
    if (i === from) return `M10 ${a}m0 -0.2c-4 -0.2 -4 0.6 0 0.4`;
    const left = rounded(10 - Math.min(13, 4 + 1.8 * Math.abs(a - b)));
    return `M10 ${a}C${left} ${a} ${left} ${b} 10 ${b}`;
  };
  return arcs("qkv-arcs-beside", `0 0 10 ${row.length}`, row, path);
}

const arcs = (
  kind,
  box,
  row,
  path,
) => html`<svg class="qkv-arcs ${kind}" viewBox=${box} preserveAspectRatio="none" aria-hidden="true">
  ${row.map((weight, i) => svg`<path class=${weight < SEEN ? "qkv-arc-none" : ""} style="--qkv-p: ${rounded(weight)}" d=${path(i)} />`)}
</svg>`;

/* ---- changing words */

/** Return the words that can replace a word of a sentence, each with the sentence that results. */
const alternatives = remember((sentence, place) => {
  const { words } = readText(theGrammar(), sentence);
  const changed = (word) => joined(theGrammar().replace(words, place, word));
  return theGrammar()
    .alternatives(words, place)
    .map((word) => ({ word, makes: changed(word) }));
});

/** Return a choice of the words that can replace the chosen word. After a change, the weights of *it* are shown,
 * because those change. */
function picker({ words, changing }, set, id) {
  const sentence = joined(words);
  const offered = alternatives(sentence, changing);
  const word = words[changing];
  const now = offered.find(({ makes }) => makes === sentence);
  const room = CHINESE.test(words[0]) ? "qkv-picker qkv-picker-glossed" : "qkv-picker";
  if (offered.length < 2) {
    return html`<p class="${room} qkv-note">No other word can replace ${glossed(word)} here. Choose another word to change it.</p>`;
  }
  return html`<fieldset class="${room} qkv-control">
    <legend class="qkv-label">change <b lang=${langOf(word)}>${word}</b> to</legend>
    <div>${offered.map(
      (other) => html`<label class="qkv-word-chip qkv-pick">
        <input class="qkv-over" type="radio" name="${id}-other" .checked=${live(other === now)}
          @change=${() => set({ sentence: other.makes, word: -1, over: -1, draft: null })}>
        <span lang=${langOf(other.word)}>${other.word}</span>${GLOSSES.has(other.word) ? html` <small>${GLOSSES.get(other.word)}</small>` : nothing}
      </label>`,
    )}</div>
  </fieldset>`;
}

/** Return a field for the sentence, with the words that may come next, or those spelled most like an unknown one. */
function typing({ sentence, draft }, set) {
  const write = (text) => {
    const { words } = readText(theGrammar(), text);
    const readable = words?.length > 0 && words.length <= theTagger().nMax;
    set({ draft: text, over: -1, ...(readable ? { sentence: joined(words), word: -1, changing: -1 } : {}) });
  };
  return html`<div class="qkv-typing">
    <label class="qkv-control"><span class="qkv-label">the sentence</span>
      <textarea autocomplete="off" autocapitalize="none" spellcheck="false" .value=${live(draft ?? sentence)}
        @keydown=${noNewLine} @input=${({ target }) => write(target.value)}></textarea></label>
    ${draft === null ? examples(sentence, set) : answer(draft, write)}
  </div>`;
}

/** Keep line breaks out of the field, which has several lines only because a sentence can be long. */
const noNewLine = (event) => event.key === "Enter" && event.preventDefault();

/** Return the first words of a long sentence. */
const shortened = (text) => (text.length > 20 ? `${text.split(" ").slice(0, 3).join(" ")} …` : text);

const examples = (sentence, set) =>
  html`<div class="qkv-offers">${EXAMPLES.filter((text) => text !== sentence).map((text) =>
    offer(text, shortened(text), () => set({ sentence: text, word: -1, changing: -1, over: -1 })),
  )}</div>`;

function answer(draft, write) {
  const { words, unknown, nearest } = readText(theGrammar(), draft);
  if (unknown) {
    const [first] = unknown;
    return html`<div class="qkv-offers"><span>${notKnown(unknown)} ${STILL} ${SPELLED} “${first}”:</span>
      ${nearest.map((word) => offer(word, word, () => write(mended(draft, first, word))))}</div>`;
  }
  if (words?.length > theTagger().nMax)
    return html`<div class="qkv-offers">${problemText({ problem: "length" })} ${STILL}</div>`;
  const next = completions(theGrammar(), draft);
  if (words && !next.words.length) {
    const known = theGrammar().read(words);
    return html`<div class="qkv-offers">${known ? "" : "The model was trained on no sentence like this, but it still answers."}</div>`;
  }
  return html`<div class="qkv-offers">${next.words.map((word) => offer(word, glossed(word), () => write(withWord(next.start, word))))}</div>`;
}

const offer = (text, label, onClick) =>
  html`<button type="button" class="qkv-word-chip qkv-pick" lang=${langOf(text)} @click=${onClick}>${label}</button>`;

/* ---- handles */

const HANDLES = {
  temperature: ({ temperature }, set) =>
    logSlider({
      label: html`temperature, <var>T</var>`,
      value: temperature,
      min: 0.01,
      max: 1000,
      onInput: (value) => set({ temperature: value }),
    }),
  scale: ({ scaled }, set) =>
    toggle({
      label: html`divide by √<var>d<sub>k</sub></var>`,
      checked: scaled,
      onChange: (value) => set({ scaled: value }),
    }),
  positions: ({ positions }, set) =>
    toggle({ label: "positions", checked: positions, onChange: (value) => set({ positions: value }) }),
  heads: ({ heads }, set) =>
    switches(
      LAYERS.flatMap((l) =>
        HEADS.map((h) => ({
          label: `layer ${l + 1}, head ${h + 1}`,
          checked: heads[l][h],
          onChange: (value) =>
            set({ heads: heads.map((row, i) => row.map((on, j) => (i === l && j === h ? value : on))) }),
        })),
      ),
    ),
  layers: ({ layers }, set) =>
    switches(
      LAYERS.map((l) => ({
        label: `layer ${l + 1}`,
        checked: layers[l],
        onChange: (value) => set({ layers: layers.map((on, i) => (i === l ? value : on)) }),
      })),
    ),
};

/** Return switches of one kind; the style puts them into one line if it has room. */
const switches = (all) => html`<div class="qkv-switches">${all.map(toggle)}</div>`;

function handles(state, set) {
  const { marks } = state;
  const share = (part) =>
    html`<span class=${marks ? "qkv-exam-share" : "qkv-exam-share qkv-unmarked"}>${marks ? num(100 * part(marks), { places: 0 }) : "…"}</span>`; // the style makes it as wide as 100
  return html`<div class="qkv-handles">
    <div class="qkv-controls">${state.handles.map((name) => HANDLES[name](state, set))}</div>
    <div class="qkv-exam" style="--qkv-right: ${marks?.it ?? 0}">
      ${readings([
        [html`<i>it</i> right`, share(({ it }) => it), `of ${EXAM_LENGTH} new sentences`],
        ["classes right", share(({ words }) => words), "%"],
      ])}
    </div>
  </div>`;
}

/* ---- numbers */

function matrixOf({ layer, head }, { words, weights, from }, set, id) {
  const choice = (label, name, value) =>
    choices({
      label,
      name: `${id}-${name}`,
      value,
      options: [1, 2, "both"].map((each) => ({ value: each, label: each })),
      onChange: (chosen) => set({ [name]: chosen }),
    });
  return html`<div class="qkv-all">
    <div class="qkv-controls">${choice("layer", "layer", layer)} ${choice("head", "head", head)}</div>
    <p class="qkv-note">Each row is a word; along it, how much it looks at each word. A row sums to 1. Press a row to choose its word.</p>
    <div class="qkv-weights" tabindex="0" role="group" aria-label="weights">
      <table>
        <thead><tr><td></td>${words.map((word) => html`<th scope="col" lang=${langOf(word)}><span>${word}</span></th>`)}</tr></thead>
        <tbody>${words.map(
          (word, i) =>
            html`<tr class=${i === from ? "qkv-row-from" : ""} @click=${() => set({ word: i, changing: i, over: -1 })}><th scope="row" lang=${langOf(word)}>${word}</th>${weights[
              i
            ].map(
              (weight) => html`<td class="qkv-heat" style="--qkv-p: ${rounded(weight)}">${shown(weight)}</td>`,
            )}</tr>`,
        )}</tbody>
      </table>
    </div>
  </div>`;
}

const numbers = ({ words, said, row, from }) => [
  {
    caption: `What the model says about each word, and the weights of ${words[from]}`,
    head: ["word", "class", "stands for", "weight"],
    rows: words.map((word, i) => [glossed(word), said.classes[i], said.refersTo.get(i) ?? "–", shown(row[i])]),
  },
];

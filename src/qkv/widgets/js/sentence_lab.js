import { live } from "lit-html/directives/live.js";
import {
  button,
  dragged,
  html,
  logSlider,
  nothing,
  num,
  partAt,
  remember,
  svg,
  t,
  tables,
  toggle,
  widget,
  wordAt,
} from "./base.js";
import { className } from "./class_names.js";
import { EXAM_LENGTH, examiner } from "./exam.js";
import { GLOSSES } from "./glosses.js";
import { tag } from "./tagger.js";
import { theGrammar, theTagger } from "./trained.js";
import { completions, mended, readText, withWord } from "./typing.js";

const LAYERS = [0, 1];
const HEADS = [0, 1];
const SEEN = 0.005; // a smaller weight is drawn as 0
const CHINESE = /[\u4e00-\u9fff]/;
const SHADES = 8; // of a small map; a weight below half of one is not drawn
const LARGE = 0.15; // a smaller weight is only a colour among the weights of all words
const OFFERED = 6; // so many words are offered to replace one; a press on it goes through all of them
const ROOMY = 8; // the number of words up to which each has room for its class below it
const EXAMPLES = ["the cat chased the mouse because it was hungry", "I saw a saw", "貓追老鼠因為它餓了"];
/** @type {Record<string, () => string>} */
const MODES = { changing: () => t`change`, typing: () => t`type a sentence`, matrix: () => t`all weights` };

/** @import { SetState } from "./base.js" */
/** @import { Places } from "./engine/trained.js" */
/** @typedef {{ sentence: string, word: number, layer: 1 | 2 | "both", head: 1 | 2 | "both", matrix: boolean,
 *   temperature: number, scaled: boolean, positions: boolean, heads: boolean[][], layers: boolean[], handles: string[],
 *   changing: number, typing: boolean, draft: string | null, turning: string, marks: boolean[] | null }} State */
/** @typedef {Event & { target: HTMLInputElement }} Pressed */
/** @typedef {{ problem: "unknown", unknown: string[] }
 *   | { problem: "length", unknown?: undefined }} Problem */
/** @typedef {object} Seen
 * @property {undefined} [problem]
 * @property {string[]} words
 * @property {ReturnType<typeof tag>} said
 * @property {{ word: string, makes: string }[][]} exchanges
 * @property {number} it
 * @property {number} from
 * @property {number} changing
 * @property {number[][]} weights
 * @property {number[]} row
 * @property {string} off */
/** @typedef {(string | [text: string, kind: string])[]} Finding texts, with the class of each that has a colour */

export default widget("SentenceLab", {
  // The index of the word that is being changed (−1: the last that can be), whether the sentence is typed, the text that
  // was typed since then, the handle that is shown if there are many, and for each sentence of the exam whether its noun was found.
  own: { changing: -1, typing: false, draft: null, turning: "", marks: null },
  setup: ({ state, set, eachDrawing }) => {
    if (state.handles.length === 0) return undefined;
    const { check, close } = examiner({ settings: () => settings(state), report: (marks) => set({ marks }) });
    eachDrawing(check);
    check();
    return close;
  },
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    return seen.problem ? problemText(seen) : [findingText(seen), examText(state)].join(" ").trim();
  },
  view: (state, set, id) => {
    const seen = computed(state);
    return html`
      ${state.handles.length ? handles(seen, state, set, id) : nothing}
      ${finding(seen)}
      ${state.matrix && !seen.problem ? matrixOf(seen, set, id) : sentence(seen, state, set, id)}
      ${state.handles.length ? nothing : modes(state, set, id)}
      ${state.typing || seen.problem ? field(state, set) : nothing}
      ${tables(() => (seen.problem ? [] : numbers(seen)))}`;
  },
});

/* ---- the model's output for a state */

/** @param {State} parts */
const settings = ({ temperature, scaled, positions, heads, layers }) => ({
  temperature,
  scaled,
  positions,
  heads,
  layers,
});

const read = remember((/** @type {string} */ text) => readText(theGrammar(), text));

const tagged = remember(
  (
    /** @type {string[]} */ words,
    /** @type {number} */ temperature,
    /** @type {boolean} */ scaled,
    /** @type {boolean} */ positions,
    /** @type {boolean[][]} */ heads,
    /** @type {boolean[]} */ layers,
  ) => tag(theTagger(), words, { temperature, scaled, positions, heads, layers }),
);

/** Return the values that the drawing of a state needs, or the problem with a sentence that the model cannot read.
 * @param {State} state
 * @returns {Problem | Seen} */
function computed(state) {
  const { words, unknown, unfinished } = read(state.sentence);
  if (!words) return { problem: "unknown", unknown: unknown ?? [unfinished] };
  if (!isReadable(words)) return { problem: "length" };
  const said = tagged(words, state.temperature, state.scaled, state.positions, state.heads, state.layers);
  const it = [...said.refersTo.keys()][0] ?? -1;
  const followed = state.word < 0 ? it : state.word;
  const from = followed < 0 || followed >= words.length ? words.length - 1 : followed;
  const exchanges = exchangesIn(joined(words));
  const changing = exchanges[state.changing]?.length ? state.changing : exchanges.findLastIndex(({ length }) => length);
  const weights = weightsOf(said.places, words.length, state);
  const off = shownHeads(state).length ? "" : offText(state);
  return { words, said, exchanges, it, from, changing, weights, row: weights[from], off };
}

/** Check whether the model can read these words.
 * @param {string[] | undefined} words
 * @returns {words is string[]} */
const isReadable = (words) => words !== undefined && words.length > 0 && words.length <= theTagger().shape.longest;

/** Return for each word of a sentence the words that can stand in its place, each with the sentence that results; none
 * if there is only one. */
const exchangesIn = remember((/** @type {string} */ sentence) => {
  const words = /** @type {string[]} */ (readText(theGrammar(), sentence).words);
  return words.map((_, place) => {
    const all = theGrammar().alternatives(words, place);
    return all.length < 2 ? [] : all.map((word) => ({ word, makes: joined(theGrammar().replace(words, place, word)) }));
  });
});

/** Return the mean weights (n, n) of the chosen layers and heads that are on.
 * @param {Places} places
 * @param {number} n
 * @param {State} state */
function weightsOf(places, n, state) {
  const tablesOf = shownHeads(state).map(([l, h]) => places[`${l}.attention.weights`].subarray(h * n * n));
  const mean = (/** @type {number} */ i, /** @type {number} */ j) =>
    tablesOf.reduce((sum, table) => sum + table[i * n + j], 0) / Math.max(1, tablesOf.length);
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => mean(i, j)));
}

/** Return layer and head of each head that the arcs show; heads that are switched off are left out.
 * @param {State} parts */
const shownHeads = ({ layer, head, layers, heads }) =>
  chosenOf(LAYERS, layer).flatMap((l) =>
    chosenOf(HEADS, head).flatMap((h) => (layers[l] && heads[l][h] ? [[l, h]] : [])),
  );

/** Say which heads are off, if those are all that the arcs show.
 * @param {State} parts */
const offText = ({ layer, head }) =>
  layer === "both" || head === "both" ? t`these heads are off` : t`layer ${layer}, head ${head} is off`;

/** @param {number[]} all
 * @param {1 | 2 | "both"} choice */
const chosenOf = (all, choice) => (choice === "both" ? all : [choice - 1]);

const shown = (/** @type {number} */ weight) => num(weight, { places: 2 });
const rounded = (/** @type {number} */ number) => Math.round(100 * number) / 100;
/** @param {string} word */
const langOf = (word) => (CHINESE.test(word) ? "zh-Hant" : nothing);
const joined = (/** @type {string[]} */ words) => words.join(words.some((word) => CHINESE.test(word)) ? "" : " ");
const glossed = (/** @type {string} */ word) => (GLOSSES.has(word) ? `${word} (${GLOSSES.get(word)})` : word);

/* ---- texts */

/** Return the sentence from *it* on, with the noun in the place of *it*: the cat was hungry.
 * @param {Seen} parts */
function reading({ words, said, it }) {
  const rest = words.slice(it + 1);
  const noun = /** @type {string} */ (said.refersTo.get(it));
  if (!CHINESE.test(words[it])) return ["the", noun, ...rest].join(" ");
  return `${joined([noun, ...rest])} (${[noun, ...rest].map((word) => GLOSSES.get(word) ?? word).join(" ")})`;
}

/** Return which word the chosen word looks at most, or that it looks at all alike.
 * @param {Seen} parts */
function looked({ words, row, from }) {
  const weight = Math.max(...row);
  const word = words[row.indexOf(weight)];
  if (row.length > 1 && weight - Math.min(...row) < SEEN) return { isAlike: true, what: t`all words alike` };
  const what = row.indexOf(weight) === from ? t`itself` : glossed(word);
  return { word, weight, what };
}

/** Return what the chosen word looks at.
 * @param {Seen} seen
 * @returns {Finding} */
function looking(seen) {
  /** @type {[string, string]} */
  const asking = [glossed(seen.words[seen.from]), "qkv-asks"];
  if (seen.off) return t`${asking} looks at nothing: ${seen.off}.`;
  const { isAlike, weight = 0, what } = looked(seen);
  /** @type {[string, string]} */
  const target = [what, "qkv-looked-to"];
  return isAlike || weight > 0.8 ? t`${asking} looks at ${target}.` : t`${asking} looks most at ${target}.`;
}

/** Return the model's answer: the noun of *it*, or in a sentence without *it* the class of the chosen word.
 * @param {Seen} seen
 * @returns {Finding} */
function answer(seen) {
  const { words, said, it, from, off } = seen;
  if (it < 0) return classAnswer(seen);
  const found = /** @type {string} */ (said.refersTo.get(it));
  /** @type {[string, string]} */
  const noun = [CHINESE.test(words[it]) ? glossed(found) : found, "qkv-read-as"]; // in English, a word of Chinese is wrong anyway
  if (!words.includes(found)) return t`The answer ${noun} is not in the sentence.`;
  const { isAlike, word } = looked(seen);
  if (from === it && !off && !isAlike && word !== found) return t`But the answer is ${noun}: an arc is no proof.`;
  return t`Read as: ${[reading(seen), "qkv-read-as"]}.`;
}

/** Return the class of the chosen word, and the classes of the same word at other places of the sentence.
 * @param {Seen} parts
 * @returns {Finding} */
function classAnswer({ words, said, from }) {
  const named = (/** @type {string[]} */ classes) =>
    /** @type {[string, string]} */ ([classes.map(className).join(", "), "qkv-read-as"]);
  const elsewhere = said.classes.filter((_, i) => i !== from && words[i] === words[from]);
  const own = named([said.classes[from]]);
  return elsewhere.length ? t`Its class: ${own}. Elsewhere: ${named(elsewhere)}.` : t`Its class: ${own}.`;
}

const plain = (/** @type {Finding} */ parts) =>
  parts.map((part) => (typeof part === "string" ? part : part[0])).join("");

/** @param {Seen} seen */
function findingText(seen) {
  const { weight } = looked(seen);
  const measured = seen.off || weight === undefined ? "" : t` The weight is ${shown(weight)}.`;
  return `${plain(looking(seen))}${measured} ${plain(answer(seen))}`;
}

/** @param {Problem | Seen} seen */
const finding = (seen) =>
  html`<p class="qkv-finding">${seen.problem ? problemText(seen) : [looking(seen), answer(seen)].map(findingLine)}</p>`;

const findingLine = (/** @type {Finding} */ parts) =>
  html`<span>${parts.map((part) =>
    typeof part === "string" ? part : html`<b class=${part[1]} lang=${langOf(part[0])}>${part[0]}</b>`,
  )}</span>`;

/** @param {Problem} found */
const problemText = ({ problem, unknown }) => (problem === "unknown" ? notKnown(unknown) : TOO_LONG());

const notKnown = (/** @type {string[]} */ unknown) =>
  unknown.length > 1
    ? t`The model does not know the words ${unknown.map((word) => t`“${word}”`).join(t`, `)}.`
    : t`The model does not know the word ${t`“${unknown[0]}”`}.`;
const TOO_LONG = () => t`The model reads 1 to ${theTagger().shape.longest} words.`;

const examText = (/** @type {State} */ { marks }) =>
  marks === null ? "" : t`It finds the right noun in ${rightIn(marks)} of ${EXAM_LENGTH} new sentences.`;

const rightIn = (/** @type {boolean[]} */ marks) => marks.filter(Boolean).length;

/* ---- the sentence and its arcs */

/** Return the words with arcs above and beside them, and beside them what can be chosen. The style shows the arcs that
 * have room.
 * @param {Problem | Seen} seen
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function sentence(seen, state, set, id) {
  const side = aside(seen, state, set, id);
  if (seen.problem) return html`<div class="qkv-reading">${side}</div>`;
  const { words } = seen;
  const widths = words.map((word, i) => widthOf(word, hasClasses(seen) ? className(seen.said.classes[i]) : ""));
  return html`<div class="qkv-reading" style="--qkv-n: ${words.length}; --qkv-columns: ${widths.map((w) => `minmax(0, ${w}fr)`).join(" ")}; --qkv-letters: ${sum(widths)}">
    <p class="qkv-who qkv-label" aria-hidden="true">${t`who looks?`}</p>
    ${arcsAbove(seen, widths, set)} ${arcsBeside(seen, set)}
    <div class="qkv-words" role="group" aria-label=${t`the sentence`}>${words.map((_, i) => wordOf(i, seen, set, id))}</div>
    ${side}
  </div>`;
}

const sum = (/** @type {number[]} */ numbers) => numbers.reduce((total, number) => total + number, 0);
const hasClasses = (/** @type {Seen} */ { it, words }) => it < 0 && words.length <= ROOMY;

/** Return the width of a word's column, in letters of the word. Glosses and classes are set in smaller letters.
 * @param {string} word
 * @param {string} kind */
const widthOf = (word, kind) =>
  rounded(
    Math.max(
      1.5 + word.length * (CHINESE.test(word) ? 2 : 1),
      0.8 * (GLOSSES.get(word)?.length ?? 0),
      0.8 * kind.length,
    ),
  );

/** @param {number} i
 * @param {Seen} seen
 * @param {SetState<State>} set
 * @param {string} id */
function wordOf(i, seen, set, id) {
  const { words, said, row, from, it, changing, exchanges } = seen;
  const word = words[i];
  const meant = said.refersTo.get(i) ?? "";
  const token = html`<span class="qkv-token" lang=${langOf(word)}>${word}</span>`;
  return html`<div class="qkv-word ${i === from ? "qkv-from" : ""}" style="--qkv-p: ${rounded(row[i])}">
    ${look(i, seen, set, id)}
    ${
      exchanges[i].length
        ? html`<label class="qkv-exchange"><input class="qkv-over" type="radio" name="${id}-word" aria-label=${t`change ${wordAt(words, i)}`}
            .checked=${live(i === changing)} @change=${() => set({ changing: i, draft: null })}
            @click=${() => i === changing && set({ sentence: nextOf(seen).makes, draft: null })}>${token}${i === changing ? html`<i class="qkv-badge" aria-hidden="true">↻</i>` : nothing}</label>`
        : html`<label for="${id}-look-${i}">${token}</label>`
    }
    ${GLOSSES.has(word) ? html`<small class="qkv-gloss">${GLOSSES.get(word)}</small>` : nothing}
    ${i === it ? html`<b class="qkv-read-as" lang=${langOf(meant)}>= ${meant}</b>` : nothing}
    <span class="qkv-weight-of" aria-hidden="true">${row[i] < SEEN ? "" : shown(row[i])}</span>
    ${hasClasses(seen) ? html`<small class="qkv-class">${className(said.classes[i])}</small>` : nothing}
  </div>`;
}

/** Return what a press on the word that is changed puts in its place: the words from the last to the first, so that
 * *hungry* becomes *tasty*.
 * @param {Seen} parts */
function nextOf({ words, changing, exchanges }) {
  const all = exchanges[changing];
  const now = all.findIndex(({ makes }) => makes === joined(words));
  return all[(now + all.length - 1) % all.length];
}

/** Return the choice of a word as the one that looks.
 * @param {number} i
 * @param {Seen} parts
 * @param {SetState<State>} set
 * @param {string} id */
const look = (i, { words, from }, set, id) =>
  html`<label class="qkv-look"><input id="${id}-look-${i}" type="radio" name="${id}-look" aria-label=${t`where ${wordAt(words, i)} looks`}
    .checked=${live(i === from)} @change=${() => set({ word: i })}></label>`;

/** Return the arcs above the words, in a picture as wide as the words and 10 high. A drag takes their common end to
 * another word, which then looks.
 * @param {Seen} parts
 * @param {number[]} widths
 * @param {SetState<State>} set */
function arcsAbove({ row, from }, widths, set) {
  const total = sum(widths);
  const ends = widths.map((_, i) => sum(widths.slice(0, i + 1)) / total);
  const grab = dragged(({ x }) => set({ word: ends.filter((end) => end < x - 1e-9).length }));
  const middle = (/** @type {number} */ i) => rounded((100 * (sum(widths.slice(0, i)) + widths[i] / 2)) / total);
  const path = (/** @type {number} */ i) => {
    const [a, b] = [middle(from), middle(i)];
    if (i === from) return `M${a} 10m-1 0c-2 -4 4 -4 2 0`;
    const top = rounded(10 - Math.min(13, 4 + Math.abs(a - b) / 6));
    return `M${a} 10C${a} ${top} ${b} ${top} ${b} 10`;
  };
  return arcs("qkv-arcs-above", "0 0 100 10", row, path, grab);
}

/** Return the arcs left of the words, in a picture 10 wide with a height of 1 for each word. They are dragged, too.
 * @param {Seen} parts
 * @param {SetState<State>} set */
function arcsBeside({ row, from }, set) {
  const grab = dragged(({ y }) => set({ word: partAt(y, row.length) }));
  const path = (/** @type {number} */ i) => {
    const [a, b] = [from + 0.5, i + 0.5];
    if (i === from) return `M10 ${a}m0 -0.2c-4 -0.2 -4 0.6 0 0.4`;
    const left = rounded(10 - Math.min(13, 4 + 1.8 * Math.abs(a - b)));
    return `M10 ${a}C${left} ${a} ${left} ${b} 10 ${b}`;
  };
  return arcs("qkv-arcs-beside", `0 0 10 ${row.length}`, row, path, grab);
}

/** @param {string} kind
 * @param {string} box
 * @param {number[]} row
 * @param {(i: number) => string} path
 * @param {ReturnType<typeof dragged>} grab */
const arcs = (
  kind,
  box,
  row,
  path,
  grab,
) => html`<svg class="qkv-arcs qkv-drag ${kind}" viewBox=${box} preserveAspectRatio="none" aria-hidden="true"
    @pointerdown=${grab} @pointermove=${grab}>
  ${row.map((weight, i) => svg`<path class=${weight < SEEN ? "qkv-arc-none" : ""} style="--qkv-p: ${rounded(weight)}" d=${path(i)} />`)}
</svg>`;

/* ---- beside the sentence: words for the one that is being changed, or for the text that is being typed */

/** Return what can be chosen, at the height of the word that it changes.
 * @param {Problem | Seen} seen
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function aside(seen, state, set, id) {
  const draft = notDrawn(state) ?? (seen.problem ? state.sentence : null);
  const at = seen.problem || draft !== null ? 0 : Math.max(0, seen.changing) / (Math.max(ROOMY, seen.words.length) - 1);
  return html`<div class="qkv-aside" style="--qkv-at: ${rounded(at)}">${draft !== null ? offers(draft, set) : state.typing ? nothing : picker(/** @type {Seen} */ (seen), set, id)}</div>`;
}

/** Return a choice of the words that can replace the one that is being changed.
 * @param {Seen} parts
 * @param {SetState<State>} set
 * @param {string} id */
function picker({ words, changing, exchanges }, set, id) {
  if (changing < 0) return html`<p class="qkv-note">${t`The model was trained on no sentence like this.`}</p>`;
  const word = words[changing];
  return pills({
    label: t`change ${html`<b lang=${langOf(word)}>${word}</b>`} to`,
    name: `${id}-other`,
    value: joined(words),
    options: exchanges[changing]
      .filter(({ makes }, i) => i < OFFERED || makes === joined(words))
      .map((other) => ({ value: other.makes, label: chipText(other.word) })),
    onChange: (sentence) => set({ sentence }),
  });
}

const chipText = (/** @type {string} */ word) =>
  html`<span lang=${langOf(word)}>${word}</span>${GLOSSES.has(word) ? html`<small>${GLOSSES.get(word)}</small>` : nothing}`;

/** Return radio buttons as words in boxes.
 * @param {{ label: unknown, name: string, value: string, options: { value: string, label: unknown }[],
 *   onChange: (value: string, event: Pressed) => void }} parts */
const pills = ({ label, name, value, options, onChange }) => html`<fieldset class="qkv-control">
  <legend class="qkv-label">${label}</legend>
  <div class="qkv-chips">${options.map(
    (option) => html`<label class="qkv-chip qkv-pick">
      <input class="qkv-over" type="radio" name=${name} .checked=${live(option.value === value)} @change=${(/** @type {Pressed} */ event) => onChange(option.value, event)}>
      ${option.label}</label>`,
  )}</div>
</fieldset>`;

/** Return words for a text that is being typed: those that may come next, or that fit in the place of an unknown one.
 * @param {string} draft
 * @param {SetState<State>} set */
function offers(draft, set) {
  const { words, unknown, nearest } = readText(theGrammar(), draft);
  if (unknown) {
    const [first] = unknown;
    return offered(
      t`These fit:`,
      nearest.map((word) => [word, () => write(mended(draft, first, word), set)]),
    );
  }
  if (words && words.length > theTagger().shape.longest) return offered(TOO_LONG(), []);
  const next = completions(theGrammar(), draft);
  if (next.words.length || !words?.length)
    return offered(
      t`next word`,
      next.words.map((word) => [word, () => write(withWord(next.start, word), set)]),
    );
  return offered(t`The model was trained on no sentence like this.`, [[t`read it anyway`, () => set(drawn(words))]]);
}

/** @param {string} label
 * @param {[word: string, onClick: () => void][]} choices */
const offered = (label, choices) => html`<p class="qkv-label">${label}</p>
  <div class="qkv-chips">${choices.map(([word, onClick]) => chip(chipText(word), onClick))}</div>`;

/** @param {unknown} label
 * @param {() => void} onClick
 * @param {unknown} [isNow] whether what the button draws is drawn now */
const chip = (label, onClick, isNow = nothing) =>
  html`<button type="button" class="qkv-chip qkv-pick" aria-pressed=${isNow} @click=${onClick}>${label}</button>`;

/** Return the first letters of a text.
 * @param {string} text
 * @param {number} most */
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most).trimEnd()} …` : text);

/* ---- below the sentence */

/** @param {State} parts
 * @param {SetState<State>} set
 * @param {string} id */
const modes = ({ matrix, typing }, set, id) =>
  html`<div class="qkv-modes">${pills({
    label: html`<span class="qkv-unseen">${t`what to do with the sentence`}</span>`,
    name: `${id}-mode`,
    value: matrix ? "matrix" : typing ? "typing" : "changing",
    options: Object.entries(MODES).map(([value, label]) => ({ value, label: label() })),
    onChange: (mode, { target }) => {
      set({ matrix: mode === "matrix", typing: mode === "typing", draft: null });
      if (mode === "typing") requestAnimationFrame(() => goToField(target));
    },
  })}</div>`;

/** Bring the field into view after a press on its mode, ready to be typed in. Who came by arrow keys goes on with them.
 * @param {HTMLInputElement} mode */
function goToField(mode) {
  if (mode.matches(":focus-visible")) return;
  const field = mode.closest(".qkv-widget")?.querySelector("textarea");
  field?.focus({ preventScroll: true });
  // The page learns the widget's new height after this frame.
  requestAnimationFrame(() => field?.closest(".qkv-typing")?.scrollIntoView({ block: "nearest" }));
}

/** Return the changes that draw a sentence.
 * @param {string[]} words */
const drawn = (words) => ({ sentence: joined(words), draft: null, word: -1, changing: -1 });

/** Return the text that is being typed, or null if it is the sentence that is drawn.
 * @param {State} state */
const notDrawn = ({ draft, sentence }) =>
  draft !== null && joined(readText(theGrammar(), draft).words ?? []) === sentence ? null : draft;

/** Take a text that is being typed. It is drawn once it is a whole sentence of the grammar, and stays as it was typed: more
 * words may follow.
 * @param {string} text
 * @param {SetState<State>} set */
function write(text, set) {
  const { words } = readText(theGrammar(), text);
  const isWhole = isReadable(words) && theGrammar().read(words);
  set({ ...(isWhole ? drawn(words) : {}), draft: text });
}

/** Return a field for the sentence, and examples.
 * @param {State} state
 * @param {SetState<State>} set */
function field(state, set) {
  const { sentence, draft } = state;
  const finish = (/** @type {KeyboardEvent & { target: HTMLTextAreaElement }} */ event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the field has several lines only because a sentence can be long
    const { words } = readText(theGrammar(), event.target.value);
    if (isReadable(words)) set(drawn(words));
  };
  const [unknown] = draft === null ? [] : (readText(theGrammar(), draft).unknown ?? []);
  return html`<div class="qkv-typing">
    <label class="qkv-control"><span class=${unknown ? "qkv-unseen" : "qkv-label"}>${t`your sentence, drawn when it is whole`}</span>
      ${unknown ? html`<b>${t`The model does not know “${shortened(unknown, 12)}”.`}</b>` : nothing}
      <textarea autocomplete="off" autocapitalize="none" spellcheck="false" enterkeyhint="done" .value=${live(draft ?? sentence)}
        @keydown=${finish} @input=${(/** @type {{ target: HTMLTextAreaElement }} */ { target }) => write(target.value, set)}></textarea></label>
    <div class="qkv-chips">${EXAMPLES.map((text) =>
      chip(
        html`<span lang=${langOf(text)}>${shortened(text, CHINESE.test(text) ? 4 : 14)}</span>`,
        () => write(text, set),
        notDrawn(state) === null && text === sentence,
      ),
    )}</div>
  </div>`;
}

/* ---- handles */

const COLDEST = 0.01;
const HOTTEST = 1000;
const HALF_WRONG = 24; // the temperature at which half of the answers are wrong

const TOGETHER = 2; // so many handles are shown at once; of more, one at a time

/** @type {Record<string, { name: () => unknown, isMoved: (state: State) => boolean }>} */
const NAMES = {
  scale: { name: () => ROOT(), isMoved: ({ scaled }) => !scaled },
  temperature: { name: () => html`<var>T</var>`, isMoved: ({ temperature }) => temperature !== 1 },
  heads: { name: () => t`heads`, isMoved: ({ heads }) => !heads.flat().every(Boolean) },
  positions: { name: () => t`positions`, isMoved: ({ positions }) => !positions },
  layers: { name: () => t`layers`, isMoved: ({ layers }) => !layers.every(Boolean) },
};
const AS_TRAINED = {
  scaled: true,
  temperature: 1,
  positions: true,
  heads: [
    [true, true],
    [true, true],
  ],
  layers: [true, true],
};
const ROOT = () => html`√${html`<var>d<sub>k</sub></var>`}`;

/** @type {Record<string, (state: State, set: SetState<State>, seen: Problem | Seen) => unknown>} */
const HANDLES = {
  temperature: ({ temperature }, set) => html`<div class="qkv-heated">
    ${logSlider({
      label: t`temperature, ${html`<var>T</var>`}`,
      value: temperature,
      min: COLDEST,
      max: HOTTEST,
      text: num(temperature, { places: Math.min(3, String(temperature).split(".")[1]?.length ?? 0) }),
      onInput: (value) => set({ temperature: value }),
    })}
    <div class="qkv-ticks" aria-hidden="true">${heatMark(1, t`trained`)}${heatMark(HALF_WRONG, t`half wrong`)}</div>
  </div>`,
  scale: ({ scaled }, set) =>
    toggle({
      label: t`divide by √${html`<var>d<sub>k</sub></var>`}`,
      checked: scaled,
      onChange: (value) => set({ scaled: value }),
    }),
  positions: ({ positions }, set, seen) => html`
    ${toggle({ label: t`positions`, checked: positions, onChange: (value) => set({ positions: value }) })}
    ${button({ label: t`⇅ exchange nouns`, disabled: !exchanged(seen), onClick: (event) => exchange(event, seen, set) })}`,
};

/** Return a mark below the slider, at a temperature.
 * @param {number} temperature
 * @param {string} label */
const heatMark = (temperature, label) =>
  html`<span style="--qkv-at: ${rounded(Math.log(temperature / COLDEST) / Math.log(HOTTEST / COLDEST))}">${label}</span>`;

/** Return the sentence with its two nouns exchanged, and their places; none if it has not two.
 * @param {Problem | Seen} seen */
function exchanged(seen) {
  const known = seen.problem ? null : theGrammar().read(seen.words);
  const nouns = (known?.classes ?? []).flatMap((kind, i) => (kind === "noun" ? [i] : []));
  if (!known || nouns.length !== 2) return null;
  const [a, b] = nouns;
  const words = known.words.map((word, i) => known.words[i === a ? b : i === b ? a : i] ?? word);
  return { nouns, sentence: joined(theGrammar().agree(known.language, words)) };
}

const MOVES = 400; // ms in which two nouns change their places

/** Exchange the two nouns. They are seen to move.
 * @param {MouseEvent & { currentTarget: HTMLElement }} event
 * @param {Problem | Seen} seen
 * @param {SetState<State>} set */
function exchange({ currentTarget }, seen, set) {
  const found = exchanged(seen);
  if (!found) return;
  const [a, b] = found.nouns;
  const tokens = currentTarget.closest(".qkv-widget")?.querySelectorAll(".qkv-token") ?? [];
  set({ sentence: found.sentence, draft: null });
  if (!tokens.length || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  requestAnimationFrame(() => {
    const [first, second] = [tokens[a], tokens[b]].map((token) => token.getBoundingClientRect());
    const [x, y] = [second.left - first.left, second.top - first.top];
    for (const [i, side] of [
      [a, 1],
      [b, -1],
    ])
      tokens[i].animate([{ translate: `${side * x}px ${side * y}px` }, { translate: "0 0" }], {
        duration: MOVES,
        easing: "ease-in-out",
      });
  });
}

/** Return for each layer its name or its switch, and its heads as small maps of their weights.
 * @param {string[]} names of the handles that are shown
 * @param {Problem | Seen} seen
 * @param {State} state
 * @param {SetState<State>} set */
function board(names, seen, state, set) {
  if (!names.includes("heads") && !names.includes("layers")) return nothing;
  const { layers } = state;
  const turn = (/** @type {number} */ l) => (/** @type {boolean} */ now) =>
    set({ layers: layers.map((on, i) => (i === l ? now : on)) });
  return html`<div class="qkv-board">${LAYERS.map((l) => {
    const label = t`layer ${l + 1}`;
    return html`<div>
      <div>${names.includes("layers") ? toggle({ label, checked: layers[l], onChange: turn(l) }) : html`<span class="qkv-label">${label}</span>`}</div>
      ${names.includes("heads") ? HEADS.map((h) => headMap(seen, l, h, state, set)) : nothing}
    </div>`;
  })}</div>`;
}

/** Return a head's weights as a small map: queries down, keys across. A press switches the head off or on. A map whose
 * weights are the arcs has an arc on it.
 * @param {Problem | Seen} seen
 * @param {number} l
 * @param {number} h
 * @param {State} state
 * @param {SetState<State>} set */
function headMap(seen, l, h, state, set) {
  const { heads, layers } = state;
  const isDrawn = state.layer !== "both" && shownHeads(state).some(([layer, head]) => layer === l && head === h);
  const name = t`layer ${l + 1}, head ${h + 1}`;
  const change = (/** @type {Event & { target: HTMLInputElement }} */ { target }) =>
    set({ heads: heads.map((row, i) => row.map((on, j) => (i === l && j === h ? target.checked : on))) });
  return html`<label class="qkv-head ${layers[l] && heads[l][h] ? "" : "qkv-head-off"} ${isDrawn ? "qkv-head-drawn" : ""}">
    <input class="qkv-over" type="checkbox" role="switch" aria-label=${isDrawn ? t`${name}: its weights are the arcs` : name} .checked=${live(heads[l][h] && layers[l])} ?disabled=${!layers[l]} @change=${change}>
    ${seen.problem ? nothing : mapOf(seen, l, h)}
    <span aria-hidden="true"><i class="qkv-lever ${heads[l][h] && layers[l] ? "" : "qkv-lever-off"}"></i>${t`head ${h + 1}`}</span>
  </label>`;
}

/** Return a map with a path for each shade: as an element for each weight, a page would be 2 kB heavier.
 * @param {Seen} seen
 * @param {number} l
 * @param {number} h */
function mapOf({ said, words, from }, l, h) {
  const n = words.length;
  const table = said.places[`${l}.attention.weights`].subarray(h * n * n);
  const paths = Array.from({ length: SHADES + 1 }, () => "");
  for (let i = 0; i < n * n; i++) paths[Math.round(SHADES * table[i])] += `M${i % n} ${Math.floor(i / n)}.5h1`;
  return html`<svg viewBox="0 0 ${n} ${n}" preserveAspectRatio="none" aria-hidden="true">
    ${paths.flatMap((d, shade) => (shade && d ? [svg`<path stroke-opacity=${rounded(shade / SHADES)} d=${d} />`] : []))}
    <rect class="qkv-map-row" x="0" y=${from} width=${n} height="1" />
  </svg>`;
}

/** Return the handles and, below them, in how many sentences of the exam the noun was found.
 * @param {Problem | Seen} seen
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function handles(seen, state, set, id) {
  const { marks } = state;
  const isMany = state.handles.length > TOGETHER;
  const names = isMany ? [state.turning || firstOf(state.handles)] : state.handles;
  return html`<div class="qkv-handles">
    ${isMany ? whichHandle(names[0], state, set, id) : nothing}
    <div class="qkv-turned ${isMany ? "qkv-one-of-many" : ""}">
      ${names.map((name) => HANDLES[name]?.(state, set, seen) ?? nothing)}
      ${board(names, seen, state, set)}
    </div>
    <dl class="qkv-exam">
      <dt class="qkv-unseen">${t`right noun in new sentences`}</dt>
      <dd><span class=${marks === null ? "qkv-exam-share qkv-unmarked" : "qkv-exam-share"}>${marks ? rightIn(marks) : "…"}</span> ${t`of ${EXAM_LENGTH} right`}</dd>
      ${isMany ? reset(state, set) : nothing}
    </dl>
    <div class="qkv-exam-squares" aria-hidden="true">${marks?.map((found) => html`<i class=${found ? "qkv-found" : "qkv-missed"}></i>`)}</div>
  </div>`;
}

/** Return the button that turns all handles back; it keeps its place while none is turned.
 * @param {State} state
 * @param {SetState<State>} set */
const reset = (state, set) =>
  html`<dd class="qkv-exam-reset">${button({
    label: t`reset`,
    disabled: !state.handles.some((name) => NAMES[name].isMoved(state)),
    onClick: () => set({ ...AS_TRAINED }),
  })}</dd>`;

/** Return the handle of many that is shown at first: the heads, which are pictures.
 * @param {string[]} handles */
const firstOf = (handles) => handles.find((name) => name === "heads") ?? handles[0];

/** Return the choice of the handle that is shown. Those that are not as in training have a mark.
 * @param {string} value
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const whichHandle = (value, state, set, id) =>
  pills({
    label: html`<span class="qkv-unseen">${t`what to change in the model`}</span>`,
    name: `${id}-handle`,
    value,
    options: state.handles.map((name) => ({
      value: name,
      label: html`<span>${NAMES[name].name()}${NAMES[name].isMoved(state) ? html`<i aria-hidden="true"> •</i><span class="qkv-unseen">${t`changed`}</span>` : nothing}</span>`,
    })),
    onChange: (turning) => set({ turning }),
  });

/* ---- numbers */

/** Return the weights of all words: a row for each word that looks.
 * @param {Seen} seen
 * @param {SetState<State>} set
 * @param {string} id */
function matrixOf(seen, set, id) {
  const { words, weights, from } = seen;
  return html`<div class="qkv-weights" style="--qkv-n: ${words.length}">
    <table>
      <thead><tr><td>${t`at whom →`}<br>${t`who ↓`}</td>${words.map((word) => html`<th scope="col" lang=${langOf(word)}><span>${word}</span></th>`)}</tr></thead>
      <tbody>${words.map(
        (word, i) =>
          html`<tr class=${i === from ? "qkv-row-from" : ""} @click=${() => set({ word: i })}><th scope="row" lang=${langOf(word)}>${look(i, seen, set, id)}<span>${word}</span></th>${weights[
            i
          ].map(
            (weight) =>
              html`<td class="qkv-heat" style="--qkv-p: ${rounded(weight)}">${weight < LARGE ? "" : num(weight, { places: 1 })}</td>`,
          )}</tr>`,
      )}</tbody>
    </table>
  </div>`;
}

const numbers = (/** @type {Seen} */ { words, said, row, from }) => [
  {
    caption: t`What the model says about each word, and the weights of ${words[from]}`,
    head: [t`word`, t`class`, t`stands for`, t`weight`],
    rows: words.map((word, i) => [
      glossed(word),
      className(said.classes[i]),
      said.refersTo.get(i) ?? "–",
      shown(row[i]),
    ]),
  },
];

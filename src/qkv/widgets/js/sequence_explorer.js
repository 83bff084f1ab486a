import { live } from "lit-html/directives/live.js";
import {
  choices,
  dragged,
  html,
  nothing,
  num,
  partAt,
  remember,
  slider,
  stepSlider,
  svg,
  tables,
  toggle,
  widget,
  wordAt,
} from "./base.js";
import { heatmap, whenColoursChange } from "./heatmap.js";
import { bandEnergies, climbingTone, frameSignal, imagePatches, outline, randomIntegers } from "./maths.js";
import { MOLECULES } from "./molecules.js";

/** @import { SetState } from "./base.js" */
/** @typedef {{ kind: string, row: number, sentence: number, embedded: boolean, tenths: number, molecule: string,
 *   patch: number, repainted: number, typed: string | null }} State */
/** @typedef {{ tokens: string[], between?: string, gloss?: string[] }} Sentence */
/** @typedef {{ rows: number[][], names: string[], columns: string[] }} Matrix with names for its rows and columns */
/** @typedef {ReturnType<typeof computed>} Seen */
/** @typedef {object} Kind a kind of object
 * @property {string} unit what a row of its matrix is
 * @property {(chosen: Omit<State, "kind" | "row" | "repainted">) => Matrix} from its matrix
 * @property {(state: State) => string} columns
 * @property {(state: State, token: string) => boolean} [isMadeUp] whether the features of a token are random
 * @property {(state: State) => unknown} [picture] its matrix in colours of its own
 * @property {(state: State, row: number, set: SetState<State>) => unknown} drawn its drawing
 * @property {(state: State, set: SetState<State>, id: string) => unknown} settings */

/** @type {Sentence[]} */
const SENTENCES = [
  { tokens: ["I", "saw", "a", "saw"] },
  { tokens: ["中和", "有", "一個", "永和路"], between: "", gloss: ["in Zhonghe", "there is", "a", "Yonghe Road"] },
  { tokens: ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"] },
];
const VOCABULARY = [...new Set(SENTENCES.flatMap(({ tokens }) => tokens))];
const FEATURES = ["alive", "action", "place", "connecting"];
/** Made-up numbers: how much each token is something alive, an action, a place, and a small connecting word.
 * @type {Record<string, number[]>} */
const EMBEDDING = {
  I: [0.9, 0, 0, 0.1],
  saw: [0, 0.8, 0, 0],
  a: [0, 0, 0, 1],
  中和: [0.1, 0, 0.9, 0],
  有: [0, 0.3, 0, 0.6],
  一個: [0, 0, 0, 0.9],
  永和路: [0, 0, 1, 0],
  the: [0, 0, 0, 0.9],
  cat: [1, 0.1, 0, 0],
  chased: [0.1, 1, 0.1, 0],
  mouse: [0.9, 0.1, 0, 0],
  because: [0, 0.1, 0, 0.7],
  it: [0.4, 0, 0, 0.6],
  was: [0, 0.4, 0, 0.7],
  hungry: [0.7, 0.2, 0, 0],
};

const ATOMS = ["H", "C", "O"];
const RATE = 8000;
const BANDS = 20;
const SIDE = 16;

const MOST_TOKENS = 12;
const LONG = 18; // the number of letters after which a row's name is cut

/** Return the tokens of a text that the reader types: words, and single Chinese characters.
 * @param {string | null} typed
 * @returns {string[]} */
const tokensOf = (typed) => typed?.match(/\p{Script=Han}|[^\s\p{Script=Han}]+/gu) ?? [];
/** @param {Pick<State, "sentence" | "typed">} state
 * @returns {Sentence} */
const sentenceOf = ({ sentence, typed }) => {
  const own = tokensOf(typed);
  return own.length ? { tokens: own.slice(0, MOST_TOKENS) } : SENTENCES[sentence];
};
const isCut = (/** @type {State} */ { kind, typed }) => kind === "text" && tokensOf(typed).length > MOST_TOKENS;
const textOf = (/** @type {Sentence} */ { tokens, between = " " }) => tokens.join(between);

/** Return the features of a token. An unknown word gets random ones, which are always the same.
 * @param {string} token */
function embedding(token) {
  if (Object.hasOwn(EMBEDDING, token)) return EMBEDDING[token];
  const next = randomIntegers(
    [...token].reduce((seed, letter) => (31 * seed + /** @type {number} */ (letter.codePointAt(0))) % 2 ** 31, 7),
  );
  return FEATURES.map(() => (next() % 11) / 10);
}

const onehot = (/** @type {number} */ index, /** @type {number} */ length) =>
  Array.from({ length }, (_, i) => Number(i === index));

/** The kinds of object.
 * @type {Record<string, Kind>} */
const KINDS = {
  text: {
    unit: "token",
    from: ({ sentence, embedded, typed }) => {
      const { tokens } = sentenceOf({ sentence, typed });
      const words = [...new Set([...VOCABULARY, ...tokens])];
      const rows = tokens.map((t) => (embedded ? embedding(t) : onehot(words.indexOf(t), words.length)));
      return { rows, names: tokens, columns: embedded ? FEATURES : words };
    },
    columns: ({ embedded }) => (embedded ? "made-up features as columns" : "a column for each word in the list"),
    isMadeUp: ({ embedded }, token) => embedded && !Object.hasOwn(EMBEDDING, token),
    drawn: drawText,
    settings: (state, set) => html`<div class="qkv-own-text">
      <label><span class="qkv-unseen">your own sentence</span>
        <input type="text" maxlength="60" placeholder="type a sentence" autocomplete="off" spellcheck="false"
          .value=${live(state.typed ?? textOf(SENTENCES[state.sentence]))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ typed: target.value })}></label>
      ${toggle({ label: "features", checked: state.embedded, onChange: (embedded) => set({ embedded }) })}
    </div>`,
  },
  speech: {
    unit: "window",
    from: ({ tenths }) => {
      const rows = spectrum(tenths);
      const columns = rows[0].map((_, j) => `band ${j + 1}`);
      return { rows, names: rows.map((_, i) => `${i * 10}–${i * 10 + 25} ms`), columns };
    },
    columns: () => `loudness in ${BANDS} bands as columns`,
    drawn: drawSound,
    settings: ({ tenths }, set) =>
      slider({
        label: "a rising tone, its length",
        value: tenths,
        min: 1,
        max: 5,
        text: `${num(tenths / 10, { places: 1 })} s`,
        onInput: (value) => set({ tenths: value }),
      }),
  },
  graph: {
    unit: "atom",
    from: ({ molecule }) => {
      const names = MOLECULES[molecule].atoms.split(" ");
      return { rows: names.map((atom) => onehot(ATOMS.indexOf(atom), 3)), names, columns: ATOMS };
    },
    columns: () => "a column for each kind of atom",
    drawn: drawMolecule,
    settings: ({ molecule }, set, id) =>
      choices({
        label: "molecule",
        name: `${id}-molecule`,
        value: molecule,
        options: Object.keys(MOLECULES).map((name) => ({ value: name, label: name })),
        onChange: (value) => set({ molecule: value }),
      }),
  },
  image: {
    unit: "patch",
    from: ({ patch }) => {
      const rows = patches(patch);
      const across = SIDE / patch;
      const names = rows.map((_, i) => `down ${Math.floor(i / across) + 1}, across ${(i % across) + 1}`);
      const columns = rows[0].map(
        (_, j) => `${["red", "green", "blue"][j % 3]}${patch > 1 ? ` ${Math.floor(j / 3) + 1}` : ""}`,
      );
      return { rows, names, columns };
    },
    columns: ({ patch }) => `red, green and blue of ${patch > 1 ? `${patch * patch} pixels` : "a pixel"} as columns`,
    picture: ({ patch }) => inTheirColours(patch),
    drawn: drawImage,
    settings: ({ patch }, set) =>
      stepSlider({
        label: "side of a patch",
        value: patch,
        values: [1, 2, 4, 8],
        text: `${patch} pixel${patch > 1 ? "s" : ""}`,
        onInput: (value) => set({ patch: value }),
      }),
  },
};

// The longest sound is computed once. A shorter sound is its beginning, and has the first of its windows.
const longest = remember(() => climbingTone(0.5, RATE));
const windows = remember(() =>
  frameSignal(longest(), 0.025 * RATE, 0.01 * RATE).map((frame) => bandEnergies(frame, BANDS)),
);
const sound = (/** @type {number} */ tenths) => longest().slice(0, (tenths * RATE) / 10);
const spectrum = (/** @type {number} */ tenths) => windows().slice(0, 10 * tenths - 2);
const patches = remember((/** @type {number} */ side) => imagePatches(PICTURE, side));

export default widget("SequenceExplorer", {
  own: { repainted: 0, typed: null },
  setup: ({ state, set }) => whenColoursChange(() => set({ repainted: state.repainted + 1 })),
  says: (/** @type {State} */ state) => {
    const { rows, names, row } = computed(state);
    return `${rows.length} rows of ${rows[0].length} numbers. Row ${row + 1} is ${KINDS[state.kind].unit} ${names[row]}.`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    const kind = KINDS[state.kind];
    return html`${choices({
      label: html`<span class="qkv-unseen">what is the input?</span>`,
      name: `${id}-kind`,
      value: state.kind,
      options: Object.keys(KINDS).map((value) => ({ value, label: value })),
      onChange: (value) => set({ kind: value, row: value === "text" ? 1 : 0 }),
    })}
      ${lead(state, seen)}
      <div class="qkv-two-forms">
        <div class="qkv-object">${kind.drawn(state, seen.row, set)}</div>
        <div class="qkv-settings">${kind.settings(state, set, id)}</div>
        ${asMatrix(state, seen, set)}
      </div>
      ${tables(() => numbers(state, seen))}`;
  },
});

/** Return the object's matrix, with the names of its rows and columns. */
const matrices = remember(
  (
    /** @type {string} */ kind,
    /** @type {number} */ sentence,
    /** @type {boolean} */ embedded,
    /** @type {number} */ tenths,
    /** @type {string} */ molecule,
    /** @type {number} */ patch,
    /** @type {string | null} */ typed,
  ) => KINDS[kind].from({ sentence, embedded, tenths, molecule, patch, typed }),
);

/** Return the object's matrix, the index of the chosen row, and the other rows with the same numbers.
 * @param {State} state */
function computed(state) {
  const { kind, sentence, embedded, tenths, molecule, patch, typed } = state;
  const matrix = matrices(kind, sentence, embedded, tenths, molecule, patch, typed);
  const row = Math.min(state.row, matrix.rows.length - 1);
  return { ...matrix, row, same: sameAs(matrix.rows, row) };
}

/** Return the indices of the other rows with the numbers of this one.
 * @param {number[][]} rows
 * @param {number} row */
const sameAs = (rows, row) =>
  rows.flatMap((other, i) => (i !== row && other.every((x, j) => x === rows[row][j]) ? [i] : []));

/** Return the sentence about the size of the matrix, and about the chosen row.
 * @param {State} state
 * @param {Seen} parts */
function lead(state, { rows, names, row, same }) {
  const { unit, columns, isMadeUp } = KINDS[state.kind];
  const [n, d] = [rows.length, rows[0].length];
  const each = isCut(state) ? `each of the first ${MOST_TOKENS} tokens` : `each ${unit}`;
  const isNew = isMadeUp?.(state, names[row]) ? " is a new word with random features" : "";
  return html`<p class="qkv-lead qkv-x-says"><span><b><i>X</i> is ${num(n)} × ${num(d)}</b>: a row for ${each}, ${columns(state)}.</span>
    <span>Row ${row + 1}, <b>${shortened(names[row])}</b>,${isNew ? html`${isNew}, and` : nothing} ${twins(same)}</span></p>`;
}

const FEW = 4; // the number of columns up to which they are wide enough for their names

/** Return the matrix as a picture: larger numbers are closer to the text's colour, and pixels have their own. A press or a
 * drag chooses a row, and so does the slider that lies over the matrix for the keyboard.
 * @param {State} state
 * @param {Seen} parts
 * @param {SetState<State>} set */
function asMatrix(state, { rows, row, same, columns, names }, set) {
  const [n, d] = [rows.length, rows[0].length];
  const { unit, picture } = KINDS[state.kind];
  const grab = dragged(({ y }) => set({ row: partAt(y, n) }));
  const shades = () =>
    heatmap({
      label: `X: ${n} rows of ${d} numbers, shaded from 0, as the page, to 1, as its text.`,
      rows: (i) => rows[i],
      width: d,
      height: n,
      key: rows,
      repainted: state.repainted,
    });
  return html`<div class="qkv-x">
    <div class="qkv-matrix qkv-drag" @pointerdown=${grab} @pointermove=${grab}>
      ${picture ? picture(state) : shades()}
      <svg class="qkv-same" viewBox="0 0 1 ${n}" preserveAspectRatio="none" aria-hidden="true">
        ${svg`<path d=${same.map((i) => `M0 ${i}h1v1h-1z`).join("")} />`}
      </svg>
      <div class="qkv-looked-at" style="--qkv-n: ${n}; --qkv-row: ${row}"></div>
      <input class="qkv-over" type="range" aria-label="row" min="1" max=${n} .value=${live(String(row + 1))}
        aria-valuetext="${row + 1} of ${n}: ${unit} ${names[row]}" @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ row: target.valueAsNumber - 1 })}>
    </div>
    <p class="qkv-note qkv-columns">${
      d <= FEW
        ? html`<span class="qkv-unseen">columns: </span>${columns.map((name) => html`<span>${name}</span> `)}`
        : html`<span class="qkv-shades">${picture ? "each row in the colours of its pixels" : html`0<i></i>1`}</span>`
    }</p>
  </div>`;
}

const shortened = (/** @type {string} */ name) => (name.length > LONG ? `${name.slice(0, LONG)}…` : name);

/** Return what is said of other rows with the same numbers: nothing distinguishes such rows.
 * @param {number[]} same */
function twins(same) {
  if (!same.length) return "has numbers that no other row has.";
  const who = same.length > 1 ? `${same.length} other rows` : `row ${same[0] + 1}`;
  return html`has the same numbers as <i class="qkv-same-sign"></i>${who}.`;
}

/** Draw the tokens of the sentence.
 * @param {State} state
 * @param {number} row
 * @param {SetState<State>} set */
function drawText(state, row, set) {
  const { tokens, gloss = [] } = sentenceOf(state);
  return html`<p class="qkv-sentence">
      ${tokens.map(
        (token, i) => html`<button type="button" class=${i === row ? "qkv-piece" : ""} aria-pressed=${i === row}
          aria-label=${wordAt(tokens, i) === token ? nothing : wordAt(tokens, i)} @click=${() => set({ row: i })}>${token}${gloss[i] ? html`<small>${gloss[i]}</small>` : nothing}</button> `,
      )}
    </p>`;
}

/** Draw the sound. A press or a drag chooses the window whose middle is nearest to the pointer.
 * @param {State} parts
 * @param {number} row
 * @param {SetState<State>} set */
function drawSound({ tenths }, row, set) {
  const samples = sound(tenths);
  const width = samples.length / RATE;
  const points = outline(samples, 400).map(([column, sample]) => `${(column / 400) * 120},${30 - 26 * sample}`);
  const count = spectrum(tenths).length;
  const grab = dragged(({ x }) => {
    const nearest = Math.round((1000 * width * x - 12.5) / 10);
    set({ row: Math.min(count - 1, Math.max(0, nearest)) });
  });
  return svg`<svg class="qkv-drag" viewBox="0 0 120 60" @pointerdown=${grab} @pointermove=${grab} role="img" aria-label="A tone that climbs, ${num(width, { places: 1 })} seconds long, cut into windows of 25 milliseconds.">
    <polyline class="qkv-wave" points=${points.join(" ")} />
    <rect class="qkv-frame" x=${(row * 1.2) / width} width=${3 / width} y="1" height="58" />
  </svg>`;
}

/** @param {State} parts
 * @param {number} row
 * @param {SetState<State>} set */
function drawMolecule({ molecule }, row, set) {
  const { atoms, at, bonds } = MOLECULES[molecule];
  const letters = atoms.split(" ");
  const choose = (/** @type {{ target: Element }} */ { target }) => {
    const atom = /** @type {SVGElement | null} */ (target.closest("[data-row]"));
    if (atom) set({ row: Number(atom.dataset.row) });
  };
  return svg`<svg viewBox="0 0 12 6.4" @click=${choose} role="img" aria-label="A drawing of ${molecule}: ${letters.length} atoms and their bonds.">
    ${bonds.map(([a, b]) => svg`<line class="qkv-bond" x1=${at[a][0]} y1=${at[a][1]} x2=${at[b][0]} y2=${at[b][1]} />`)}
    ${letters.map(
      (letter, i) => svg`<g class="qkv-atom-place" data-row=${i}>
        <circle class=${i === row ? "qkv-atom qkv-ringed" : "qkv-atom"} cx=${at[i][0]} cy=${at[i][1]} r="0.75" />
        <text class="qkv-letter" x=${at[i][0]} y=${at[i][1] + 0.27} text-anchor="middle">${letter}</text>
      </g>`,
    )}
  </svg>`;
}

/** @param {State} parts
 * @param {number} row
 * @param {SetState<State>} set */
function drawImage({ patch }, row, set) {
  const across = SIDE / patch;
  const [x, y] = [(row % across) * patch, Math.floor(row / across) * patch];
  const grab = dragged(({ x, y }) => set({ row: across * partAt(y, across) + partAt(x, across) }));
  return svg`<svg class="qkv-drag qkv-picture" viewBox="-0.2 -0.2 16.4 16.4" @pointerdown=${grab} @pointermove=${grab} role="img" aria-label="A small picture of 16 by 16 pixels: a sun over two hills. The patch is outlined.">
    ${PIXELS}
    <rect class="qkv-patch-edge" x=${x} y=${y} width=${patch} height=${patch} />
    <rect class="qkv-patch" x=${x} y=${y} width=${patch} height=${patch} />
  </svg>`;
}

/** The image: a sun over two hills, SIDE × SIDE pixels of [red, green, blue] from 0 to 1. */
const PICTURE = Array.from({ length: SIDE }, (_, y) =>
  Array.from({ length: SIDE }, (_, x) => {
    if (y > 10 + 2 * Math.sin(x / 2.2)) return [0.2, 0.5, 0.2];
    if (y > 8 - 2 * Math.cos(x / 3)) return [0.4, 0.7, 0.3];
    if (Math.hypot(x - 11.5, y - 3.5) < 2.6) return [1, 0.8, 0.2];
    return [0.5 + y / 30, 0.7 + y / 40, 1];
  }),
);
const rgb = (/** @type {number[]} */ pixel) => `rgb(${pixel.map((share) => Math.round(255 * share)).join(" ")})`;
const PIXELS = PICTURE.flatMap((line, y) =>
  line.map((pixel, x) => svg`<rect x=${x} y=${y} width="1.02" height="1.02" fill=${rgb(pixel)} />`),
);

/** Draw the matrix of the image: each patch is a row, and three numbers are a pixel in its colour. */
const inTheirColours = remember((/** @type {number} */ patch) => {
  const rows = patches(patch);
  const across = patch * patch;
  const pixels = rows.flatMap((row, y) =>
    Array.from(
      { length: across },
      (_, x) => svg`<rect x=${x} y=${y} width="1.02" height="1.02" fill=${rgb(row.slice(3 * x, 3 * x + 3))} />`,
    ),
  );
  return html`<svg class="qkv-pixels" viewBox="0 0 ${across} ${rows.length}" preserveAspectRatio="none" role="img"
    aria-label="X: ${rows.length} rows of ${3 * across} numbers, each three drawn as the pixel that they are.">${pixels}</svg>`;
}, 4);

const numbers = (/** @type {State} */ state, /** @type {Seen} */ { rows, names, columns }) => [
  {
    caption: `X, its first rows and columns, of ${rows.length} × ${rows[0].length}`,
    head: [KINDS[state.kind].unit, ...columns.slice(0, 8)],
    rows: rows.slice(0, 16).map((row, i) => [`${i + 1}: ${names[i]}`, ...row.slice(0, 8).map((x) => num(x))]),
  },
];

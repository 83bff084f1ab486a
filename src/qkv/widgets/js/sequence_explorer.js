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
  t,
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
/** @typedef {{ tokens: string[] }} Sentence */
/** @typedef {Omit<State, "row" | "repainted">} Chosen the object */
/** @typedef {{ kind: string, rows: number[][], names: string[], row: number, same: number[] }} Seen the matrix, the names
 *   of its rows, the chosen one, and the others with its numbers */
/** @typedef {object} Kind a kind of object
 * @property {() => string} label
 * @property {() => string} unit what a row of its matrix is
 * @property {(chosen: Chosen) => number[][]} rows its matrix
 * @property {(chosen: Chosen) => string[]} names
 * @property {(chosen: Chosen) => string[]} columns
 * @property {(names: string[], row: number) => string[]} marks what stands at the rows: all names, or that of the chosen one
 * @property {(state: State, size: unknown) => unknown} caption
 * @property {(state: State) => unknown} [picture] its matrix in colours of its own
 * @property {(state: State, row: number, set: SetState<State>) => unknown} drawn its drawing
 * @property {(state: State, set: SetState<State>, id: string) => unknown} settings */

/** @type {Sentence[]} */
const SENTENCES = [
  { tokens: ["I", "saw", "a", "saw"] },
  { tokens: ["中和", "有", "一個", "永和路"] },
  { tokens: ["the", "cat", "chased", "the", "mouse", "because", "it", "was", "hungry"] },
];
const VOCABULARY = [...new Set(SENTENCES.flatMap(({ tokens }) => tokens))];
/** What stands below a word of the Chinese sentence. */
const glossOf = (/** @type {string} */ token) =>
  /** @type {Record<string, string>} */ ({
    中和: t`in Zhonghe`,
    有: t`there is`,
    一個: t`a`,
    永和路: t`Yonghe Road`,
  })[token];
const features = () => [t`alive`, t`action`, t`place`, t`connecting`];
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

/** Return the features of a token. An unknown word gets random ones, which are always the same.
 * @param {string} token */
function embedding(token) {
  if (Object.hasOwn(EMBEDDING, token)) return EMBEDDING[token];
  const next = randomIntegers(
    [...token].reduce((seed, letter) => (31 * seed + /** @type {number} */ (letter.codePointAt(0))) % 2 ** 31, 7),
  );
  return EMBEDDING.I.map(() => (next() % 11) / 10);
}

const onehot = (/** @type {number} */ index, /** @type {number} */ length) =>
  Array.from({ length }, (_, i) => Number(i === index));

const wordsOf = (/** @type {string[]} */ tokens) => [...new Set([...VOCABULARY, ...tokens])];
const all = (/** @type {string[]} */ names) => names;
const onlyChosen = (/** @type {string[]} */ names, /** @type {number} */ row) =>
  names.map((name, i) => (i === row ? name : ""));
/** @type {Record<string, () => string>} */
const MOLECULE_NAMES = { water: () => t`water`, ethanol: () => t`ethanol`, "acetic acid": () => t`acetic acid` };

/** The kinds of object.
 * @type {Record<string, Kind>} */
const KINDS = {
  text: {
    label: () => t`text`,
    unit: () => t`token`,
    rows: ({ sentence, embedded, typed }) => {
      const { tokens } = sentenceOf({ sentence, typed });
      const words = wordsOf(tokens);
      return tokens.map((token) => (embedded ? embedding(token) : onehot(words.indexOf(token), words.length)));
    },
    names: (chosen) => sentenceOf(chosen).tokens,
    columns: (chosen) => (chosen.embedded ? features() : wordsOf(sentenceOf(chosen).tokens)),
    marks: all,
    caption: (state, size) => {
      if (isCut(state)) return t`${size}, the first ${MOST_TOKENS} tokens.`;
      return state.embedded ? t`${size}. No other row is like it.` : t`${size}, a column for each word.`;
    },
    drawn: drawText,
    settings: (
      state,
      set,
    ) => html`<details class="qkv-tables"><summary>${t`Your own sentence, and other columns`}</summary><div class="qkv-own-text">
      <label><span class="qkv-unseen">${t`your own sentence`}</span>
        <input type="text" maxlength="60" placeholder=${t`type a sentence`} autocomplete="off" spellcheck="false"
          .value=${live(state.typed ?? "")} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ typed: target.value })}></label>
      ${toggle({ label: t`features`, checked: state.embedded, onChange: (embedded) => set({ embedded }) })}
    </div></details>`,
  },
  speech: {
    label: () => t`speech`,
    unit: () => t`window`,
    rows: ({ tenths }) => spectrum(tenths),
    names: ({ tenths }) => spectrum(tenths).map((_, i) => `${i * 10}–${i * 10 + 25} ms`),
    columns: () => Array.from({ length: BANDS }, (_, j) => t`band ${j + 1}`),
    marks: onlyChosen,
    caption: (_, size) => t`${size}: loudness in ${BANDS} bands.`,
    drawn: drawSound,
    settings: ({ tenths }, set) =>
      slider({
        label: t`a rising tone, its length`,
        value: tenths,
        min: 1,
        max: 5,
        text: `${num(tenths / 10, { places: 1 })} s`,
        onInput: (value) => set({ tenths: value }),
      }),
  },
  graph: {
    label: () => t`graph`,
    unit: () => t`atom`,
    rows: ({ molecule }) => atomsOf(molecule).map((atom) => onehot(ATOMS.indexOf(atom), ATOMS.length)),
    names: ({ molecule }) => atomsOf(molecule),
    columns: () => ATOMS,
    marks: all,
    caption: (_, size) => t`${size}, a column for each kind of atom.`,
    drawn: drawMolecule,
    settings: ({ molecule }, set, id) =>
      choices({
        label: t`molecule`,
        name: `${id}-molecule`,
        value: molecule,
        options: Object.keys(MOLECULES).map((name) => ({ value: name, label: MOLECULE_NAMES[name]() })),
        onChange: (value) => set({ molecule: value }),
      }),
  },
  image: {
    label: () => t`image`,
    unit: () => t`patch`,
    rows: ({ patch }) => patches(patch),
    names: ({ patch }) =>
      patches(patch).map((_, i) => t`down ${Math.floor((i * patch) / SIDE) + 1}, across ${(i % (SIDE / patch)) + 1}`),
    columns: ({ patch }) =>
      Array.from({ length: patch * patch }, (_, i) => [t`red ${i + 1}`, t`green ${i + 1}`, t`blue ${i + 1}`]).flat(),
    marks: () => [],
    caption: (_, size) => t`${size}, 3 numbers a pixel.`,
    picture: ({ patch }) => inTheirColours(patch),
    drawn: drawImage,
    settings: ({ patch }, set) =>
      stepSlider({
        label: t`side of a patch`,
        value: patch,
        values: [1, 2, 4, 8],
        text: patch > 1 ? t`${patch} pixels` : t`${patch} pixel`,
        onInput: (value) => set({ patch: value }),
      }),
  },
};

const atomsOf = (/** @type {string} */ molecule) => MOLECULES[molecule].atoms.split(" ");

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
  setup: ({ state, set, root, eachDrawing }) => {
    const stop = whenColoursChange(() => set({ repainted: state.repainted + 1 }));
    const sizer = new ResizeObserver(() => drawThread(root));
    sizer.observe(root);
    eachDrawing(() => drawThread(root));
    return () => {
      stop();
      sizer.disconnect();
    };
  },
  says: (/** @type {State} */ state) => {
    const { rows, names, row } = computed(state);
    const unit = KINDS[state.kind].unit();
    return `${names[row]} = ${listed(rows[row])}. ${t`${rows.length} rows of ${rows[0].length} numbers. Row ${row + 1} is ${unit} ${names[row]}.`}`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    const kind = KINDS[state.kind];
    return html`${kinds(state, set, id)}
      ${lead(state, seen)}
      <div class="qkv-two-forms">
        <div class="qkv-object">${kind.drawn(state, seen.row, set)}</div>
        ${bars(state, seen)}
        ${asMatrix(state, seen, set)}
        <div class="qkv-settings">${kind.settings(state, set, id)}</div>
        <svg class="qkv-thread" aria-hidden="true">${svg`<path class="qkv-thread-edge" /><path />`}</svg>
      </div>
      ${tables(() => numbers(state, seen))}`;
  },
});

/** Return the kinds of input as words in boxes.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const kinds = (state, set, id) => html`<fieldset class="qkv-control qkv-kinds">
  <legend class="qkv-unseen">${t`what is the input?`}</legend>
  <div>${Object.entries(KINDS).map(
    ([value, { label }]) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-kind" .checked=${live(value === state.kind)} @change=${() => set({ kind: value, row: value === "text" ? 1 : 0 })}>
      <span>${label()}</span>
    </label>`,
  )}</div>
</fieldset>`;

/** Return the object's matrix. */
const matrices = remember(
  (
    /** @type {string} */ kind,
    /** @type {number} */ sentence,
    /** @type {boolean} */ embedded,
    /** @type {number} */ tenths,
    /** @type {string} */ molecule,
    /** @type {number} */ patch,
    /** @type {string | null} */ typed,
  ) => KINDS[kind].rows({ kind, sentence, embedded, tenths, molecule, patch, typed }),
);

/** Return the object's matrix with the names of its rows, the index of the chosen row, and the others with its numbers.
 * @param {State} state
 * @returns {Seen} */
function computed(state) {
  const { kind, sentence, embedded, tenths, molecule, patch, typed } = state;
  const rows = matrices(kind, sentence, embedded, tenths, molecule, patch, typed);
  const row = Math.min(state.row, rows.length - 1);
  return { kind, rows, names: KINDS[kind].names(state), row, same: sameAs(rows, row) };
}

/** Return the indices of the other rows with the numbers of this one.
 * @param {number[][]} rows
 * @param {number} row */
const sameAs = (rows, row) =>
  rows.flatMap((other, i) => (i !== row && other.every((x, j) => x === rows[row][j]) ? [i] : []));

const FEW = 4; // the number of columns up to which they are wide enough for their names and numbers

/** Return the numbers of the chosen row as bars, which grow and shrink when another is chosen. Those of pixels have their
 * colours. The bars of a few columns have names.
 * @param {State} state
 * @param {Seen} seen */
function bars(state, { rows, row }) {
  const [entries, d] = [rows[row], rows[0].length];
  const colour = (/** @type {number} */ j) =>
    KINDS[state.kind].picture ? rgb(entries.slice(3 * Math.floor(j / 3), 3 * Math.floor(j / 3) + 3)) : nothing;
  return html`<div class="qkv-row-bars" aria-hidden="true" data-kind=${state.kind} style="--qkv-d: ${d}">
    <svg viewBox="0 0 ${d} 1" preserveAspectRatio="none">${entries.map(
      (entry, j) =>
        svg`<rect x=${d <= 2 * BANDS ? j + 0.06 : j} width=${d <= 2 * BANDS ? 0.88 : 1.02} y=${1 - entry} height=${entry} fill=${colour(j)} />`,
    )}</svg>
    ${d <= FEW ? html`<div>${KINDS[state.kind].columns(state).map((name) => html`<span>${name}</span>`)}</div>` : nothing}
  </div>`;
}

/** Return the matrix as a picture: larger numbers are closer to the text's colour, and pixels have their own. A press or a
 * drag chooses a row, and so does the slider that lies over the matrix for the keyboard.
 * @param {State} state
 * @param {Seen} seen
 * @param {SetState<State>} set */
function asMatrix(state, seen, set) {
  const { rows, row, same, names } = seen;
  const [n, d] = [rows.length, rows[0].length];
  const { unit, picture, columns, marks } = KINDS[state.kind];
  const grab = dragged(({ y }) => set({ row: partAt(y, n) }));
  return html`<div class="qkv-x" style="--qkv-n: ${n}; --qkv-d: ${d}; --qkv-row: ${row}" data-kind=${state.kind}>
    <div class="qkv-columns" aria-hidden="true">${d <= FEW ? columns(state).map((name) => html`<span>${name}</span>`) : nothing}</div>
    <div class="qkv-rows qkv-drag" @pointerdown=${grab} @pointermove=${grab}>
      <div class="qkv-marks" aria-hidden="true">${marks(names, row).map((name, i) => html`<span class=${i === row ? "qkv-marked" : ""}>${name}</span>`)}</div>
      <div class="qkv-matrix">
        ${picture ? picture(state) : d <= FEW ? cells(seen) : shades(state, rows)}
        <svg class="qkv-same" viewBox="0 0 1 ${n}" preserveAspectRatio="none" aria-hidden="true">
          ${svg`<path d=${same.map((i) => `M0 ${i + 0.08}h1v0.84h-1z`).join("")} />`}
        </svg>
        <div class="qkv-looked-at"><b class="qkv-knob qkv-row-grip" aria-hidden="true">↕</b></div>
        <input class="qkv-over" type="range" aria-label=${t`row`} min="1" max=${n} .value=${live(String(row + 1))}
          aria-valuetext=${t`${row + 1} of ${n}: ${unit()} ${names[row]}`} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ row: target.valueAsNumber - 1 })}>
      </div>
    </div>
  </div>`;
}

/** Return a narrow matrix cell by cell. The chosen row shows its numbers.
 * @param {Seen} seen */
const cells = ({ rows, row }) => html`<div class="qkv-cells" role="img" aria-label=${pictured(rows)}>
  ${rows.map((entries, i) => entries.map((entry) => html`<i style="--qkv-p: ${entry}">${i === row ? num(entry, { digits: 1 }) : nothing}</i>`))}
</div>`;

/** @param {State} state
 * @param {number[][]} rows */
const shades = (state, rows) =>
  heatmap({
    label: pictured(rows),
    rows: (i) => rows[i],
    width: rows[0].length,
    height: rows.length,
    key: rows,
    repainted: state.repainted,
  });

/** @param {number[][]} rows */
const pictured = (rows) =>
  t`X: ${rows.length} rows of ${rows[0].length} numbers, shaded from 0, as the page, to 1, as its text.`;

/** Return the numbers of a row as text: all of a few, or else the first ones.
 * @param {number[]} entries */
const listed = (entries) => {
  const first = entries.slice(0, entries.length > FEW ? 2 : FEW).map((entry) => num(entry, { digits: 1 }));
  return `[${[...first, ...(entries.length > FEW ? ["…"] : [])].join(", ")}]`;
};

/** Return the numbers of the chosen piece, which row they are, and what there is to say of it: nothing distinguishes it from
 * one with the same numbers.
 * @param {State} state
 * @param {Seen} seen */
function lead(state, { rows, names, row, same }) {
  const size = html`<b class="qkv-x-size"><i>X</i>: ${num(rows.length)} × ${num(rows[0].length)}</b>`;
  const name = html`<b>${names[row]}</b>`;
  const isNew = state.kind === "text" && state.embedded && !Object.hasOwn(EMBEDDING, names[row]);
  const sign = html`<i class="qkv-same-sign"></i>`;
  const what = same.length || isNew ? html`${size}.` : KINDS[state.kind].caption(state, size); // in two lines
  return html`<p class="qkv-lead qkv-x-says"><span class="qkv-x-row">${name} = ${listed(rows[row])}</span>
    <small>${t`Row ${row + 1} of ${what}`}
    ${same.length ? html`<span>${same.length > 1 ? t`${sign} marks ${same.length} equal rows.` : t`${sign} marks an equal row, ${same[0] + 1}.`}</span>` : nothing}
    ${isNew ? html`<span>${t`${name} is new: its features are random.`}</span>` : nothing}</small></p>`;
}

/** Draw the line from the chosen piece of the object to its row: round the object's other pieces, then beside the matrix. It
 * leaves the object above or below, whichever is nearer; from a word that is not in the first line, below its own line.
 * @param {HTMLElement} root */
function drawThread(root) {
  const thread = root.querySelector(".qkv-thread");
  const piece = root.querySelector("[data-piece]");
  const row = root.querySelector(".qkv-looked-at");
  const rows = root.querySelector(".qkv-rows");
  if (!thread || !piece || !row || !rows) return;
  const [from, to, beside, { left, top }] = [piece, row, rows, thread].map((part) => part.getBoundingClientRect());
  const pieces = [...root.querySelectorAll(PIECES), piece].map((part) => part.getBoundingClientRect());
  const [highest, lowest] = [
    Math.min(...pieces.map((each) => each.top)),
    Math.max(...pieces.map((each) => each.bottom)),
  ];
  const isWord = piece.matches("button");
  const [above, below] = [from.top - highest, lowest - from.bottom];
  const isUp = above < (isWord ? Math.min(1, below) : below);
  const low = isWord ? from.bottom : lowest;
  const [start, out] = isUp ? [from.top, highest - AWAY] : [from.bottom, low + AWAY];
  const x = from.left + from.width / 2 - left;
  const [gutter, end] = [beside.left - left - GUTTER, to.top + to.height / 2 - top];
  const way = `M${x} ${start - top}V${out - top}H${gutter}V${end}H${gutter + GUTTER}`;
  for (const path of thread.children) path.setAttribute("d", way);
}
const [GUTTER, AWAY] = [9, 3]; // pixels: of the line from the matrix, and from the pieces
const PIECES = ".qkv-sentence button, .qkv-atom, .qkv-picture";

/** Draw the tokens of the sentence.
 * @param {State} state
 * @param {number} row
 * @param {SetState<State>} set */
function drawText(state, row, set) {
  const { tokens } = sentenceOf(state);
  const gloss = (/** @type {string} */ token) =>
    state.sentence === 1 && !tokensOf(state.typed).length ? html`<small>${glossOf(token)}</small>` : nothing;
  return html`<p class="qkv-sentence">
      ${tokens.map(
        (
          token,
          i,
        ) => html`<button type="button" class=${i === row ? "qkv-piece" : ""} data-piece=${i === row ? "" : nothing} aria-pressed=${i === row}
          aria-label=${wordAt(tokens, i) === token ? nothing : wordAt(tokens, i)} @click=${() => set({ row: i })}>${token}${gloss(token)}</button> `,
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
  return svg`<svg class="qkv-drag" viewBox="0 0 120 60" @pointerdown=${grab} @pointermove=${grab} role="img" aria-label=${t`A tone that climbs, ${num(width, { places: 1 })} seconds long, cut into windows of 25 milliseconds.`}>
    <polyline class="qkv-wave" points=${points.join(" ")} />
    <rect class="qkv-frame" data-piece x=${(row * 1.2) / width} width=${3 / width} y="1" height="58" />
  </svg>`;
}

/** @param {State} parts
 * @param {number} row
 * @param {SetState<State>} set */
function drawMolecule({ molecule }, row, set) {
  const { at, bonds } = MOLECULES[molecule];
  const letters = atomsOf(molecule);
  const choose = (/** @type {{ target: Element }} */ { target }) => {
    const atom = /** @type {SVGElement | null} */ (target.closest("[data-row]"));
    if (atom) set({ row: Number(atom.dataset.row) });
  };
  return svg`<svg viewBox="0 0 12 6.4" @click=${choose} role="img" aria-label=${t`A drawing of ${MOLECULE_NAMES[molecule]()}: ${letters.length} atoms and their bonds.`}>
    ${bonds.map(([a, b]) => svg`<line class="qkv-bond" x1=${at[a][0]} y1=${at[a][1]} x2=${at[b][0]} y2=${at[b][1]} />`)}
    ${letters.map(
      (letter, i) => svg`<g class="qkv-atom-place" data-row=${i}>
        <circle class=${i === row ? "qkv-atom qkv-ringed" : "qkv-atom"} data-piece=${i === row ? "" : nothing} cx=${at[i][0]} cy=${at[i][1]} r="0.75" />
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
  return svg`<svg class="qkv-drag qkv-picture" viewBox="-0.2 -0.2 16.4 16.4" @pointerdown=${grab} @pointermove=${grab} role="img" aria-label=${t`A small picture of 16 by 16 pixels: a sun over two hills. The patch is outlined.`}>
    ${PIXELS}
    <rect class="qkv-patch-edge" data-piece x=${x} y=${y} width=${patch} height=${patch} />
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

/** Draw the matrix of the image: each patch is a row, and three numbers are a pixel in its colour.
 * @param {number} patch */
function inTheirColours(patch) {
  const [n, d] = [patches(patch).length, patch * patch];
  return html`<svg class="qkv-pixels" viewBox="0 0 ${d} ${n}" preserveAspectRatio="none" role="img"
    aria-label=${t`X: ${n} rows of ${3 * d} numbers, each three drawn as the pixel that they are.`}>${pixelRows(patch)}</svg>`;
}

const pixelRows = remember((/** @type {number} */ patch) => {
  const rows = patches(patch);
  const across = patch * patch;
  return rows.flatMap((row, y) =>
    Array.from(
      { length: across },
      (_, x) => svg`<rect x=${x} y=${y} width="1.02" height="1.02" fill=${rgb(row.slice(3 * x, 3 * x + 3))} />`,
    ),
  );
}, 4);

const numbers = (/** @type {State} */ state, /** @type {Seen} */ { rows, names }) => [
  {
    caption: t`X, its first rows and columns, of ${rows.length} × ${rows[0].length}`,
    head: [KINDS[state.kind].unit(), ...KINDS[state.kind].columns(state).slice(0, 8)],
    rows: rows.slice(0, 16).map((row, i) => [`${i + 1}: ${names[i]}`, ...row.slice(0, 8).map((x) => num(x))]),
  },
];

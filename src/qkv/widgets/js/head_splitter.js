import { guard } from "lit-html/directives/guard.js";
import { live } from "lit-html/directives/live.js";
import { dragged, html, nothing, num, powersOfTwo, remember, stepSlider, tables, widget } from "./base.js";
import { headEntries, nudgeExperiment } from "./maths.js";

const EXAMPLES = [
  ["the", "cat", "was", "hungry"],
  ["I", "saw", "a", "saw"],
];
const [BATCH, TOKENS, FEATURES] = [2, 4, 8];
const NAMES = EXAMPLES.flat();
const IN_SENTENCES = [...NAMES.slice(0, 5).map((name) => `“${name}”`), "the first “saw”", "“a”", "the last “saw”"];
const range = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i);
const NOTHING = 1e-9; // the largest change of an output that counts as none
const STILL = 3; // pixels: the largest move of the pointer that counts as a press, not a drag
const [HELD, DEALT] = [0.02, 0.98]; // up to here the tape is whole, and from here on it is dealt
const PULL = 0.84; // the share of the picture's height that the ring moves through
const HEADS = html`heads, <var>H</var>`;
const SPLITS = powersOfTwo(3);

/** @type {Record<Route, string>} */
const WAYS = {
  right: "split, then transpose",
  "reshape both ways": "reshape alone",
  "reshape in": "reshape on the way in",
  "reshape out": "reshape on the way back",
  "heads first": "heads before sentences",
};

/** @import { SetState } from "./base.js" */
/** @import { Route } from "./maths.js" */
/** @typedef {[text: string, isAmiss: boolean][]} Said parts of a sentence, and whether each says what is wrong */
/** @typedef {{ n_heads: number, wrong: Route, nudged: number, causal: boolean, dealt: number,
 *   grip: { from: number, at: number, y: number } | null }} State */

export default widget("HeadSplitter", {
  // `grip` has, from when a drag began, how far the tape was dealt, and the pointer's place on the picture and the screen.
  own: { grip: null },
  says: (/** @type {State} */ state) => `${WAYS[state.wrong]}: ${verdict(state, state.wrong)}`,
  view: (state, set, id) => html`
    <p class="qkv-lead qkv-deal-says" data-number="wrong">${lead(state)}</p>
    ${picture(state, set, id)}
    ${stepSlider({ label: HEADS, value: state.n_heads, values: SPLITS, onInput: (value) => set({ n_heads: value }) })}
    ${tables(() => numbers(state))}`,
});

/** Return the sentence about the tape: whole, on its way, or dealt.
 * @param {State} state */
function lead(state) {
  if (state.dealt >= DEALT) return sentences(state, state.wrong);
  const rows = rowsOf(state).length;
  const heads = state.n_heads === 1 ? "1 head" : `${state.n_heads} heads`;
  if (state.dealt > HELD) return html`The same ${num(rows * FEATURES)} numbers are dealt in two ways …`;
  return html`In memory, ${num(rows)} words are one tape of ${num(rows * FEATURES)} numbers. Pull the ring down to deal it to ${heads}.`;
}

const exampleOf = (/** @type {number} */ row) => Math.floor(row / TOKENS);

/** Return the examples that are shown: both if the wrong way mixes them, or the one of the changed word.
 * @param {Pick<State, "wrong" | "nudged">} parts */
const examplesOf = ({ wrong, nudged }) => (wrong === "heads first" ? range(BATCH) : [exampleOf(nudged)]);

/** Return the rows that are shown: of one example, or of both.
 * @param {State} state */
const rowsOf = (state) => examplesOf(state).flatMap((b) => range(TOKENS).map((i) => TOKENS * b + i));

const shapeOf = (/** @type {number} */ heads) => ({ batch: BATCH, tokens: TOKENS, features: FEATURES, heads });

/** Return the entries of the heads, with the indices where they come from. */
const entriesOf = remember(
  (/** @type {Route} */ route, /** @type {number} */ n_heads) => headEntries(route, shapeOf(n_heads)),
  20,
);

/** Return the pieces of rows that are in the heads of an example, head by head. A piece's word is below another word if the
 * piece is misplaced. */
const piecesOf = remember(
  (/** @type {Route} */ route, /** @type {number} */ n_heads, /** @type {number} */ b) =>
    entriesOf(route, n_heads)
      .filter((entry) => entry.b === b && entry.column === 0)
      .map(({ h, row, from }) => {
        const token = tokenOf({ from });
        return { h, row, token, isMisplaced: token !== TOKENS * b + row };
      }),
  40,
);

const tokenOf = (/** @type {{ from: number }} */ { from }) => Math.floor(from / FEATURES);

/** Return by how much each output row changes, and whether it should. */
const outcome = remember(
  (
    /** @type {Route} */ route,
    /** @type {number} */ n_heads,
    /** @type {boolean} */ causal,
    /** @type {number} */ nudged,
  ) =>
    nudgeExperiment(route, { ...shapeOf(n_heads), causal, nudged }).map((entries, row) => {
      const moved = Math.max(...entries);
      const should = exampleOf(row) === exampleOf(nudged) && (!causal || row >= nudged);
      return { row, moved, should, hears: moved > NOTHING };
    }),
  80,
);
const outputs = (
  /** @type {Pick<State, "n_heads" | "causal" | "nudged">} */ { n_heads, causal, nudged },
  /** @type {Route} */ route,
) => outcome(route, n_heads, causal, nudged);

/** Return what a way does, in sentences.
 * @param {State} state
 * @param {Route} route */
const sentences = (state, route) =>
  verdictParts(state, route).map(([text, isAmiss]) => (isAmiss ? html`<b class="qkv-amiss">${text}</b>` : text));

/** Return the sentences as one text.
 * @param {State} state
 * @param {Route} route */
export const verdict = (state, route) =>
  verdictParts(state, route)
    .map(([text]) => text)
    .join("");

/** Return sentences about where a way puts the pieces and which outputs it changes, in parts: each is a text, and
 * whether it says what is wrong.
 * @param {State} state
 * @param {Route} route
 * @returns {Said} */
function verdictParts(state, route) {
  const all = outputs(state, route);
  const due = all.filter(({ should }) => should);
  const reached = due.filter(({ hears }) => hears).length;
  const leaks = all.filter(({ should, hears }) => hears && !should).length;
  const change = `${due.length} output${due.length === 1 ? "" : "s"}${state.causal ? " that may read it" : ""} change`;
  return [
    ...placing(state, route),
    [` If ${IN_SENTENCES[state.nudged]} changes, `, false],
    reached < due.length
      ? [`only ${reached} of ${change}`, true]
      : [`${reached} of ${change}, as ${due.length === 1 ? "it" : "they"} should`, false],
    leaks ? [`, and ${leaks} that must not`, true] : ["", false],
    [`.${route === "right" ? "" : whyUnseen(state, route)}`, false],
  ];
}

/** Return where a way puts the pieces, in parts.
 * @param {State} state
 * @param {Route} route
 * @returns {Said} */
function placing(state, route) {
  const pieces = examplesOf(state).flatMap((b) => piecesOf(route, state.n_heads, b));
  const misplaced = pieces.filter(({ isMisplaced }) => isMisplaced).length;
  if (misplaced)
    return [
      [`${misplaced} of ${pieces.length} pieces`, true],
      [" are below another word.", false],
    ];
  if (route === "right") return [["Every piece is below its word.", false]];
  return [
    [
      state.n_heads === 1 ? "With one head, both ways are the same." : "The heads are right, but are joined wrongly.",
      false,
    ],
  ];
}

/** Return a sentence that says why a wrong way with several heads looks right, or nothing.
 * @param {State} parts
 * @param {Route} route */
function whyUnseen({ n_heads, causal, nudged }, route) {
  const looksRight = outcome(route, n_heads, causal, nudged).every(({ should, hears }) => should === hears);
  if (n_heads === 1 || !looksRight) return "";
  const isHalf = route === "reshape in" || route === "reshape out";
  return isHalf && !causal ? " Only a causal mask shows the mistake." : " This word does not show the mistake.";
}

/* ---- the picture: the tape, and below it both ways, with a row for each head and a column for each word. Each way has
 * all entries of the tape, which the style moves from there (`--dealt: 0`) to their places in the heads (1). */

/** @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function picture(state, set, id) {
  const rows = rowsOf(state);
  const grab = dragged(({ y, isPress, event }) => {
    if (isPress) set({ grip: { from: state.dealt, at: y, y: event.clientY } });
    else if (state.grip) set({ dealt: Math.min(1, Math.max(0, state.grip.from + (y - state.grip.at) / PULL)) });
  });
  return html`<div class="qkv-deal qkv-drag ${state.dealt >= DEALT ? "qkv-dealt" : ""}"
      style="--dealt: ${state.dealt}; --rows: ${rows.length}; --heads: ${state.n_heads}"
      @pointerdown=${grab} @pointermove=${grab} @click=${chosen(state, set)}>
    <div class="qkv-tape"><span class="qkv-way-name" aria-hidden="true">tape</span>${rows.map((row) => onTape(row, state, set, id))}</div>
    ${way(state, "right")} ${way(state, state.wrong)}
    <label class="qkv-deal-ring"><span class="qkv-unseen">tape, dealt to heads</span>
      <input class="qkv-over" type="range" min="0" max="1" step="0.02" aria-valuetext="${Math.round(100 * state.dealt)} %"
        .value=${live(String(state.dealt))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ dealt: target.valueAsNumber })}>
    </label>
  </div>`;
}

/** Return a click listener that changes the word at the pointer, unless the click ends a drag. The picture has captured the
 * pointer, so it is the target of the click. */
const chosen =
  (/** @type {State} */ state, /** @type {SetState<State>} */ set) =>
  (/** @type {MouseEvent & { currentTarget: Element }} */ { clientX, clientY, currentTarget }) => {
    if (Math.abs(clientY - (state.grip?.y ?? clientY)) > STILL) return;
    const root = /** @type {Document | ShadowRoot} */ (currentTarget.getRootNode());
    const word = /** @type {HTMLElement | null | undefined} */ (
      root.elementFromPoint(clientX, clientY)?.closest("[data-token]")
    );
    if (word) set({ nudged: Number(word.dataset.token) });
  };

/** Return a word whose letters after the first are left out where they have no room. */
const spelt = (/** @type {number} */ token) =>
  html`${NAMES[token][0]}<span class="qkv-ending">${NAMES[token].slice(1)}</span>`;

/** Return one way into heads: its title, a row of pieces for each head, the outputs, and the entries of the heads.
 * @param {State} state
 * @param {Route} route */
function way(state, route) {
  const { n_heads, nudged } = state;
  const rows = rowsOf(state);
  const isRight = route === "right";
  return html`<div class="qkv-way ${isRight ? "" : "qkv-wrong-way"}" role="group" aria-label=${WAYS[route]}>
    <p class="qkv-way-title">${isRight ? html`<b>✓ Right:</b>` : html`<b class="qkv-amiss">✗ Wrong:</b>`} ${WAYS[route]}</p>
    <p class="qkv-way-head" aria-hidden="true">${range(n_heads).map((h) => html`<span>head ${h + 1}</span>`)}</p>
    <span class="qkv-way-name" aria-hidden="true">output</span>
    ${guard([route, n_heads, rows.length, rows[0], nudged], () => entries(route, n_heads, rows, nudged))}
    <div class="qkv-pieces" aria-hidden="true">${piecesIn(route, n_heads, rows).map(
      ({ token, isMisplaced }) =>
        html`<span class="${isMisplaced ? "qkv-amiss" : ""} ${token === nudged ? "qkv-nudged" : ""}" data-token=${token}>${n_heads > 4 ? nothing : spelt(token)}</span>`,
    )}</div>
    <div class="qkv-way-outputs">${outputs(state, route)
      .filter(({ row }) => rows.includes(row))
      .map(
        ({ row, should, hears }) =>
          html`<span data-changes=${hears} class=${should === hears ? "" : "qkv-amiss"}><span class="qkv-unseen">${IN_SENTENCES[row]}: </span>${outputWord(hears, rows.length)}</span>`,
      )}</div>
  </div>`;
}

/** Return whether an output changes, as a word, or as a mark if eight outputs have no room for it. */
const outputWord = (/** @type {boolean} */ hears, /** @type {number} */ count) =>
  count > TOKENS ? (hears ? "≠" : "=") : hears ? "changes" : "same";

/** Return a word on the tape as a radio button: the word that is changed a little.
 * @param {number} row
 * @param {Pick<State, "nudged">} parts
 * @param {SetState<State>} set
 * @param {string} id */
const onTape = (row, { nudged }, set, id) => html`<label class="qkv-pick qkv-token-${row % TOKENS}" data-token=${row}>
  <input class="qkv-over" type="radio" name="${id}-nudged" aria-label="change ${IN_SENTENCES[row]}"
    .checked=${live(row === nudged)} @change=${() => set({ nudged: row })}>
  ${spelt(row)}
</label>`;

/** Return the pieces in the heads, head by head, each with the words' places from left to right.
 * @param {Route} route
 * @param {number} n_heads
 * @param {number[]} rows */
const piecesIn = (route, n_heads, rows) =>
  range(n_heads).flatMap((head) =>
    rows.flatMap((place) =>
      piecesOf(route, n_heads, exampleOf(place)).filter(({ h, row }) => h === head && row === place % TOKENS),
    ),
  );

/** Return the entries of the rows that are shown: each with its places on the tape and in the heads.
 * @param {Route} route
 * @param {number} n_heads
 * @param {number[]} rows
 * @param {number} nudged */
const entries = (route, n_heads, rows, nudged) =>
  entriesOf(route, n_heads)
    .filter(({ b, row }) => rows.includes(TOKENS * b + row))
    .sort((one, other) => one.from - other.from) // so that each keeps its element, and glides to another place
    .map(({ b, h, row, column, from }) => {
      const token = tokenOf({ from });
      const place = `--from: ${from - FEATURES * rows[0]}; --word: ${token - rows[0]}; --cell: ${from % FEATURES}; --column: ${column}; --head: ${h}; --row: ${TOKENS * b + row - rows[0]}`;
      return html`<i class=${token === nudged ? "qkv-nudged" : `qkv-token-${token % TOKENS}`} style=${place}></i>`;
    });

/** @param {State} state */
function numbers(state) {
  /** @type {Route[]} */
  const ways = ["right", state.wrong];
  const [right, wrong] = ways.map((route) => outputs(state, route));
  const [inRight, inWrong] = ways.map((route) => entriesOf(route, state.n_heads));
  const tokensIn = (
    /** @type {ReturnType<typeof headEntries>} */ entries,
    /** @type {number} */ b,
    /** @type {number} */ h,
  ) => [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => IN_SENTENCES[tokenOf(e)]))].join(", ");
  const everyHead = range(BATCH).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
  return [
    {
      caption: `By how much each output changes with ${IN_SENTENCES[state.nudged]}`,
      head: ["output", "should change", "right way", "wrong way"],
      rows: right.map(({ row, moved, should }) => [
        IN_SENTENCES[row],
        should ? "yes" : "no",
        num(moved),
        num(wrong[row].moved),
      ]),
    },
    {
      caption: "Whose features are in a head",
      head: ["example, head", "right way", "wrong way"],
      rows: everyHead.map(([b, h]) => [`${b}, ${h}`, tokensIn(inRight, b, h), tokensIn(inWrong, b, h)]),
    },
  ];
}

import { keyed } from "lit-html/directives/keyed.js";
import { live } from "lit-html/directives/live.js";
import { dragged, html, nothing, num, remember, t, tables, widget } from "./base.js";
import { headEntries, nudgeExperiment } from "./maths.js";

const EXAMPLES = [
  ["the", "cat", "was", "hungry"],
  ["I", "saw", "a", "saw"],
];
const [BATCH, TOKENS, FEATURES] = [2, 4, 8];
const NAMES = EXAMPLES.flat();
/** Return a word as a sentence names it. */
const named = (/** @type {number} */ token) => {
  if (NAMES[token] !== "saw") return t`“${NAMES[token]}”`;
  return token === NAMES.indexOf("saw") ? t`the first “saw”` : t`the last “saw”`;
};
const range = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i);
const NOTHING = 1e-9; // the largest change of an output that counts as none
const STILL = 3; // pixels: the largest move of the pointer that counts as a press, not a drag
const [HELD, DEALT] = [0.02, 0.98]; // up to here the tape is whole, and from here on it is dealt
const SNAP = 0.9; // from here on, a drag ends with the tape dealt
const PULL = 0.85; // the share of the picture's height that the ring moves through
const SPLITS = [1, 2, 4]; // the numbers of heads to choose from, and 8 if Python sets it

/** @type {Record<Route, () => string>} */
const WAYS = {
  right: () => t`split, then transpose`,
  "reshape both ways": () => t`reshape alone`,
  "reshape in": () => t`reshape on the way in`,
  "reshape out": () => t`reshape on the way back`,
  "heads first": () => t`heads before sentences`,
};

/** @import { SetState } from "./base.js" */
/** @import { Route } from "./maths.js" */
/** @typedef {(told: unknown, isRight?: boolean) => unknown} Mark shows what is right or wrong: a number, or the names of words */
/** @typedef {{ n_heads: number, wrong: Route, nudged: number, causal: boolean, dealt: number,
 *   grip: { from: number, at: number, y: number } | null, pressed: boolean, isWrong: boolean | null }} State */

export default widget("HeadSplitter", {
  // `grip` has, from when a drag began, how far the tape was dealt, and the pointer's place on the picture and the screen.
  // After `pressed`, what a word changes shows it by a pulse. If `isWrong`, the wrong way is shown; if null, nobody has chosen.
  own: { grip: null, pressed: false, isWrong: null },
  says: (/** @type {State} */ state) =>
    isChosen(state) ? t`${WAYS[routeOf(state)]()}: ${verdict(state, routeOf(state))}` : inMemory(state),
  view: (state, set, id) => html`
    <p class="qkv-lead qkv-deal-says" data-number="wrong">${lead(state)}</p>
    ${routes(state, set, id)}
    ${picture(state, set, id)}
    ${heads(state, set, id)}
    ${tables(() => (isChosen(state) ? numbers(state) : []))}`,
});

/** Return the sentence about the tape: whole, on its way, or dealt. Its outputs say which of them stay.
 * @param {State} state */
function lead(state) {
  const route = routeOf(state);
  /** @type {Mark} */
  const mark = (told, isRight) => html`<b class=${isRight ? "" : "qkv-amiss"}>${told}</b>`;
  if (state.dealt >= DEALT) return [changing, leaking, whyUnseen].map((tell) => tell(state, route, mark));
  const words = rowsOf(state).length;
  const tape = num(words * FEATURES);
  if (state.dealt > HELD) return t`The tape is ${tape} numbers in memory. Pull the ring on: they go to the heads.`;
  return isChosen(state)
    ? t`In memory, ${words} words are one tape of ${tape} numbers. Pull the ring down.`
    : inMemory(state);
}

/** Return what is said before a way is chosen.
 * @param {State} state */
const inMemory = (state) =>
  t`In memory, ${rowsOf(state).length} words are one tape of ${num(rowsOf(state).length * FEATURES)} numbers. Press a way into heads.`;

/** Return the way that is shown.
 * @param {Pick<State, "isWrong" | "wrong">} parts
 * @returns {Route} */
const routeOf = ({ isWrong, wrong }) => (isWrong ? wrong : "right");

/** Check whether a way is chosen: nobody has pressed one while the tape is whole at first. */
const isChosen = (/** @type {Pick<State, "isWrong" | "dealt">} */ { isWrong, dealt }) =>
  isWrong !== null || dealt > HELD;

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

/** Return the pieces of rows that are in the heads of an example: each with its head, its place there, and where it begins on
 * the tape. A piece is misplaced if it is in another word's column. */
const piecesOf = remember(
  (/** @type {Route} */ route, /** @type {number} */ n_heads, /** @type {number} */ b) =>
    entriesOf(route, n_heads)
      .filter((entry) => entry.b === b && entry.column === 0)
      .map(({ h: head, row, from }) => {
        const [token, place] = [tokenOf({ from }), TOKENS * b + row];
        return { head, place, token, from, isMisplaced: token !== place };
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

/** Return what a way does, in sentences: where it puts the pieces, which outputs it changes, and why it may look right.
 * @param {State} state
 * @param {Route} route
 * @param {Mark} mark
 * @returns {unknown[]} */
const sentences = (state, route, mark) => [
  placing(state, route, mark),
  changing(state, route, mark),
  leaking(state, route, mark),
  staying(state, route, mark),
  whyUnseen(state, route),
];

/** Return the sentences as one text.
 * @param {State} state
 * @param {Route} route */
export const verdict = (state, route) => sentences(state, route, (wrong) => wrong).join("");

/** Return how many of the outputs that should change do.
 * @param {State} state
 * @param {Route} route
 * @param {Mark} mark */
function changing(state, route, mark) {
  const due = outputs(state, route).filter(({ should }) => should);
  const reached = due.filter(({ hears }) => hears).length;
  const [word, all] = [named(state.nudged), due.length];
  if (reached < all) {
    const few = mark(reached);
    if (!state.causal) return t` If ${word} changes, only ${few} of ${all} outputs change.`;
    return all === 1
      ? t` If ${word} changes, only ${few} of 1 output that may read it changes.`
      : t` If ${word} changes, only ${few} of ${all} outputs that may read it change.`;
  }
  const each = mark(all, true);
  if (!state.causal) return t` If ${word} changes, ${each} of ${all} outputs change, as they should.`;
  return all === 1
    ? t` If ${word} changes, 1 of 1 output that may read it changes, as it should.`
    : t` If ${word} changes, ${each} of ${all} outputs that may read it change, as they should.`;
}

/** Return how many outputs change that must not, or nothing.
 * @param {State} state
 * @param {Route} route
 * @param {Mark} mark */
function leaking(state, route, mark) {
  const leaks = outputs(state, route).filter(({ should, hears }) => hears && !should).length;
  if (!leaks) return "";
  return leaks === 1 ? t` ${mark(1)} wrong one does.` : t` ${mark(leaks)} wrong ones do.`;
}

/** Return which outputs stay that should change, or nothing if all of them do.
 * @param {State} state
 * @param {Route} route
 * @param {Mark} mark */
function staying(state, route, mark) {
  const due = outputs(state, route).filter(({ should }) => should);
  const still = due.filter(({ hears }) => !hears).map(({ row }) => named(row));
  if (still.length === 0 || still.length === due.length) return "";
  const names = mark(still.join(t`, `));
  return still.length === 1 ? t` ${names} stays.` : t` ${names} stay.`;
}

/** Return where a way puts the pieces.
 * @param {State} state
 * @param {Route} route
 * @param {Mark} mark */
function placing(state, route, mark) {
  const pieces = examplesOf(state).flatMap((b) => piecesOf(route, state.n_heads, b));
  const misplaced = pieces.filter(({ isMisplaced }) => isMisplaced).length;
  if (misplaced) return t`${mark(misplaced)} of ${pieces.length} pieces are in another word’s column.`;
  if (route === "right") return t`Every piece is in its word’s column.`;
  return state.n_heads === 1
    ? t`With one head, both ways are the same.`
    : t`The heads are right, but are joined wrongly.`;
}

/** Return a sentence that says why a wrong way with several heads looks right, or nothing.
 * @param {State} parts
 * @param {Route} route */
function whyUnseen({ n_heads, causal, nudged }, route) {
  const looksRight = outcome(route, n_heads, causal, nudged).every(({ should, hears }) => should === hears);
  if (route === "right" || n_heads === 1 || !looksRight) return "";
  const isHalf = route === "reshape in" || route === "reshape out";
  return isHalf && !causal ? t` Only a causal mask shows the mistake.` : t` This word does not show the mistake.`;
}

/* ---- the picture: the tape, and below it the way that is shown, with a row for each head and a column for each word. The
 * style moves each piece from the tape (`--dealt: 0`) to its place in a head (1), and from one way's place to the other's. */

/** @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
function picture(state, set, id) {
  const rows = rowsOf(state);
  const grab = dragged(({ y, isPress, event }) => {
    if (!isChosen(state)) return;
    if (isPress) set({ grip: { from: state.dealt, at: y, y: event.clientY }, isWrong: state.isWrong === true });
    else if (state.grip) set({ dealt: pulled(state.grip.from + (y - state.grip.at) / PULL) });
  });
  return html`<div class="qkv-deal qkv-drag ${state.pressed ? "qkv-pressed" : ""} ${isChosen(state) ? "" : "qkv-undealt"}"
      style="--dealt: ${state.dealt}; --rows: ${rows.length}; --heads: ${state.n_heads}"
      @pointerdown=${grab} @pointermove=${grab} @click=${chosen(state, set)}>
    <div class="qkv-tape"><span class="qkv-way-name" aria-hidden="true">${t`tape`}</span>${rows.map((row) => onTape(row, state, set, id))}</div>
    ${way(state, routeOf(state))}
    <span class="qkv-deal-rail" aria-hidden="true">${t`memory → heads`}</span>
    ${ring(state, set)}
  </div>`;
}

/** Return the ring that deals the tape.
 * @param {State} state
 * @param {SetState<State>} set */
const ring = ({ dealt, isWrong }, set) => html`<label class="qkv-knob qkv-deal-ring">
  <span aria-hidden="true">↕</span><span class="qkv-unseen">${t`tape, dealt to heads`}</span>
  <input class="qkv-over" type="range" min="0" max="1" step="0.02" aria-valuetext="${Math.round(100 * dealt)} %"
    .value=${live(String(dealt))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ dealt: target.valueAsNumber, isWrong: isWrong === true })}>
</label>`;

/** Return the choice between the right way and the wrong one.
 * @param {State} state
 * @param {SetState<State>} set
 * @param {string} id */
const routes = (state, set, id) => {
  const shown = isChosen(state) ? state.isWrong === true : null;
  return html`<fieldset class="qkv-routes">
  <legend class="qkv-unseen">${t`way into heads`}</legend>
  ${[false, true].map(
    (isWrong) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-route" .checked=${live(isWrong === shown)} @change=${() => set({ isWrong, dealt: 1, pressed: false })}>
      <span><b aria-hidden="true" ?data-untold=${isWrong !== shown}>${isWrong ? "✗" : "✓"}</b> ${isWrong === shown ? html`<span class="qkv-unseen">${isWrong ? t`Wrong:` : t`Right:`}</span>` : nothing} ${WAYS[isWrong ? state.wrong : "right"]()}</span>
    </label>`,
  )}
</fieldset>`;
};

/** Return how far the tape is dealt by a ring that was pulled to `at`. Near its end, it snaps there: just before it, no
 * entry would be in its head.
 * @param {number} at */
const pulled = (at) => (at >= SNAP ? 1 : Math.max(0, at));

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
    if (word) set({ nudged: Number(word.dataset.token), pressed: true });
  };

/** Return a word, whose letters after the first are left out where they have no room. */
const spelt = (/** @type {number} */ token) =>
  html`<em>${NAMES[token][0]}<span class="qkv-ending">${NAMES[token].slice(1)}</span></em>`;

/** Return one way into heads: a row of pieces for each head, and the outputs. Pieces are in the order of the tape, so that each
 * keeps its element, and glides to another place.
 * @param {State} state
 * @param {Route} route */
function way(state, route) {
  const { n_heads, nudged } = state;
  const rows = rowsOf(state);
  const pieces = examplesOf(state)
    .flatMap((b) => piecesOf(route, n_heads, b))
    .sort((one, other) => one.from - other.from);
  return html`<div class="qkv-way" role="group" aria-label=${WAYS[route]()}>
    <p class="qkv-way-head" aria-hidden="true">${range(n_heads).map((h) => html`<span>${t`head ${h + 1}`}</span>`)}</p>
    <span class="qkv-way-name" aria-hidden="true">${t`output`}</span>
    <div class="qkv-pieces" aria-hidden="true">${pieces.map(
      ({ head, place, token, from, isMisplaced }) =>
        html`<span class="${isMisplaced ? "qkv-amiss" : ""} ${token === nudged ? "qkv-nudged" : ""}" data-token=${token}
          style="--word: ${token - rows[0]}; --cell: ${from % FEATURES}; --head: ${head}; --row: ${place - rows[0]}">${n_heads > 4 ? nothing : spelt(token)}</span>`,
    )}</div>
    <div class="qkv-way-outputs">${keyed(
      nudged,
      (isChosen(state) ? outputs(state, route) : [])
        .filter(({ row }) => rows.includes(row))
        .map(
          ({ row, should, hears }) =>
            html`<span data-changes=${hears} class=${should === hears ? "" : "qkv-amiss"}><span class="qkv-unseen">${t`${named(row)}: `}</span><span aria-hidden="true">${spelt(row)}</span>${outputWord(hears, rows.length)}</span>`,
        ),
    )}</div>
  </div>`;
}

/** Return whether an output changes, as a word, or as a mark if eight outputs have no room for it. */
const outputWord = (/** @type {boolean} */ hears, /** @type {number} */ count) =>
  count > TOKENS ? (hears ? "≠" : "=") : hears ? t`changes` : t`stays`;

/** Return a word on the tape as a radio button: the word that is changed a little.
 * @param {number} row
 * @param {Pick<State, "nudged">} parts
 * @param {SetState<State>} set
 * @param {string} id */
const onTape = (row, { nudged }, set, id) => html`<label class="qkv-pick" data-token=${row}>
  <input class="qkv-over" type="radio" name="${id}-nudged" aria-label=${t`change ${named(row)}`}
    .checked=${live(row === nudged)} @change=${() => set({ nudged: row, pressed: true })}>
  ${spelt(row)}
</label>`;

/** Return the choice of the number of heads.
 * @param {State} parts
 * @param {SetState<State>} set
 * @param {string} id */
const heads = ({ n_heads }, set, id) => html`<fieldset class="qkv-control qkv-head-counts">
  <legend class="qkv-label">${t`heads, ${html`<var>H</var>`}`}</legend>
  <div>${(SPLITS.includes(n_heads) ? SPLITS : [...SPLITS, n_heads]).map(
    (count) => html`<label class="qkv-pick">
      <input class="qkv-over" type="radio" name="${id}-heads" .checked=${live(count === n_heads)} @change=${() => set({ n_heads: count })}>
      ${count}
    </label>`,
  )}</div>
</fieldset>`;

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
  ) => [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => named(tokenOf(e))))].join(t`, `);
  const everyHead = range(BATCH).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
  return [
    {
      caption: t`By how much each output changes with ${named(state.nudged)}`,
      head: [t`output`, t`should it change?`, t`right way`, t`wrong way`],
      rows: right.map(({ row, moved, should }) => [
        named(row),
        should ? t`it should` : t`it should not`,
        num(moved),
        num(wrong[row].moved),
      ]),
    },
    {
      caption: t`Whose features are in a head`,
      head: [t`example, head`, t`right way`, t`wrong way`],
      rows: everyHead.map(([b, h]) => [`${b}, ${h}`, tokensIn(inRight, b, h), tokensIn(inWrong, b, h)]),
    },
  ];
}

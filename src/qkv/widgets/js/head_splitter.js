import { guard } from "lit-html/directives/guard.js";
import { live } from "lit-html/directives/live.js";
import {
  choices,
  dragged,
  gripMark,
  html,
  nearestOf,
  nothing,
  num,
  powersOfTwo,
  remember,
  stepSlider,
  svg,
  tables,
  toggle,
  widget,
} from "./base.js";
import { headEntries, nudgeExperiment } from "./maths.js";

const EXAMPLES = [
  ["中和", "有", "一個", "永和路"],
  ["I", "saw", "a", "saw"],
];
const [BATCH, TOKENS, FEATURES] = [2, 4, 8];
const NAMES = EXAMPLES.flat();
const GLOSSES = ["Zhonghe", "has", "a", "Yonghe Road"];
const SPOKEN = [
  ...EXAMPLES[0].map((name, i) => `${name} (${GLOSSES[i]})`),
  '"I"',
  '"saw" (the first)',
  '"a"',
  '"saw" (the last)',
];
const IN_SENTENCES = [...EXAMPLES[0], "I", "first saw", "a", "last saw"];
const range = (count) => Array.from({ length: count }, (_, i) => i);
const NOTHING = 1e-9; // the largest change of an output that counts as none
const STILL = 3; // pixels: the largest move of the pointer that counts as a press, not a drag
const GAP = 0.15; // between heads, in widths of an entry
const ACROSS = FEATURES + 7 * GAP; // the width of a sheet, with room for the gaps of eight heads
const HEADS = html`heads, <var>H</var>`;
const SPLITS = powersOfTwo(3);

const WRONG = {
  "reshape both ways": "reshape both ways",
  "reshape in": "reshape in only",
  "reshape out": "reshape out only",
  "heads first": "heads, then batch",
};
const titleOf = (route) => (route === "right" ? "transpose" : WRONG[route]);

/** @import { Route } from "./maths.js" */
/** @typedef {{ n_heads: number, wrong: Route, nudged: number, causal: boolean, gliding: boolean, held: number,
 *   from: number }} State */

export default widget("HeadSplitter", {
  // `held` is the index, from the left, of the line between heads that is dragged.
  // `from` is the pointer's x on the screen when the drag began.
  own: { gliding: false, held: 1, from: 0 },
  says: (/** @type {State} */ state) =>
    `${titleOf(state.wrong)}${state.causal ? ", causal" : ""}: ${verdict(state, state.wrong)}`,
  view: (state, set, id) => html`
    <div class="qkv-split ${state.gliding ? "qkv-gliding" : ""}" @click=${nudgeAt(state, set)}>
      ${["right", state.wrong].map((route) => title(route))}
      ${tokens(state, set, id)} ${heads(state, "right", set, id)} ${heads(state, state.wrong, set, id)}
      <p class="qkv-note">Drag a ring to move the split, or press a word.</p>
      <p class="qkv-label"><span class="qkv-unseen">after attention in every head: </span>Which outputs change with ${IN_SENTENCES[state.nudged]}?</p>
      ${names((row) => html`<span data-token=${row}>${NAMES[row]}</span>`)} ${merged(state, "right")} ${merged(state, state.wrong)}
      ${["right", state.wrong].map((route) => found(state, route))}
    </div>
    ${controls(state, set, id)}
    <p class="qkv-note qkv-split-glosses">${EXAMPLES[0].map((name, i) => `${name} ${GLOSSES[i]}`).join(", ")}</p>
    ${tables(() => numbers(state))}`,
});

const controls = (state, set, id) => html`<div class="qkv-split-controls">
  <div>
    ${stepSlider({ label: HEADS, value: state.n_heads, values: SPLITS, onInput: (value) => set({ n_heads: value, gliding: false }) })}
    ${toggle({
      label: html`causal<span class="qkv-unseen">: rows of a head see only themselves and the rows above</span>`,
      checked: state.causal,
      onChange: (value) => set({ causal: value }),
    })}
  </div>
  ${choices({
    label: "the wrong way shown",
    name: `${id}-wrong`,
    value: state.wrong,
    options: Object.entries(WRONG).map(([value, label]) => ({ value, label })),
    onChange: (value) => set({ ...chosen(state, value), gliding: true }),
  })}
</div>`;

/** Return the change of the state when a wrong way is chosen: with the nearest word that shows its mistake, and
 * causal if only that shows it. One head shows no mistake; then the word is one that shows the mistake with two
 * heads. */
export function chosen({ n_heads, causal, nudged }, wrong) {
  const shown = (masked) =>
    wordsBeside(nudged).filter((word) => !looksRight(outcome(wrong, Math.max(2, n_heads), masked, word)));
  const masked = causal || shown(false).length === 0;
  return { wrong, causal: masked, nudged: nearestOf(shown(masked), nudged) };
}

/** Return the rows of the example that a row is in. */
const wordsBeside = (row) => range(TOKENS).map((i) => TOKENS * exampleOf(row) + i);

/** Return a click listener that nudges the token of the entry at the pointer, also if a grip lies over the entry and
 * was not dragged. */
const nudgeAt =
  (state, set) =>
  ({ target, clientX, clientY }) => {
    const isDrag = target.closest(".qkv-ruler") && Math.abs(clientX - state.from) > STILL;
    const entry = AROUND.map(([x, y]) => entryAt(clientX + x, clientY + y)).find(Boolean);
    if (entry && !isDrag) set({ nudged: Number(entry.dataset.token) });
  };

// Offsets around the pointer, so that a press on a gap between entries finds an entry.
const AROUND = [0, 2].flatMap((far) => [-far, far].flatMap((x) => [-far, far].map((y) => [x, y])));

const entryAt = (x, y) => {
  const elements = /** @type {HTMLElement[]} */ (document.elementsFromPoint(x, y));
  return elements.find((each) => each.matches("[data-token]") && !each.closest(".qkv-away"));
};

/** Return the names of both examples, one below the other. A way that mixes the examples then needs no more room. */
const names = (nameOf) =>
  html`<div class="qkv-split-names">${range(BATCH).map(
    (b) => html`<div>${range(TOKENS).map((row) => nameOf(TOKENS * b + row))}</div>`,
  )}</div>`;

const tokens = ({ nudged }, set, id) => html`<fieldset class="qkv-control">
  <legend class="qkv-unseen">change one token</legend>
  ${names(
    (row) => html`<label>
      <input class="qkv-over" type="radio" name="${id}-nudged" .checked=${live(row === nudged)} @change=${() => set({ nudged: row })}>
      ${NAMES[row]}${GLOSSES[row] ? html` <small>${GLOSSES[row]}</small>` : ""}
    </label>`,
  )}
</fieldset>`;

const exampleOf = (row) => Math.floor(row / TOKENS);

const shapeOf = (heads) => ({ batch: BATCH, tokens: TOKENS, features: FEATURES, heads });

/** Return the entries of the heads, with the indices where they come from. */
const entriesOf = remember((route, n_heads) => headEntries(route, shapeOf(n_heads)), 20);

/** Return by how much each output row changes, and whether it should. */
const outcome = remember(
  (route, n_heads, causal, nudged) =>
    nudgeExperiment(route, { ...shapeOf(n_heads), causal, nudged }).map((entries, row) => {
      const moved = Math.max(...entries);
      const should = exampleOf(row) === exampleOf(nudged) && (!causal || row >= nudged);
      return { row, moved, should, hears: moved > NOTHING };
    }),
  80,
);
const outputs = ({ n_heads, causal, nudged }, route) => outcome(route, n_heads, causal, nudged);

const looksRight = (all) => all.every(({ should, hears }) => should === hears);

/** Return sentences about which outputs a nudge changes. */
export function verdict(state, route) {
  const all = outputs(state, route);
  const [due, leaks] = [all.filter(({ should }) => should), all.filter(({ should, hears }) => hears && !should)];
  const reached = due.filter(({ hears }) => hears);
  const also = leaks.length ? `, and ${leaks.length} that it must not reach` : "";
  const found = `${IN_SENTENCES[state.nudged]} reaches ${reached.length} of ${due.length} output${due.length === 1 ? "" : "s"}${also}.`;
  if (route !== "right" && looksRight(all)) return `${found} ${whyUnseen(state, route)}`;
  return route === "reshape out" ? `${found} The heads hold the right entries, but are joined wrongly.` : found;
}

/** Return a sentence that says why a wrong way looks right. */
function whyUnseen({ n_heads, causal }, route) {
  if (n_heads === 1) return "One head does not show the mistake.";
  const isHalf = route === "reshape in" || route === "reshape out";
  return isHalf && !causal ? "Only causal shows the mistake." : "This word does not show the mistake.";
}

/** Return the name of a way, for the line above its picture. */
const title = (route) =>
  html`<b class="qkv-split-title" data-wrong=${route !== "right"} aria-hidden="true">${titleOf(route)}</b>`;

/** Return the verdict on a way, with the way's name for narrow screens, where both ways are one below the other. */
const found = (
  state,
  route,
) => html`<p class="qkv-verdict" data-number=${route === "right" ? "right" : "wrong"} data-wrong=${route !== "right"}>
  <b>${titleOf(route)}</b> ${verdict(state, route)}
</p>`;

/** Return the contents of the heads on one way, below the heads' names. */
const heads = (state, route, set, id) => html`<div class="qkv-lane" role="group" aria-label="heads, ${titleOf(route)}">
  ${ruler(state, set)} ${range(BATCH).map((b) => sheet(route, b, state, `${id}-hatch`))}
</div>`;

/** Return the heads' names and the lines between them, which the reader drags. The grips reach over the sheets below.
 *
 * As for the sheets, there is a ruler for each split, and one is shown. */
function ruler(state, set) {
  const grab = dragged((grip) => set(splitAt(state, grip)));
  return html`<div class="qkv-ruler qkv-drag" aria-hidden="true" @pointerdown=${grab} @pointermove=${grab}>${SPLITS.map(
    (count) =>
      html`<div class=${count === state.n_heads ? "" : "qkv-away"} style="--qkv-head: ${startOf(1, count) / ACROSS}; --qkv-name: ${count < 4 ? 3.5 : 0.75}em">${RULERS[count]}</div>`,
  )}</div>`;
}

const startOf = (h, n_heads) => (h * FEATURES) / n_heads + h * GAP;

const across = (features) => `${(100 * features) / ACROSS}%`;
const RULERS = Object.fromEntries(
  SPLITS.map((count) => [
    count,
    range(count).map(
      (
        h,
      ) => html`<span style="left: ${across(startOf(h, count))}; width: ${across(FEATURES / count)}">${count < 4 ? `head ${h + 1}` : h + 1}</span>
        <i style="left: ${across(startOf(h + 1, count) - GAP / 2)}"><svg>${gripMark({ x: 50, y: 50 })}</svg></i>`,
    ),
  ]),
);

/** Return the change of the state at a press or a drag: a press takes the nearest line between heads, and a drag
 * moves it and with it all other lines. */
export function splitAt({ n_heads, held }, { x, isPress, event }) {
  const at = Math.max(x * ACROSS, 0.5);
  if (isPress) return { held: nearestOf(range(n_heads + 1).slice(1), at / startOf(1, n_heads)), from: event.clientX };
  const distance = (one, other) => Math.abs(Math.log(one / other));
  return { n_heads: nearestOf(SPLITS, (held * FEATURES) / at, distance), gliding: false };
}

/** Return which outputs change on one way, and whether that is right. */
const merged = (state, route) => html`<div class="qkv-lane" role="group" aria-label="outputs, ${titleOf(route)}">
  ${range(BATCH).map(
    (b) =>
      html`<div class="qkv-outputs">${outputs(state, route)
        .slice(b * TOKENS, (b + 1) * TOKENS)
        .map(
          ({ should, hears }) => html`<div data-changes=${hears} data-wrong=${should !== hears}>
          <span>${hears ? "changes" : "stays"}</span><b>${should === hears ? "✓" : "✗"}</b>
        </div>`,
        )}</div>`,
  )}
</div>`;

/* ---- a sheet: the contents of the heads for one example. It has a path for each token, because hundreds of elements
 * would take too long, and one text for all names, in which a tab is as wide as a head. */

const UNIT = 100; // the width of an entry in the sheet's own coordinates, which the style stretches
const INSIDE = 96; // the coloured part of it
const SHEET = `0 0 ${UNIT * ACROSS} ${UNIT * TOKENS}`;
const ROOM = { 1: 9, 2: 4.5, 4: 2.4, 8: 1 }; // for a name, in widths of a Chinese character, by number of heads

/** Return the tokens that come to example b, each with the positions of its entries. Their number and order are
 * always the same, so that the boxes can glide. */
const drawn = remember((route, n_heads, b) => {
  const here = entriesOf(route, n_heads).filter((entry) => entry.b === b);
  here.sort((one, other) => one.from - other.from);
  const tokens = [...new Set(here.map(tokenOf))];
  return tokens.map((token) => ({
    token,
    places: here
      .filter((entry) => tokenOf(entry) === token)
      .map(({ h, row, column }) => [Math.round(UNIT * (startOf(h, n_heads) + column)), UNIT * row]),
  }));
}, 40);

const tokenOf = ({ from }) => Math.floor(from / FEATURES);

/** Return the names of the tokens with which the rows of the heads begin, as one text. */
const namesIn = remember((route, n_heads, b) => {
  const firsts = entriesOf(route, n_heads).filter((entry) => entry.b === b && entry.column === 0);
  const first = (row, h) => firsts.find((entry) => entry.h === h && entry.row === row);
  const name = (row, h) => shortened(NAMES[tokenOf(first(row, h))], ROOM[n_heads]);
  return range(TOKENS)
    .map((row) =>
      range(n_heads)
        .map((h) => name(row, h))
        .join("\t"),
    )
    .join("\n");
}, 40);

/** Return a name, or only its first character if the room is too small: a longer part might look like another name. */
function shortened(name, room) {
  const letters = [...name];
  const width = letters.reduce((sum, letter) => sum + (letter > "z" ? 1 : 0.62), 0);
  if (width <= room) return name;
  return room < 2 ? letters[0] : `${letters[0]}…`;
}

/** Return boxes as thick lines, which are the shortest path for a box. */
const boxes = (places) => places.map(([x, y]) => `M${x} ${y + INSIDE / 2}h${INSIDE}`).join("");
const lines = (places) => places.map(([x, y]) => `M${x} ${y + 4}h${INSIDE}m0 ${INSIDE - 8}h-${INSIDE}`).join("");

/** Return a drawing for each split, of which one is shown: so a change of the split draws nothing again. */
const sheet = (route, b, state, hatch) =>
  html`<div class="qkv-entries">${SPLITS.map((count) => {
    const away = count !== state.n_heads;
    const drawing = guard([route, state.nudged], () => split(route, b, count, state.nudged, `${hatch}-${count}`));
    return html`<div class=${away ? "qkv-away" : ""} aria-hidden=${away}>${drawing}</div>`;
  })}</div>`;

/** Return the sheet of one split. Tokens are shaded, those of the second example hatched; lines mark the nudged one. */
function split(route, b, n_heads, nudged, hatch) {
  const tokens = drawn(route, n_heads, b);
  const second = tokens.filter(({ token }) => exampleOf(token)).flatMap(({ places }) => places);
  const marked = tokens.find(({ token }) => token === nudged);
  return html`
    <svg class="qkv-sheet" viewBox=${SHEET} preserveAspectRatio="none" aria-hidden="true">
      ${b ? nothing : svg`<pattern id=${hatch} width="28" height="28" patternUnits="userSpaceOnUse"><path class="qkv-hatch" d="M0 28L28 0" /></pattern>`}
      ${tokens.map(({ token, places }) => svg`<path class="qkv-sheet-token qkv-sheet-token-${token % TOKENS}" data-token=${token} d=${boxes(places)} />`)}
      <path class="qkv-second" stroke="url(#${hatch})" d=${boxes(second)} />
      <path class="qkv-nudged" d=${marked ? lines(marked.places) : ""} />
    </svg>
    <p class="qkv-held" style="--qkv-head: ${startOf(1, n_heads) / ACROSS}; --qkv-inset: ${n_heads === 8 ? 1 : 3}px">${namesIn(route, n_heads, b)}</p>`;
}

function numbers(state) {
  const ways = ["right", state.wrong];
  const [right, wrong] = ways.map((route) => outputs(state, route));
  const [inRight, inWrong] = ways.map((route) => entriesOf(route, state.n_heads));
  const tokensIn = (entries, b, h) =>
    [...new Set(entries.filter((e) => e.b === b && e.h === h).map((e) => SPOKEN[tokenOf(e)]))].join(", ");
  const everyHead = range(BATCH).flatMap((b) => Array.from({ length: state.n_heads }, (_, h) => [b, h]));
  return [
    {
      caption: `By how much each output changes with ${SPOKEN[state.nudged]}`,
      head: ["output", "should change", "right way", "wrong way"],
      rows: right.map(({ row, moved, should }) => [
        SPOKEN[row],
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

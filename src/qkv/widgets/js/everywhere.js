import { live } from "lit-html/directives/live.js";
import { dragged, html, num, readings, remember, svg, tables, toggle, widget } from "./base.js";
import { bound, everyone, frames, inReach, likeness, melody, normed, RATE, touching } from "./likeness.js";
import { imagePatches } from "./maths.js";
import { MOLECULES } from "./molecules.js";

const [WIDTH, HEIGHT] = [160, 120]; // of each drawing
/** The square that is seen: all of a picture, and air above and below the wider drawings. */
const SQUARE = { picture: [(WIDTH - HEIGHT) / 2, 0, HEIGHT], wider: [0, (HEIGHT - WIDTH) / 2, WIDTH] };
const SEEN = 0.005; // a smaller weight is drawn as 0

/** @typedef {object} Kind a kind of input
 * @property {number} first the token that asks at first
 * @property {string} says what its tokens are
 * @property {string} nearSays what the mask of near tokens leaves
 * @property {() => number[][]} make its tokens
 * @property {(n: number) => boolean[][]} near the mask of near tokens
 * @property {(i: number) => string} name of a token
 * @property {(seen: Seen) => unknown} draw
 * @property {(x: number, y: number) => number} at the token at a point of the drawing
 * @property {(i: number) => number[]} middle the point of the drawing in the middle of a token */
/** @typedef {ReturnType<typeof computed>} Seen */

/** The kinds of input.
 * @type {Record<string, Kind>} */
const KINDS = {
  picture: {
    first: 10, // the left ear of the cat
    says: "patches of 2 × 2 pixels, each with red, green and blue",
    nearSays: "touching patches only",
    make: () => imagePatches(PICTURE, PATCH),
    near: () => touching(ACROSS),
    name: (i) => `row ${Math.floor(i / ACROSS) + 1}, column ${(i % ACROSS) + 1}`,
    draw: drawPicture,
    at: (x, y) => ACROSS * cell(y, 0) + cell(x, LEFT),
    middle: (i) => [LEFT + ((i % ACROSS) + 0.5) * SIDE, (Math.floor(i / ACROSS) + 0.5) * SIDE],
  },
  sound: {
    first: 2, // in the first note
    says: "frames of 25 ms, each as the loudness of 20 bands",
    nearSays: "frames within 30 ms only",
    make: () => frames(melody()),
    near: (n) => inReach(n, 3),
    name: (i) => `${10 * i} to ${10 * i + 25} ms`,
    draw: drawSound,
    at: (x) => Math.round(((x / WIDTH) * seconds() - FRAME / 2) / HOP),
    middle: (i) => [((i * HOP + FRAME / 2) * WIDTH) / seconds(), HEIGHT / 2],
  },
  graph: {
    first: 2, // the oxygen
    says: "atoms of ethanol, each as hydrogen, carbon or oxygen",
    nearSays: "bound atoms only",
    make: () => ATOMS.map(({ kind }) => ["H", "C", "O"].map((each) => Number(each === kind))),
    near: (n) => bound(BONDS, n),
    name: (i) => `${ATOMS[i].kind} ${ATOMS.slice(0, i + 1).filter(({ kind }) => kind === ATOMS[i].kind).length}`,
    draw: drawGraph,
    at: (x, y) => {
      const distances = ATOMS.map((atom) => Math.hypot(atom.x - x, atom.y - y));
      return distances.indexOf(Math.min(...distances));
    },
    middle: (i) => [ATOMS[i].x, ATOMS[i].y],
  },
};

/** @typedef {{ kind: string, token: number, near: boolean }} State */

export default widget("Everywhere", {
  says: (/** @type {State} */ state) => {
    const seen = computed(state);
    const { n, token, best, row, name } = seen;
    return `Token ${token + 1} of ${n}, ${name(token)}: weight ${shown(row[token])} on itself, and most of the rest on ${bestName(seen)}, ${shown(row[best])}.`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    const { kind, n, token, name } = seen;
    const [left, top, side] = state.kind === "picture" ? SQUARE.picture : SQUARE.wider;
    const at = (/** @type {number} */ x, /** @type {number} */ y) => kind.at(left + x * side, top + y * side);
    const [middle, height] = kind.middle(token);
    const grab = dragged(({ x, y }) => set({ token: Math.min(n - 1, Math.max(0, at(x, y))) }));
    return html`<div class="qkv-everywhere">
      <div class="qkv-everywhere-kinds" role="radiogroup" aria-label="what are the tokens?">${Object.keys(KINDS).map(
        (value) => html`<label class="qkv-pick">
          <input class="qkv-over" type="radio" name="${id}-things" .checked=${live(value === state.kind)} @change=${() => set({ kind: value, token: KINDS[value].first })}>
          ${value}
        </label>`,
      )}</div>
      <div class="qkv-things qkv-drag" @pointerdown=${grab} @pointermove=${grab}>
        <svg viewBox="${left} ${top} ${side} ${side}" role="img" aria-label="A ${state.kind} of ${n} tokens, and where token ${name(token)} looks.">
          ${kind.draw(seen)}
        </svg>
        <i class="qkv-asking-grip" style="left: ${percent((middle - left) / side)}; top: ${percent((height - top) / side)}"></i>
        <input class="qkv-over" type="range" aria-label="query" min="1" max=${n} aria-valuetext=${name(token)}
          .value=${live(String(token + 1))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ token: target.valueAsNumber - 1 })}>
      </div>
      <div class="qkv-everywhere-beside">
        ${toggle({ label: kind.nearSays, checked: state.near, onChange: (near) => set({ near }) })}
        ${numbers(seen)}
        <p class="qkv-note">${n} ${kind.says}. The token in the blue frame asks. Its weights are violet: stronger is larger.</p>
      </div>
    </div>
    ${tables(() => [table(seen)])}`;
  },
});

const made = remember((/** @type {string} */ kind) => normed(KINDS[kind].make()), 3);
const masks = remember(
  (/** @type {string} */ kind, /** @type {boolean} */ near) => (near ? KINDS[kind].near : everyone)(made(kind).length),
  6,
);

/** Return the values that the drawing of a state needs.
 * @param {State} state */
function computed(state) {
  const tokens = made(state.kind);
  const n = tokens.length;
  const kind = KINDS[state.kind];
  const token = Math.min(state.token, n - 1);
  const may = masks(state.kind, state.near)[token];
  const row = likeness(tokens, token, may);
  const best = row.reduce((most, weight, i) => (i !== token && (most < 0 || weight > row[most]) ? i : most), -1);
  return { kind, n, token, row, best, may, name: kind.name };
}

const percent = (/** @type {number} */ share) => `${Math.round(1000 * share) / 10}%`;

const shown = (/** @type {number} */ weight) => num(weight, { places: 2 });
const opacity = (/** @type {number} */ weight, /** @type {number} */ most) => Math.round(100 * (weight / most)) / 100;

/** Return the name of the other token with the largest weight, or the number of tokens whose weights look equal.
 * @param {Seen} parts */
function bestName({ row, best, token, name }) {
  const equal = row.filter((weight, i) => i !== token && shown(weight) === shown(row[best])).length;
  return equal > 1 ? `${equal} equal ones` : name(best);
}

const numbers = (/** @type {Seen} */ seen) => {
  const { n, row, best, may, token } = seen;
  return readings([
    ["sees", num(may.filter(Boolean).length), `of ${n} tokens`],
    ["weight on itself", shown(row[token])],
    ["looks most at another token", bestName(seen), `weight ${shown(row[best])}`],
  ]);
};

const table = (/** @type {Seen} */ { row, may, name, token }) => ({
  caption: `Where ${name(token)} looks`,
  head: ["token", "may be seen", "weight"],
  rows: row.map((weight, i) => [name(i), may[i] ? "yes" : "no", num(weight, { places: 3 })]),
});

/* ---- a picture: the cat, the mouse that it chases, and the sun, in 16 × 16 pixels */

/** Red, green and blue of each letter.
 * @type {Record<string, number[]>} */
const COLOURS = {
  s: [0.75, 0.88, 0.98], // sky
  y: [1, 0.85, 0.3], // sun
  c: [0.9, 0.5, 0.15], // cat
  k: [0.15, 0.12, 0.1], // eye
  m: [0.55, 0.55, 0.6], // mouse
  g: [0.5, 0.7, 0.35], // grass
};
const PICTURE = `
ssssssssssssyyss
ssssssssssssyyss
ssssscssscssssss
ssssccccccssssss
csssckcckcssssss
csssccccccssssss
ccccccccccssssss
ccccccccccssssss
ccccccccccssssss
ccccccccccsssmsm
ccssccssccssmmmm
ccssccssccssmmmk
gggggggggggggggg
gggggggggggggggg
gggggggggggggggg
gggggggggggggggg`
  .trim()
  .split("\n")
  .map((line) => [...line].map((letter) => COLOURS[letter]));
const PATCH = 2;
const ACROSS = PICTURE.length / PATCH;
const SIDE = HEIGHT / ACROSS;
const LEFT = SQUARE.picture[0];

const cell = (/** @type {number} */ at, /** @type {number} */ start) =>
  Math.min(ACROSS - 1, Math.max(0, Math.floor((at - start) / SIDE)));

/** Return the picture as one path for each colour. */
const pixels = remember(() =>
  Object.values(COLOURS).map((colour) => {
    const size = SIDE / PATCH;
    const dot = (/** @type {number} */ x, /** @type {number} */ y) =>
      `M${LEFT + x * size} ${y * size}h${size + 0.1}v${size + 0.1}h${-size - 0.1}z`;
    const path = PICTURE.flatMap((line, y) => line.flatMap((pixel, x) => (pixel === colour ? [dot(x, y)] : [])));
    return svg`<path d=${path.join("")} fill="rgb(${colour.map((share) => Math.round(255 * share)).join(" ")})" />`;
  }),
);

const square = (/** @type {number} */ i, /** @type {number} */ inset) => {
  const size = SIDE - 2 * inset;
  return `M${LEFT + (i % ACROSS) * SIDE + inset} ${Math.floor(i / ACROSS) * SIDE + inset}h${size}v${size}h${-size}z`;
};
const LEVELS = 10;

/** Draw the picture. A patch with a larger weight keeps more of its colours and has a stronger violet frame. Patches
 * of about the same weight are one shape, so that a step draws 22 paths and not 128 squares.
 * @param {Seen} parts */
function drawPicture({ row, token }) {
  const most = Math.max(...row);
  const levels = Array.from({ length: LEVELS + 1 }, () => /** @type {number[]} */ ([]));
  row.forEach((weight, i) => {
    levels[Math.round((LEVELS * weight) / most)].push(i);
  });
  const shape = (/** @type {number[]} */ patches, /** @type {number} */ level) => svg`
    <path class="qkv-thing-fade" d=${patches.map((i) => square(i, 0)).join("")} fill-opacity=${0.75 * (1 - level / LEVELS)} />
    <path class="qkv-seen-edge" d=${patches.map((i) => square(i, 1)).join("")} stroke-opacity=${(level / LEVELS) ** 3} />`;
  return svg`${pixels()}${levels.map(shape)}<path class="qkv-asking" d=${square(token, 0)} />`;
}

/* ---- a sound: its wave, and a bar below the middle of each frame */

const [FRAME, HOP] = [0.025, 0.01]; // seconds: the length of a frame, and the time from its start to the next one's
const seconds = () => melody().length / RATE;

const wave = remember(() => {
  const samples = melody();
  return samples.map((sample, i) => `${((i / samples.length) * WIDTH).toFixed(1)},${(32 - 28 * sample).toFixed(1)}`);
});

/** @param {Seen} parts */
function drawSound({ row, token }) {
  const scale = WIDTH / seconds();
  const most = Math.max(...row);
  const width = HOP * scale;
  const left = (/** @type {number} */ i) => (i * HOP + (FRAME - HOP) / 2) * scale;
  const bar = (/** @type {number} */ weight, /** @type {number} */ i) =>
    svg`<rect class="qkv-thing-bar" x=${left(i) + 0.5} y=${116 - 44 * opacity(weight, most)} width=${width - 1} height=${44 * opacity(weight, most)} />`;
  return svg`<polyline class="qkv-thing-wave" points=${wave().join(" ")} />
    <rect class="qkv-asking qkv-asking-filled" x=${token * HOP * scale} y="2" width=${FRAME * scale} height="58" />
    <text class="qkv-share-of" x=${WIDTH - 1} y="69.5" text-anchor="end">highest bar: ${shown(most)}</text>
    ${row.map(bar)}
    <rect class="qkv-asking" x=${left(token)} y="71" width=${width} height="47" />`;
}

/* ---- a graph: ethanol */

const { atoms, at, bonds: BONDS } = MOLECULES.ethanol;
/** The atoms, in a picture that is wider and lower than that of molecules.js. */
const ATOMS = atoms
  .split(" ")
  .map((kind, i) => ({ kind, x: Math.round((40 * at[i][0] - 34) / 3), y: 17 * at[i][1] + 9 }));

/** @param {Seen} parts */
function drawGraph({ row, token }) {
  const bonds = BONDS.map(
    ([a, b]) =>
      svg`<line class="qkv-thing-bond" x1=${ATOMS[a].x} y1=${ATOMS[a].y} x2=${ATOMS[b].x} y2=${ATOMS[b].y} />`,
  );
  const most = Math.max(...row);
  const atom = (/** @type {(typeof ATOMS)[number]} */ { kind, x, y }, /** @type {number} */ i) =>
    svg`<circle class="qkv-thing-atom" cx=${x} cy=${y} r="9" /><circle class="qkv-thing-bar" cx=${x} cy=${y} r="9" fill-opacity=${0.7 * opacity(row[i], most)} />
      <text class="qkv-thing-letter" x=${x} y=${y + 3} text-anchor="middle">${kind}</text>
      <text class="qkv-share-of" x=${x + 4} y=${y + 18}>${row[i] < SEEN ? "" : shown(row[i])}</text>`;
  const { x, y } = ATOMS[token];
  return svg`${bonds}${ATOMS.map(atom)}<circle class="qkv-asking" cx=${x} cy=${y} r="10" />`;
}

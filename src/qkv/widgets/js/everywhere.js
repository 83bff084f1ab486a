import { live } from "lit-html/directives/live.js";
import { dragged, html, num, remember, svg, t, tables, toggle, widget } from "./base.js";
import { bound, everyone, frames, inReach, likeness, melody, normed, RATE, touching } from "./likeness.js";
import { imagePatches } from "./maths.js";
import { MOLECULES } from "./molecules.js";

const [WIDTH, HEIGHT] = [160, 120]; // of each drawing
/** The square that is seen: all of a picture, and air above and below the wider drawings. */
const SQUARE = { picture: [(WIDTH - HEIGHT) / 2, 0, HEIGHT], wider: [0, (HEIGHT - WIDTH) / 2, WIDTH] };
const SEEN = 0.005; // a smaller weight is drawn as 0

/** @typedef {object} Kind a kind of input
 * @property {number} first the token that asks at first
 * @property {() => string} title
 * @property {() => string} says what its tokens are
 * @property {() => string} nearSays what the mask of near tokens leaves
 * @property {(n: number, asking: string) => string} label of the drawing
 * @property {() => number[][]} make its tokens
 * @property {(n: number) => boolean[][]} near the mask of near tokens
 * @property {(i: number) => string} name of a token, by its place
 * @property {(i: number) => string} [thing] what a token is in the headline, if that is not its name
 * @property {(seen: Seen) => unknown} draw
 * @property {(x: number, y: number) => number} at the token at a point of the drawing
 * @property {(i: number) => number[]} middle the point of the drawing in the middle of a token */
/** @typedef {ReturnType<typeof computed>} Seen */

/** The kinds of input.
 * @type {Record<string, Kind>} */
const KINDS = {
  picture: {
    first: 10, // the left ear of the cat
    title: () => t`picture`,
    says: () => t`64 tokens: 2 × 2-pixel patches`,
    nearSays: () => t`touching patches only`,
    label: (n, asking) => t`A picture of ${n} tokens, and where token ${asking} looks.`,
    make: () => imagePatches(PICTURE, PATCH),
    near: () => touching(ACROSS),
    name: (i) => t`row ${Math.floor(i / ACROSS) + 1}, column ${(i % ACROSS) + 1}`,
    thing: (i) => NAMES[THINGS[i]](),
    draw: drawPicture,
    at: (x, y) => ACROSS * cell(y, 0) + cell(x, LEFT),
    middle: (i) => [LEFT + ((i % ACROSS) + 0.5) * SIDE, (Math.floor(i / ACROSS) + 0.5) * SIDE],
  },
  sound: {
    first: 2, // in the first note
    title: () => t`sound`,
    says: () => t`34 tokens: frames of 25 ms`,
    nearSays: () => t`frames within 30 ms only`,
    label: (n, asking) => t`A sound of ${n} tokens, and where token ${asking} looks.`,
    make: () => frames(melody()),
    near: (n) => inReach(n, 3),
    name: (i) => t`${10 * i} to ${10 * i + 25} ms`,
    thing: (i) => t`frame ${i + 1}`,
    draw: drawSound,
    at: (x) => Math.round(((x / WIDTH) * seconds() - FRAME / 2) / HOP),
    middle: (i) => [((i * HOP + FRAME / 2) * WIDTH) / seconds(), HEIGHT / 2],
  },
  graph: {
    first: 3, // a hydrogen
    title: () => t`graph`,
    says: () => t`9 tokens: the atoms of ethanol`,
    nearSays: () => t`bound atoms only`,
    label: (n, asking) => t`A graph of ${n} tokens, and where token ${asking} looks.`,
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
    return t`Token ${token + 1} of ${n}, ${name(token)}: weight ${shown(row[token])} on itself; the largest other weight, ${shown(row[best])}, on ${bestName(seen)}.`;
  },
  view: (state, set, id) => {
    const seen = computed(state);
    const { kind, n, token, name } = seen;
    const [left, top, side] = state.kind === "picture" ? SQUARE.picture : SQUARE.wider;
    const at = (/** @type {number} */ x, /** @type {number} */ y) => kind.at(left + x * side, top + y * side);
    const [middle, height] = kind.middle(token);
    const grab = dragged(({ x, y }) => set({ token: Math.min(n - 1, Math.max(0, at(x, y))) }));
    return html`<div class="qkv-everywhere">
      <div class="qkv-everywhere-kinds" role="radiogroup" aria-label=${t`what are the tokens?`}>${Object.entries(
        KINDS,
      ).map(
        ([value, { title, first }]) => html`<label class="qkv-pick">
          <input class="qkv-over" type="radio" name="${id}-things" .checked=${live(value === state.kind)} @change=${() => set({ kind: value, token: first, near: false })}>
          ${title()}
        </label>`,
      )}</div>
      <p class="qkv-lead qkv-everywhere-found">${found(seen)} <small>${kind.says()}</small></p>
      <div class="qkv-things qkv-drag" @pointerdown=${grab} @pointermove=${grab}>
        <svg viewBox="${left} ${top} ${side} ${side}" role="img" aria-label=${kind.label(n, name(token))}>
          ${kind.draw(seen)}
        </svg>
        <i class="qkv-asking-grip" style="left: ${percent((middle - left) / side)}; top: ${percent((height - top) / side)}"></i>
        <input class="qkv-over" type="range" aria-label=${t`query`} min="1" max=${n} aria-valuetext=${name(token)}
          .value=${live(String(token + 1))} @input=${(/** @type {{ target: HTMLInputElement }} */ { target }) => set({ token: target.valueAsNumber - 1 })}>
      </div>
      ${toggle({ label: kind.nearSays(), checked: state.near, onChange: (near) => set({ near }) })}
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

const NAMED = 8; // so many tokens that are like the one that asks have their weights beside them in a picture
const STRONG = 0.5; // if no token is like the one that asks, those with this share of the largest weight are named
const LIKE = 0.9; // a token is like another if it gets at least this share of that one's weight on itself

/** Return the headline: how many tokens are like the one that asks, their weights, and where the rest of the weight is.
 * @param {Seen} parts */
function found({ kind, token, row, name }) {
  const thing = (kind.thing ?? name)(token);
  const alike = [...row].filter((weight) => weight >= LIKE * row[token]);
  const [low, high] = [Math.min(...alike), Math.max(...alike)].map(shown);
  const others = html`<b>${alike.length - 1}</b>`;
  const rest = shown(1 - alike.reduce((sum, weight) => sum + weight, 0));
  if (alike.length === 1) {
    const seen = row.filter((weight, i) => i !== token && weight >= SEEN).length;
    const strong = row.filter((weight, i) => i !== token && weight >= STRONG * Math.max(...row));
    const on = strong.reduce((sum, weight) => sum + weight, 0);
    if (strong.length > 1 && strong.length < seen)
      return t`${thing} finds no match: ${shown(on)} on ${strong.length} others.`;
    if (seen === 0) return t`${thing} finds no match: ${low} on itself.`;
    return seen === 1
      ? t`${thing} finds no match: ${rest} on one other.`
      : t`${thing} finds no match: ${rest} on ${seen} others.`;
  }
  const each = low === high ? t`${low} each` : `${low}–${high}`;
  return rest === shown(0)
    ? t`${thing} finds ${others} like it: ${each}.`
    : t`${thing} finds ${others} like it: ${each}, rest ${rest}.`;
}

const percent = (/** @type {number} */ share) => `${Math.round(1000 * share) / 10}%`;

const shown = (/** @type {number} */ weight) => num(weight, { places: 2 });
const opacity = (/** @type {number} */ weight, /** @type {number} */ most) => Math.round(100 * (weight / most)) / 100;

/** Return the name of the other token with the largest weight, or the number of tokens whose weights look equal.
 * @param {Seen} parts */
function bestName({ row, best, token, name }) {
  const equal = row.filter((weight, i) => i !== token && shown(weight) === shown(row[best])).length;
  return equal > 1 ? t`${equal} equal ones` : name(best);
}

const table = (/** @type {Seen} */ { row, may, name, token }) => ({
  caption: t`Where ${name(token)} looks`,
  head: [t`token`, t`may be seen`, t`weight`],
  rows: row.map((weight, i) => [name(i), may[i] ? t`yes` : t`no`, num(weight, { places: 3 })]),
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
/** What each patch shows. */
const THINGS = `
ssssssys
ssecesss
cskcksss
cccccsss
cccccsmm
cscscsmm
gggggggg
gggggggg`.replaceAll("\n", "");
/** @type {Record<string, () => string>} */
const NAMES = {
  s: () => t`sky`,
  y: () => t`the sun`,
  e: () => t`an ear`,
  k: () => t`an eye`,
  c: () => t`the cat`,
  m: () => t`the mouse`,
  g: () => t`grass`,
};
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

/** Draw the picture. A patch with a larger weight keeps more of its colours and has a stronger violet frame.
 * @param {Seen} parts */
function drawPicture({ row, token, may }) {
  const most = Math.max(...row);
  const corner = (/** @type {number} */ i) => [LEFT + (i % ACROSS) * SIDE, Math.floor(i / ACROSS) * SIDE];
  const patch = (/** @type {number} */ weight, /** @type {number} */ i) => {
    const [x, y] = corner(i);
    const share = opacity(weight, most);
    return svg`<rect class="qkv-thing-fade" x=${x} y=${y} width=${SIDE} height=${SIDE} style="opacity: ${0.75 * (1 - share)}" />
      <rect class="qkv-seen-edge" x=${x + 1} y=${y + 1} width=${SIDE - 2} height=${SIDE - 2} style="opacity: ${Math.round(100 * share ** 3) / 100}" />`;
  };
  const [x, y] = corner(token);
  const alike = [...row.keys()].filter((i) => row[i] >= LIKE * row[token]);
  const isCrowded = alike.length > NAMED || !may.every(Boolean); // they touch: the headline alone has their weights
  const names = isCrowded || alike.length === 1 ? [] : alike.map((i) => [corner(i), shown(row[i])]);
  const grip = gripAt(Math.min(SIDE, LEFT + HEIGHT - GRIP - x), Math.min(SIDE, HEIGHT - GRIP - y)); // it stays in the picture
  return svg`${pixels()}${row.map(patch)}
    ${names.map(([[left, top], weight]) => svg`<text class="qkv-share-of qkv-share-of-patch" x=${left + SIDE / 2} y=${top === 0 ? SIDE + 5 : top - 2} text-anchor="middle">${weight}</text>`)}
    ${asking(x, y, svg`<rect class="qkv-asking" width=${SIDE} height=${SIDE} rx="1" />${grip}`)}`;
}

/** Return the mark of the token that asks. It glides to another token.
 * @param {number} x
 * @param {number} y
 * @param {unknown} drawing at 0, 0 */
const asking = (x, y, drawing) =>
  svg`<g class="qkv-asking-mark" style="transform: translate(${x}px, ${y}px)">${drawing}</g>`;

const GRIP = 6; // the mark's radius, with its edge

/** Return the mark of what can be dragged in any direction: arrows in a disc.
 * @param {number} x
 * @param {number} y
 * @param {string} arrows */
const gripAt = (x, y, arrows = FOUR_WAYS) =>
  svg`<g class="qkv-thing-grip" transform="translate(${x} ${y})"><circle r=${GRIP - 0.5} /><path d=${arrows} /></g>`;

const SIDEWAYS = "M-2.4 -1.1L-3.5 0L-2.4 1.1M2.4 -1.1L3.5 0L2.4 1.1";
const FOUR_WAYS = `${SIDEWAYS}M-1.1 -2.4L0 -3.5L1.1 -2.4M-1.1 2.4L0 3.5L1.1 2.4`;

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
    svg`<rect class="qkv-thing-bar" x=${left(i) + 0.5} y="72" width=${width - 1} height="44" style="transform: scaleY(${opacity(weight, most)})" />`;
  const frame = svg`<rect class="qkv-asking qkv-asking-filled" y="2" width=${FRAME * scale} height="58" rx="1" />
    ${gripAt((FRAME * scale) / 2, 60, SIDEWAYS)}
    <rect class="qkv-asking qkv-asking-bar" x=${((FRAME - HOP) / 2) * scale} y="71" width=${width} height="47" rx="1" />`;
  return svg`<polyline class="qkv-thing-wave" points=${wave().join(" ")} />
    <text class="qkv-share-of" x=${WIDTH - 4} y="-6" text-anchor="end">${t`bars: weights, to ${shown(most)}`}</text>
    ${row.map(bar)}
    ${asking(token * HOP * scale, 0, frame)}`;
}

/* ---- a graph: ethanol */

const { atoms, at, bonds: BONDS } = MOLECULES.ethanol;
/** The atoms, in a picture that is wider and higher than that of molecules.js. */
const ATOMS = atoms
  .split(" ")
  .map((kind, i) => ({ kind, x: Math.round((40 * at[i][0] - 22) / 3), y: 26 * at[i][1] - 18 }));

/** @param {Seen} parts */
function drawGraph({ row, token }) {
  const bonds = BONDS.map(
    ([a, b]) =>
      svg`<line class="qkv-thing-bond" x1=${ATOMS[a].x} y1=${ATOMS[a].y} x2=${ATOMS[b].x} y2=${ATOMS[b].y} />`,
  );
  const most = Math.max(...row);
  // A weight is clear of all atoms, and right of the bond that goes up.
  const atom = (/** @type {(typeof ATOMS)[number]} */ { kind, x, y }, /** @type {number} */ i) =>
    svg`<circle class="qkv-thing-atom" cx=${x} cy=${y} r="9" /><circle class="qkv-thing-bar" cx=${x} cy=${y} r="9" style="opacity: ${0.7 * opacity(row[i], most)}" />
      <text class="qkv-thing-letter" x=${x} y=${y + 3} text-anchor="middle">${kind}</text>
      <text class="qkv-share-of" x=${x + 3} y=${y - 11.5}>${row[i] < SEEN ? "" : shown(row[i])}</text>`;
  const { x, y } = ATOMS[token];
  return svg`${bonds}${ATOMS.map(atom)}${asking(x, y, svg`<circle class="qkv-asking" r="10" />${gripAt(7.5, 7.5)}`)}`;
}

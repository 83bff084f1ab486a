/* A transformer for sequences of tokens: its parameters, and its forward pass. Each layer is in layers.js. */

import { add, attend, linear, norm, pick, relu } from "./layers.js";

/** @import { Group, Node, Run } from "./layers.js" */
/** @import { Matrix, Memory } from "./memory.js" */
/** @typedef {object} Shape the sizes of a transformer. Without a feed-forward network, `hidden` is 0.
 * @property {number} vocabulary
 * @property {number} longest tokens of a sequence
 * @property {number} dModel
 * @property {number} layers
 * @property {number} heads
 * @property {number} hidden
 * @property {Record<string, { size: number, bias: boolean }>} outputs
 * @property {{ tokens?: number, positions?: number }} spread the standard deviations at a random start
 * @property {number} [start] */
/** @typedef {"normal" | "uniform" | "ones" | "zeros"} Start */
/** @typedef {[name: string, rows: number, columns: number, kind: Start, scale?: number]} Parameter */
/** @typedef {Record<string, Node>} Nodes parameters by their names */
/** @typedef {{ order: number[], groups: Group[], ids: number[], places: number[] }} Batch */
/** @typedef {(place: string, matrix: Matrix, heads?: number) => void} See */

/** The parameters of a transformer, in order: [name, rows, columns, kind, scale]. A parameter starts with normal numbers
 * of a standard deviation ("normal"), with numbers between ±1 / √inputs ("uniform"), with ones or with zeros.
 * @param {Shape} shape
 * @returns {Parameter[]} */
export function parametersOf({ vocabulary, longest, dModel: d, layers, hidden, outputs, spread }) {
  /** @type {(name: string, inputs: number, columns: number, bias?: boolean) => Parameter[]} */
  const line = (name, inputs, columns, bias = true) => [
    [`${name}.weight`, inputs, columns, "uniform", inputs],
    ...(bias ? [/** @type {Parameter} */ ([`${name}.bias`, 1, columns, "uniform", inputs])] : []),
  ];
  /** @type {(name: string) => Parameter[]} */
  const scale = (name) => [
    [`${name}.gain`, 1, d, "ones"],
    [`${name}.bias`, 1, d, "zeros"],
  ];
  /** @type {(l: number) => Parameter[]} */
  const block = (l) => [
    ...scale(`${l}.norm1`),
    ...line(`${l}.qkv`, d, 3 * d),
    ...line(`${l}.out`, d, d),
    ...(hidden ? [...scale(`${l}.norm2`), ...line(`${l}.w1`, d, hidden), ...line(`${l}.w2`, hidden, d)] : []),
  ];
  return [
    ["tokens", vocabulary, d, "normal", spread.tokens],
    ["positions", longest, d, "normal", spread.positions],
    ...Array.from({ length: layers }, (_, l) => block(l)).flat(),
    ...scale("norm"),
    ...Object.entries(outputs).flatMap(([name, { size, bias }]) => line(name, d, size, bias)),
  ];
}

/** Take the parameters from a memory, with their derivatives in training: { nodes by name, values, grads }, where the
 * last two are all numbers as one row.
 * @param {Shape} shape
 * @param {Memory} memory
 * @param {boolean} training */
export function takeParameters(shape, memory, training) {
  const list = parametersOf(shape);
  const size = list.reduce((sum, [, rows, columns]) => sum + rows * columns, 0);
  const whole = () => {
    const all = memory.take(1, size);
    memory.used -= size;
    return { all, each: list.map(([, rows, columns]) => memory.take(rows, columns)) };
  };
  const values = whole();
  const grads = training ? whole() : null;
  /** @type {Nodes} */
  const nodes = Object.fromEntries(
    list.map(([name], i) => [name, /** @type {Node} */ ({ value: values.each[i], grad: grads?.each[i] })]),
  );
  return { nodes, values: values.all, grads: grads?.all };
}

/** Give parameters their random start. `uniform()` is from [0, 1), `normal()` has standard deviation 1. `start` scales
 * the start of the parameters that make queries and keys.
 * @param {Shape} shape
 * @param {Nodes} nodes
 * @param {{ uniform: () => number, normal: () => number }} random */
export function initialise(shape, nodes, { uniform, normal }) {
  /** @type {Record<Start, (scale: number) => number>} */
  const draw = {
    normal: (spread) => spread * normal(),
    uniform: (inputs) => (2 * uniform() - 1) / Math.sqrt(inputs),
    ones: () => 1,
    zeros: () => 0,
  };
  for (const [name, , , kind, scale] of parametersOf(shape)) {
    const { numbers } = nodes[name].value;
    for (let i = 0; i < numbers.length; i++) numbers[i] = draw[kind](/** @type {number} */ (scale));
    if (shape.start && name.includes(".qkv.")) shrink(nodes[name].value, 2 * shape.dModel, shape.start);
  }
}

/** @param {Matrix} matrix
 * @param {number} columns
 * @param {number} factor */
function shrink(matrix, columns, factor) {
  for (let i = 0; i < matrix.rows; i++) for (let j = 0; j < columns; j++) matrix.row(i)[j] *= factor;
}

/** @typedef {typeof SETTINGS} Settings */

/** Settings of the forward pass, which are also the widgets' handles. `layers` has false for a layer that is off. */
export const SETTINGS = {
  temperature: 1,
  scaled: true, // scores are divided by √d_head
  positions: true,
  residual: true,
  norm: true,
  feedForward: true,
  causal: false, // a token sees only the tokens before it, and itself
  layers: /** @type {boolean[] | null} */ (null),
};

/** Run sequences through the blocks. `batch` has the ids of all tokens, the place of each in its sequence, and the
 * sequences as groups of one length. Returns the last states, and the weights of each layer by group.
 *
 * `see(place, matrix, heads)` gets the intermediate results of one sequence by their names in Python, and may change
 * them. The columns of a matrix with heads belong to the heads, one after the other.
 * @param {Run} run
 * @param {Nodes} nodes
 * @param {Omit<Batch, "order">} batch
 * @param {Shape} shape
 * @param {Partial<Settings>} settings
 * @param {See} [see] */
export function transformer(run, nodes, batch, shape, settings, see) {
  const set = { ...SETTINGS, ...settings };
  const line = (/** @type {Node} */ x, /** @type {string} */ name) =>
    linear(run, x, nodes[`${name}.weight`], nodes[`${name}.bias`]);
  const scale = (/** @type {Node} */ x, /** @type {string} */ name) =>
    set.norm ? norm(run, x, nodes[`${name}.gain`], nodes[`${name}.bias`]) : x;
  const added = (/** @type {Node} */ x, /** @type {Node} */ y) => (set.residual ? add(run, x, y) : y);
  const seen = (/** @type {string} */ place, /** @type {Node} */ node) => {
    see?.(place, node.value);
    return node;
  };
  const root = set.scaled ? Math.sqrt(shape.dModel / shape.heads) : 1;
  const looking = { groups: batch.groups, heads: shape.heads, causal: set.causal, factor: 1 / root / set.temperature };
  /** @type {Matrix[][]} */
  const weights = [];

  const attention = (/** @type {Node} */ x, /** @type {number} */ l) => {
    const at = (/** @type {string} */ place) => `${l}.attention.${place}`;
    const qkv = line(seen(at("normed"), scale(x, `${l}.norm1`)), `${l}.qkv`);
    const d = shape.dModel;
    if (see)
      for (const [i, role] of ["q", "k", "v"].entries())
        see(at(role), qkv.value.part(0, i * d, qkv.value.rows, d), shape.heads);
    const mixed = attend(run, qkv, looking, see && ((place, matrix) => see(at(place), matrix)));
    weights.push(mixed.weights);
    if (see) for (const matrix of mixed.weights) see(at("weights"), matrix);
    see?.(at("heads"), mixed.out.value, shape.heads);
    return seen(at("out"), line(mixed.out, `${l}.out`));
  };
  const feedForward = (/** @type {Node} */ x, /** @type {number} */ l) => {
    const at = (/** @type {string} */ place) => `${l}.feed_forward.${place}`;
    const hidden = relu(run, line(seen(at("normed"), scale(x, `${l}.norm2`)), `${l}.w1`));
    return seen(at("out"), line(seen(at("hidden"), hidden), `${l}.w2`));
  };
  const block = (/** @type {Node} */ state, /** @type {number} */ l) => {
    const sum = seen(`${l}.attention.sum`, added(state, attention(state, l)));
    if (!shape.hidden) return set.layers?.[l] === false ? state : sum;
    const out = added(sum, feedForward(sum, l));
    const end = set.feedForward ? out : sum;
    return seen(`${l}.feed_forward.sum`, set.layers?.[l] === false ? state : end);
  };

  let x = seen("embedded", pick(run, nodes.tokens, batch.ids));
  if (set.positions) x = add(run, x, seen("positions", pick(run, nodes.positions, batch.places)));
  for (let l = 0; l < shape.layers; l++) x = block(seen(`${l}.state`, x), l);
  const states = seen("normed", scale(seen(`${shape.layers}.state`, x), "norm"));
  return { states, weights };
}

/** The logits of an output, from states.
 * @param {Run} run
 * @param {Nodes} nodes
 * @param {Node} states
 * @param {string} name */
export const output = (run, nodes, states, name) => linear(run, states, nodes[`${name}.weight`], nodes[`${name}.bias`]);

/** Put sequences of ids together, those of one length side by side. `order` has their indices in the list.
 * @param {number[][]} lists
 * @returns {Batch} */
export function together(lists) {
  const order = lists.map((_, i) => i).sort((a, b) => lists[a].length - lists[b].length || a - b);
  const sorted = order.map((i) => lists[i]);
  /** @type {Group[]} */
  const groups = [];
  let start = 0;
  for (const { length } of sorted) {
    const last = groups[groups.length - 1];
    if (last?.n === length) last.count += 1;
    else groups.push({ start, count: 1, n: length });
    start += length;
  }
  return { order, groups, ids: sorted.flat(), places: sorted.flatMap((ids) => ids.map((_, i) => i)) };
}

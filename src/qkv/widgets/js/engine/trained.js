/* Trained models of the package, in float64: their weights from a file, and every place of a run. */

import { plainKernels } from "../../../../../kernels/plain.js";
import { Run } from "./layers.js";
import { Memory } from "./memory.js";
import { output, takeParameters, together, transformer } from "./model.js";

/** @import { Matrix } from "./memory.js" */
/** @import { Settings, Shape } from "./model.js" */
/** @import { Tensor, Weights } from "../safetensors.js" */
/** @typedef {Float64Array} Table numbers row by row */
/** @typedef {Record<string, Table>} Places intermediate results by the names that they have in Python */
/** @typedef {(place: string, table: Table) => Table} Visit */
/** @typedef {ReturnType<typeof makeTrained>} Trained */

const ROOM = 2 ** 17; // numbers: for one run of the longest sequence

/** Return a model with tensors from a file. `names` says where it has the embedding, the stack and the outputs.
 * @param {Weights} file
 * @param {{ embedding: string, stack: string, outputs: Record<string, string> }} names */
export function makeTrained({ tensors, metadata }, { embedding, stack, outputs }) {
  const sizeOf = (/** @type {string} */ name) => tensors[name]?.shape ?? [0];
  let layers = 0;
  while (`${stack}.blocks.${layers}.norm_1.weight` in tensors) layers += 1;
  const [longest, dModel] = sizeOf(`${embedding}.positions.table`);
  /** @type {Shape} */
  const shape = {
    vocabulary: sizeOf(`${embedding}.tokens.weight`)[0],
    longest,
    dModel,
    layers,
    heads: Number(metadata.n_heads),
    hidden: sizeOf(`${stack}.blocks.0.feed_forward.w_1.bias`)[0],
    outputs: Object.fromEntries(
      Object.entries(outputs).map(([name, source]) => [
        name,
        { size: sizeOf(`${source}.weight`)[0], bias: `${source}.bias` in tensors },
      ]),
    ),
    spread: {},
  };
  const size = Object.values(tensors).reduce((sum, { data }) => sum + data.length, 0);
  const place = { buffer: new ArrayBuffer(8 * (size + ROOM)) };
  const memory = new Memory(place, plainKernels(place, Float64Array), Float64Array);
  const { nodes } = takeParameters(shape, memory, false);
  const { tokens, positions, ...others } = nodes;
  tokens.value.numbers.set(tensors[`${embedding}.tokens.weight`].data);
  positions.value.numbers.set(tensors[`${embedding}.positions.table`].data);
  for (const [name, { value }] of Object.entries(others)) {
    let column = 0;
    for (const source of sourcesOf(name, stack, outputs)) column += fill(value, column, tensors[source]);
  }
  return { shape, memory, nodes };
}

/** The names of a block's parts in a file. Queries, keys and values have a matrix each there. */
const PARTS = /** @type {Record<string, string[]>} */ ({
  norm1: ["norm_1"],
  norm2: ["norm_2"],
  qkv: ["attention.w_q", "attention.w_k", "attention.w_v"],
  out: ["attention.w_o"],
  w1: ["feed_forward.w_1"],
  w2: ["feed_forward.w_2"],
});

/** Return the names that a parameter has in a file.
 * @param {string} name
 * @param {string} stack
 * @param {Record<string, string>} outputs */
function sourcesOf(name, stack, outputs) {
  const path = name.split(".");
  const kind = path[path.length - 1].replace("gain", "weight");
  if (path[0] === "norm") return [`${stack}.norm.${kind}`];
  if (path[0] in outputs) return [`${outputs[path[0]]}.${kind}`];
  return PARTS[path[1]].map((part) => `${stack}.blocks.${path[0]}.${part}.${kind}`);
}

/** Write a tensor to the columns of a matrix from `column` on, and return how many it takes. As in torch, a row of a
 * weight matrix has the weights of one output, which is a column here.
 * @param {Matrix} matrix
 * @param {number} column
 * @param {Tensor} tensor */
function fill(matrix, column, { shape, data }) {
  const [outs, ins = 1] = shape;
  for (let o = 0; o < outs; o++) for (let i = 0; i < ins; i++) matrix.row(i)[column + o] = data[o * ins + i];
  return outs;
}

/** Return every place of one run of a sequence, by name. Tables are (n, features), those of q, k, v and heads are
 * (H, n, d_head), those of scores and weights (H, n, n). `edit` gets the outputs of a layer's heads and returns what
 * takes their place.
 * @param {Trained} model
 * @param {number[]} ids
 * @param {Partial<Settings>} settings
 * @param {Visit} [edit] */
export function runTrained({ shape, memory, nodes }, ids, settings, edit) {
  const run = new Run(memory, false);
  /** @type {Places} */
  const places = {};
  const see = (/** @type {string} */ place, /** @type {Matrix} */ matrix, heads = 1) => {
    if (edit && place.endsWith(".heads")) write(matrix, heads, edit(place, tableOf(matrix, heads)));
    places[place] = tableOf(matrix, heads);
  };
  const { states } = transformer(run, nodes, together([ids]), shape, settings, see);
  for (const name of Object.keys(shape.outputs)) see(name, output(run, nodes, states, name).value);
  places.positions ??= new Float64Array(ids.length * shape.dModel);
  run.end();
  return places;
}

/** Copy a matrix, head by head: each head's columns are a table of their own.
 * @param {Matrix} matrix
 * @param {number} heads */
function tableOf(matrix, heads) {
  const width = matrix.columns / heads;
  const table = new Float64Array(matrix.size);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < matrix.rows; i++)
      table.set(matrix.row(i).subarray(h * width, (h + 1) * width), (h * matrix.rows + i) * width);
  return table;
}

/** Copy a table back, the inverse of `tableOf`.
 * @param {Matrix} matrix
 * @param {number} heads
 * @param {Table} table */
function write(matrix, heads, table) {
  const width = matrix.columns / heads;
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < matrix.rows; i++) {
      const at = (h * matrix.rows + i) * width;
      matrix.row(i).set(table.subarray(at, at + width), h * width);
    }
}

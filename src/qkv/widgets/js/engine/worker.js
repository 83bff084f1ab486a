/* The worker that trains a model, and tells the page what is seen of it. Messages of the page: { start: choices, pace },
 * { paused }. Answers: { number, frame }, and at the end { number, result }.
 *
 * A frame comes at fixed steps, so the same choices give the same frames on every machine. On a fast machine the worker
 * waits between frames for `pace` milliseconds, so that they can be watched. */

import { float32, newMemory, SPARE } from "../../../../../kernels/kernels.js";
import grammarData from "../../../models/grammar.json";
import { Grammar } from "../grammar.js";
import { Memory } from "./memory.js";
import { sessionOf } from "./session.js";

/** @import { Choices } from "./plans.js" */
/** @import { Frame, Result } from "./shown.js" */

const BYTES = 2 ** 25;
const EVERY = 5; // steps between frames

const grammar = new Grammar(grammarData);
const space = newMemory(BYTES);
const kernels = float32(space);

let number = 0; // of the newest training: an older one ends
let paused = false;
/** @type {(value?: unknown) => void} */
let resume = () => {};

/** @param {Choices} choices
 * @param {number} pace */
async function train(choices, pace) {
  number += 1;
  const mine = number;
  paused = false;
  const session = sessionOf(choices, new Memory(space, kernels, Float32Array, SPARE), grammar);
  const tell = (/** @type {{ frame: Frame } | { result: Result }} */ answer) =>
    postMessage({ number: mine, isFast: kernels.isFast, ...answer });
  tell({ frame: session.frame() });
  while (session.step < session.steps) {
    const start = performance.now();
    session.advance(EVERY);
    tell({ frame: session.frame() });
    // Messages of the page are read while this waits.
    await new Promise((go) => setTimeout(go, Math.max(0, pace - (performance.now() - start))));
    while (paused && mine === number) await new Promise((go) => (resume = go));
    if (mine !== number) return;
  }
  tell({ result: session.result() });
}

addEventListener("message", ({ data }) => {
  if ("paused" in data) paused = data.paused;
  if (data.start) train(data.start, data.pace);
  resume();
});

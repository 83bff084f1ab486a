// Trains the models that TrainLab shows at first, with seed 0, and stores what was seen: node benchmarks/runs.mjs
// The first training of each task has its texts at every step, the others at the last, and fewer frames. The labeller's
// are short, so each has its text.
import { readFileSync, writeFileSync } from "node:fs";
import { float32, newMemory, SPARE } from "../kernels/kernels.js";
import { Memory } from "../src/qkv/widgets/js/engine/memory.js";
import { choicesWith } from "../src/qkv/widgets/js/engine/plans.js";
import { sessionOf } from "../src/qkv/widgets/js/engine/session.js";
import { Grammar } from "../src/qkv/widgets/js/grammar.js";
import { nameOf } from "../src/qkv/widgets/js/train_names.js";

const MODELS = new URL("../src/qkv/models/", import.meta.url);
const RUNS = {
  tagger: [{}, { scaled: false }, { positions: false }, { layers: 1 }, { heads: 1 }, { residual: false }],
  repeater: [{}, { scaled: false }, { scaled: false, rate: 0.3 }, { layers: 1 }, { mask_forgotten: true }],
  labeller: ["alone", "window", "attention", "attention, positions"].map((sees) => ({ sees })),
};
const EVERY = { whole: 10, curve: 25 }; // steps between frames; of a whole training, every second frame is kept

const grammar = new Grammar(JSON.parse(readFileSync(new URL("grammar.json", MODELS))));
const memory = newMemory(2 ** 25);
const kernels = float32(memory);

/** Return a training as TrainLab shows it, with its texts at every step if it is `whole`. */
function trained(choices, whole) {
  const session = sessionOf(choices, new Memory(memory, kernels, Float32Array, SPARE), grammar);
  const seen = () => {
    const { step, loss, score, ...others } = session.frame();
    return whole || session.step === session.steps ? { step, loss, score, ...others } : { step, loss, score };
  };
  const frames = [seen()];
  while (session.step < session.steps) {
    session.advance(whole ? EVERY.whole : EVERY.curve);
    if (!whole || session.step % 20 === 0) frames.push(seen());
  }
  return { frames, result: session.result() };
}

// Two digits, and hundredths, are enough to draw, and make the files small.
const round = (_, x) => (typeof x === "number" && x % 1 ? Number(x < 1 ? x.toFixed(2) : x.toPrecision(2)) : x);
const exact = (_, x) => (typeof x === "number" ? Number(x.toPrecision(4)) : x);

for (const [task, list] of Object.entries(RUNS)) {
  const stored = {};
  for (const [i, options] of list.entries()) {
    const choices = choicesWith({ task, seed: 0, ...options });
    const { frames, result } = trained(choices, i === 0 || task === "labeller");
    const drawn = frames.map(({ step, ...frame }) => ({ step, ...JSON.parse(JSON.stringify(frame, round)) }));
    const exactly = JSON.parse(JSON.stringify(result, exact));
    stored[nameOf(choices)] = { choices: options, result: exactly, frames: drawn };
  }
  writeFileSync(new URL(`weights/training-runs-${task}.json`, MODELS), `${JSON.stringify(stored)}\n`);
}

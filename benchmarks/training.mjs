// Trains models with the engine of the page. Each line of stdin is {task, options, sizes, seed}, in the names of TrainLab's
// traits; each line of stdout is what was measured at the end. benchmarks/training.py starts this.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { float32, newMemory, SPARE } from "../kernels/kernels.js";
import { Memory } from "../src/qkv/widgets/js/engine/memory.js";
import { planOf } from "../src/qkv/widgets/js/engine/plans.js";
import { Repeater, Tagger } from "../src/qkv/widgets/js/engine/tasks.js";
import { Training } from "../src/qkv/widgets/js/engine/training.js";
import { Grammar } from "../src/qkv/widgets/js/grammar.js";
import { randomIntegers } from "../src/qkv/widgets/js/maths.js";

const grammar = new Grammar(JSON.parse(readFileSync(new URL("../src/qkv/models/grammar.json", import.meta.url))));
const memory = newMemory(2 ** 25);
const kernels = float32(memory);
const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

function trained({ task: kind, options, sizes, seed }) {
  const plan = planOf({ task: kind, ...options, seed });
  const all = { ...plan.sizes, ...sizes };
  const task = kind === "tagger" ? new Tagger(grammar, all) : new Repeater(all);
  const training = new Training(task, plan.settings, new Memory(memory, kernels, Float32Array, SPARE), plan.switches);
  const start = process.cpuUsage();
  while (training.step < plan.settings.steps) training.advance();
  const { user, system } = process.cpuUsage(start);
  const measured = (batches) =>
    batches.map((batch) => training.look(batch, (found) => task.measure(found), plan.measured));
  const found = { seconds: (user + system) / 1e6 };
  if (kind === "repeater") {
    const next = randomIntegers(1000 + seed);
    const results = measured(Array.from({ length: 8 }, () => task.batch(32, next)));
    const over = (of) => mean(results.map(of));
    return {
      ...found,
      repeated: over(({ repeated }) => repeated),
      first: over(({ first }) => first),
      induction: over(({ induction }) => induction[induction.length - 1]),
    };
  }
  const share = (part) => {
    const drawn = task.draw(part, 1000, 1000 + seed);
    const tenths = Array.from({ length: 10 }, (_, i) => task.gather(drawn.slice(100 * i, 100 * (i + 1))));
    return mean(measured(tenths).map(({ it }) => it));
  };
  return { ...found, it: share("new"), held_out: share("combination") };
}

for await (const line of createInterface({ input: process.stdin })) {
  const found = trained(JSON.parse(line));
  process.stdout.write(`${JSON.stringify(found, (_, x) => (typeof x === "number" ? Math.round(x * 1e4) / 1e4 : x))}\n`);
}

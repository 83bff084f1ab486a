/* What TrainLab needs of a browser: a worker, which is loaded when the reader first presses Train. */

import labellers from "../../models/weights/training-runs-labeller.json";
import repeaters from "../../models/weights/training-runs-repeater.json";
import taggers from "../../models/weights/training-runs-tagger.json";
import workerCode from "./engine/worker.js?text";
import { onDemand } from "./on_demand.js";

/** @import { SetState } from "./base.js" */
/** @import { Choices } from "./engine/plans.js" */
/** @import { Frame, Result } from "./engine/shown.js" */
/** @typedef {{ name: string, choices: Choices, frames: Frame[], result: Result | null, isStored: boolean }} Training */
/** @typedef {Record<string, Pick<Training, "frames" | "result"> & { choices: Partial<Choices> }>} Stored trainings by their
 *   names, each with the choices that are not as usual */
/** @typedef {object} Following the state of TrainLab that a trainer reads and changes
 * @property {Training[] | null} runs the trainings; null for the stored ones
 * @property {"idle" | "running" | "paused" | "done"} status
 * @property {number} asked how often the reader has pressed Train
 * @property {boolean} isSlow whether this browser is slow
 * @property {string} failed why training could not start */
/** @typedef {{ number: number, isFast: boolean, frame?: Frame, result?: Result }} Told what the worker tells */

const PACE = 40; // ms for which a frame is seen at least
const CALM = 50; // steps between two changes of the picture, for a reader who wants little motion

/** The stored trainings of a task by their names. A page of the site has only those that it shows.
 * @param {Choices["task"]} task
 * @returns {Stored} */
export const storedOf = (task) =>
  /** @type {Stored} */ (
    /** @type {unknown} */ ({ tagger: taggers, repeater: repeaters, labeller: labellers }[task] ?? {})
  );

/** Return `follow`, which starts, stops and pauses trainings as the state says, and `close`. A hidden page does not
 * train: it would empty a battery for nobody.
 * @param {Following} state
 * @param {SetState<Following>} set */
export function trainer(state, set) {
  /** @type {Worker | null} */
  let worker = null;
  let started = 0; // how often Train was pressed, as far as it is followed
  let number = 0; // of the training in the worker
  let paused = false;
  let isHidden = false; // whether it was paused because the page is hidden
  let isCalm = false; // whether this reader wants little motion
  /** @type {Frame[]} */
  let waiting = []; // frames that are not shown yet

  /** @type {(index: number, changes: (run: Training) => Partial<Training>, others?: Partial<Following>) => void} */
  const change = (index, changes, others = {}) => {
    const runs = /** @type {Training[]} */ (state.runs).map((run, i) =>
      i === index ? { ...run, ...changes(run) } : run,
    );
    set({ runs, ...others });
  };
  const receive = (/** @type {MessageEvent<Told>} */ { data }) => {
    const index = (state.runs ?? []).length - 1;
    if (data.number !== number || index < 0) return;
    if (data.frame) {
      waiting.push(data.frame);
      if (isCalm && data.frame.step % CALM) return;
      const shown = waiting;
      waiting = [];
      change(index, ({ frames }) => ({ frames: [...frames, ...shown] }), { isSlow: !data.isFast });
    }
    if (data.result) change(index, () => ({ result: data.result }), { status: "done" });
  };
  const fail = (/** @type {Error | ErrorEvent} */ reason) =>
    set({ status: "idle", failed: String(reason?.message ?? reason) });

  async function start() {
    const runs = /** @type {Training[]} */ (state.runs); // Train has added one
    const { choices } = runs[runs.length - 1];
    const asked = started;
    try {
      const code = workerCode ?? (await onDemand("training"));
      if (asked !== started) return;
      if (!worker) {
        const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
        worker = new Worker(address);
        worker.onmessage = receive;
        worker.onerror = fail;
      }
      isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      waiting = [];
      number += 1;
      paused = false;
      worker.postMessage({ start: choices, pace: isCalm ? 0 : PACE });
    } catch (error) {
      fail(/** @type {Error} */ (error));
    }
  }

  const follow = () => {
    if (state.asked !== started) {
      started = state.asked;
      start();
    } else if (worker && paused !== (state.status === "paused")) {
      paused = !paused;
      worker.postMessage({ paused });
    }
  };
  const hide = () => {
    if (document.hidden && state.status === "running") {
      isHidden = true;
      worker?.postMessage({ paused: true });
      paused = true;
      set({ status: "paused" });
    } else if (!document.hidden && isHidden) {
      isHidden = false;
      if (state.status === "paused") set({ status: "running" });
    }
  };
  document.addEventListener("visibilitychange", hide);
  return {
    follow,
    close: () => {
      document.removeEventListener("visibilitychange", hide);
      worker?.terminate();
    },
  };
}

/* What TrainLab needs of a browser: a worker, which is loaded when the reader first presses Train. */

import stored from "../../models/weights/training-runs.json";
import workerCode from "./engine/worker.js?text";
import { onDemand } from "./on_demand.js";

const PACE = 40; // ms for which a frame is seen at least

/** The stored trainings: { task: { name: training } }. */
export const STORED = () => stored ?? {};

/** Return `follow`, which starts, stops and pauses trainings as the state says, and `close`. A hidden page does not
 * train: it would empty a battery for nobody. */
export function trainer(state, set) {
  /** @type {Worker | null} */
  let worker = null;
  let started = 0; // how often Train was pressed, as far as it is followed
  let number = 0; // of the training in the worker
  let paused = false;
  let isHidden = false; // whether it was paused because the page is hidden

  const change = (index, changes, others = {}) => {
    const runs = state.runs.map((run, i) => (i === index ? { ...run, ...changes(run) } : run));
    set({ runs, ...others });
  };
  const receive = ({ data }) => {
    const index = (state.runs ?? []).length - 1;
    if (data.number !== number || index < 0) return;
    if (data.frame) change(index, ({ frames }) => ({ frames: [...frames, data.frame] }), { isSlow: !data.isFast });
    if (data.result) change(index, () => ({ result: data.result }), { status: "done" });
  };
  const fail = (reason) => set({ status: "idle", failed: String(reason?.message ?? reason) });

  async function start() {
    const { choices } = state.runs[state.runs.length - 1];
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
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      number += 1;
      paused = false;
      worker.postMessage({ start: choices, pace: calm ? 0 : PACE });
    } catch (error) {
      fail(error);
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

// Python in a worker of this page: started when it is first asked, ended when a cell does not end, and started again.

import { bytesOf, workerOf } from "./files.js";

const LARGE = 250e6; // bytes of memory, after which a fresh worker takes over
const FILES = ["sizes.json", "pyodide.asm.wasm", "python_stdlib.zip", "course.zip"];
const MODELS = "models.zip"; // the trained models, which few cells use
const RUNNING = "Running …";
const failure = (why) => `Python could not start here (${why}). Open this notebook in JupyterLab or Colab instead.`;

export class Python {
  #folder;
  #say;
  #worker; // a promise of it
  #readySince = Number.POSITIVE_INFINITY;
  #waiting = new Map();
  #asked = 0;
  #hasModels = false;

  /** `folder` has worker.js and what it loads; `say` is told in words how the start goes. */
  constructor(folder, say) {
    this.#folder = folder;
    this.#say = say;
  }

  start() {
    if (this.#worker) return;
    const worker = workerOf(this.#folder, FILES);
    this.#worker = worker;
    worker.then(
      (made) => {
        made.onmessage = ({ data }) => this.#hear(data);
        made.onerror = (problem) => this.end(failure(problem.message));
      },
      (problem) => this.end(failure(problem.message)),
    );
  }

  /** Fetch what the start will need, one after the other, and do not start: whoever keeps answers keeps these. */
  async fetchAhead() {
    for (const name of ["worker.js", "editor.js", ...FILES]) await bytesOf(this.#folder, name);
  }

  #hear({ progress, ready, failed, id, first, ...answer }) {
    if (progress) this.#say(`Loading Python: ${Math.floor((100 * progress.done) / progress.total)} %`);
    else if (failed) this.end(failure(failed.split("\n")[0]));
    else if (ready) {
      this.#readySince = Date.now();
      this.#say(this.#waiting.size ? RUNNING : "");
    } else if (first) this.#waiting.get(id)?.tell(first);
    else {
      this.#waiting.get(id)?.end(answer);
      this.#waiting.delete(id);
      if (answer.memory > LARGE && !this.#waiting.size) this.#renew();
    }
  }

  #terminate() {
    this.#worker?.then(
      (worker) => worker.terminate(),
      () => {},
    );
    this.#worker = undefined;
    this.#readySince = Number.POSITIVE_INFINITY;
    this.#hasModels = false;
  }

  /** Memory is given back only with the worker that took it. */
  #renew() {
    this.#terminate();
    this.start();
  }

  /** End the worker, and tell whoever waits why. */
  end(why) {
    this.#terminate();
    const left = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { end } of left) end({ status: "error", points: 0, misconception: null, message: why, problem: why });
  }

  /** Ask the worker, with the trained models before the first cell that names them. */
  async #send(message) {
    const worker = this.#worker;
    if (!this.#hasModels && message.cells.some((source) => /\bmodels\b/.test(source))) {
      this.#hasModels = true;
      const archive = await bytesOf(this.#folder, MODELS);
      (await worker).postMessage({ archive }, [archive]);
    }
    (await worker).postMessage(message);
  }

  /**
   * What Python answers, in at most so many seconds. The time counts from when it is ready: a slow network is no
   * endless loop. `tell` is given a first answer, where there is one.
   */
  ask(question, limit, tell) {
    this.start();
    const id = ++this.#asked;
    const since = Date.now();
    this.#say(this.#readySince < since ? RUNNING : "Starting Python …");
    const clock = setInterval(() => {
      if (Date.now() - Math.max(since, this.#readySince) > limit * 1000)
        this.end(
          `Stopped: this ran for ${limit} seconds. Is there a loop that does not end, or a step that takes too long?`,
        );
    }, 500);
    return new Promise((resolve) => {
      this.#waiting.set(id, { tell, end: resolve });
      this.#send({ id, ...question }).catch((problem) => this.end(failure(problem.message)));
    }).finally(() => {
      clearInterval(clock);
      this.#say("");
    });
  }
}

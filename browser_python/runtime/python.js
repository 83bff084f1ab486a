// Python in a worker of this page. It starts at the first request. When a cell does not end, the worker is terminated,
// and started again at the next request.

import { bytesOf, workerOf } from "./files.js";

const LARGE = 250e6; // bytes of memory above which a new worker replaces this one
const FILES = ["sizes.json", "pyodide.asm.wasm", "python_stdlib.zip", "course.zip"];
const MODELS = "models.zip"; // the trained models, which few cells use
const RUNNING = "Running …";
const DIED =
  "Python ended: this code called functions too deeply inside each other, or needed too much memory. It starts anew with " +
  "the next Run or Check.";
const failure = (why) => `Python could not start here (${why}). Open this notebook in JupyterLab or Colab instead.`;

export class Python {
  #folder;
  #say;
  #worker; // the promise of the worker
  #readySince = Number.POSITIVE_INFINITY; // ms
  #waiting = new Map(); // the callbacks of requests without an answer, by id
  #lastId = 0;
  #isNew = false; // whether this worker replaced one that had used much memory
  #hasModels = false;

  /** `folder` has worker.js and the files that it loads. `say` is called with texts about the start and the running. */
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
        made.onmessage = ({ data }) => this.#receive(data);
        made.onerror = (problem) => this.end(failure(problem.message));
      },
      (problem) => this.end(failure(problem.message)),
    );
  }

  /** Fetch the files of the start, one after the other, without starting. A service worker then keeps them. */
  async fetchAhead() {
    for (const name of ["worker.js", "editor.js", ...FILES]) await bytesOf(this.#folder, name);
  }

  #receive({ progress, ready, failed, died, id, first, ...answer }) {
    if (progress) this.#say(`Loading Python: ${Math.floor((100 * progress.done) / progress.total)} %`);
    else if (failed) this.end(failure(failed.split("\n")[0]));
    else if (died) this.end(DIED);
    else if (ready) {
      this.#readySince = Date.now();
      this.#say(this.#waiting.size ? RUNNING : "");
    } else if (first) this.#waiting.get(id)?.onFirst(first);
    else {
      this.#waiting.get(id)?.resolve({ ...answer, isNew: this.#isNew });
      this.#isNew = false;
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

  /** Replace the worker, because only a worker's end frees its memory. */
  #renew() {
    this.restart();
    this.#isNew = true;
  }

  /** Start Python anew: what the cells have made is gone. */
  restart() {
    this.end("Restarted.");
    this.start();
  }

  /** End the worker, and answer all requests that wait with the reason. */
  end(why) {
    this.#terminate();
    const left = [...this.#waiting.values()];
    this.#waiting.clear();
    const answer = { status: "error", points: 0, misconception: null, message: why, problem: why };
    for (const { resolve } of left) resolve(answer);
  }

  /** Send a message to the worker, after the trained models if a cell is the first that names them. */
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
   * Return the promise of Python's answer to a request, which may take `limit` seconds. The time begins when Python is
   * ready, so that a slow network is not taken for an endless loop. `onFirst` gets a first answer, if there is one.
   */
  ask(request, limit, onFirst) {
    this.start();
    const id = ++this.#lastId;
    const since = Date.now();
    this.#say(this.#readySince < since ? RUNNING : "Starting Python …");
    const clock = setInterval(() => {
      if (Date.now() - Math.max(since, this.#readySince) > limit * 1000)
        this.end(
          `Stopped: this ran for ${limit} seconds. Is there a loop that does not end, or a step that takes too long? ` +
            "Python starts anew with the next Run or Check.",
        );
    }, 500);
    return new Promise((resolve) => {
      this.#waiting.set(id, { onFirst, resolve });
      this.#send({ id, ...request }).catch((problem) => this.end(failure(problem.message)));
    }).finally(() => {
      clearInterval(clock);
      this.#say("");
    });
  }
}

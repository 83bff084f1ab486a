// Python in a worker of this page: started when it is first asked, ended when a cell does not end, and started again.

const LIMIT = 20; // seconds that a cell may run
const LARGE = 250e6; // bytes of memory, after which a fresh worker takes over
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

export class Python {
  #folder;
  #say;
  #worker;
  #readySince = Number.POSITIVE_INFINITY;
  #waiting = new Map();
  #asked = 0;

  /** `folder` has worker.js and what it loads; `say` is told in words how the start goes. */
  constructor(folder, say) {
    this.#folder = folder;
    this.#say = say;
  }

  start() {
    if (this.#worker) return;
    const worker = new Worker(new URL("worker.js", this.#folder), { type: "module", name: "Python" });
    worker.onmessage = ({ data }) => this.#hear(data);
    worker.onerror = () => this.end("Python could not start here. Open this notebook in JupyterLab or Colab instead.");
    this.#worker = worker;
  }

  #hear({ progress, ready, failed, id, ...answer }) {
    if (progress) this.#say(`Python: ${megabytes(progress.done)} of ${megabytes(progress.total)} MB`);
    else if (failed) this.end(`Python could not start here: ${failed.split("\n")[0]}`);
    else if (ready) {
      this.#readySince = Date.now();
      this.#say(this.#waiting.size ? "Running …" : "");
    } else {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
      if (answer.memory > LARGE && !this.#waiting.size) this.#renew();
    }
  }

  #terminate() {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#readySince = Number.POSITIVE_INFINITY;
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
    for (const tell of left) tell({ status: "error", points: 0, misconception: null, message: why, problem: why });
  }

  /** What Python answers. The time limit counts from when it is ready: a slow network is no endless loop. */
  ask(question) {
    this.start();
    const id = ++this.#asked;
    const since = Date.now();
    if (this.#readySince < since) this.#say("Running …");
    const clock = setInterval(() => {
      if (Date.now() - Math.max(since, this.#readySince) > LIMIT * 1000)
        this.end(`Stopped: this ran for ${LIMIT} seconds without an end. Does a loop of yours ever stop?`);
    }, 500);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#worker.postMessage({ id, ...question });
    }).finally(() => {
      clearInterval(clock);
      this.#say("");
    });
  }
}

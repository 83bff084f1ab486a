// Python in a worker of this page. It starts at the first request. When a cell does not end, the worker is terminated,
// and started again at the next request.
//
// What a reader runs may be somebody else's. So the worker lives in a frame without an origin (`frame.html`): it reaches
// no other host, nothing that the site keeps in this browser, and of this page only the port through which it answers.

import { t } from "../../src/qkv/widgets/js/words.js";
import { free } from "./bytes.js";
import { bytesOf, loaded, memoryOf } from "./files.js";
import frame from "./frame.html";
import { fileOf, loadStart, NEEDED, PROGRAM } from "./loading.js";
import { outputOf, verdictOf } from "./messages.js";

/** @import { Built } from "./loading.js" */
/** @typedef {{ cells: string[], question?: string, name?: string, models?: boolean, language?: string }} Request */
/** @typedef {object} Answer of notebook.answer: a check gives `status` to `html`, cells give `printed` to `above`
 * @property {string} status
 * @property {number} points
 * @property {string | null} misconception
 * @property {string} message
 * @property {string} [html] the card of the verdict
 * @property {string} [printed]
 * @property {string} problem
 * @property {number} [above] how many cells ran before
 * @property {boolean} [isNew] whether Python was started anew before it
 * @property {boolean} [hasEnded] whether Python ended instead */
/** @typedef {{ memory?: unknown, stage?: unknown, ready?: unknown, failed?: unknown, died?: unknown, id?: number,
 *   first?: unknown, used?: unknown }} Message of the worker, with the values of an answer */
/** @typedef {{ onFirst?: (first: Answer) => void, resolve: (answer: Answer) => void,
 *   read: (found: unknown) => Answer | undefined }} Waiting */

const LARGE = 250e6; // bytes of memory above which a new worker replaces this one
const MODELS = "models.bin"; // the trained models, which few cells and checks use
/** The language of the page, if it is not English: cards have it, too. */
const LANGUAGE = /** @type {HTMLElement | null} */ (document.querySelector("[data-language]"))?.dataset.language;
const RUNNING = t`Running …`;
const IS_LONG = t`Still running. Is there a loop that does not end? Then press Stop.`;
const LONG = 20e3; // ms; by then, almost everything that ends has ended
const DIED = t`Python ended: this code called functions too deeply inside each other, or needed too much memory. It starts anew with the next Run or Check.`;
const ODD = t`Python ended: this code changed the part of Python that answers the page, so there is no result. Python starts anew with the next Run or Check.`;
const START = t`Starting Python …`;
const STAGES = {
  compiling: t`Starting Python: compiling it, the longest part of a first visit …`,
  importing: t`Starting Python: importing torch and the checks …`,
  keeping: t`Starting Python: keeping what was imported, for a quick start next time …`,
};
const failure = (/** @type {string} */ why) =>
  navigator.onLine
    ? t`Python could not start here. ${why}. Your text is kept. Try again, or open this notebook in JupyterLab or Colab.`
    : t`You are offline; your text is kept. Python starts here once you are online again: press the button then.`;

/** Return the last line of an error's text: of a traceback, the error.
 * @param {string} text */
const lastLine = (text) => /** @type {string} */ (text.trim().split("\n").at(-1));

/** A worker in its frame. */
class Worker {
  #frame = document.createElement("iframe");
  #channel = new MessageChannel();
  #onFrame;

  /** `receive` is called with each message of the worker, and with { failed } if it cannot start or has an error.
   * @param {(message: unknown) => void} receive */
  constructor(receive) {
    this.#channel.port1.onmessage = ({ data }) => receive(data);
    this.#onFrame = (/** @type {MessageEvent} */ { source, data }) => {
      if (source === this.#frame.contentWindow) receive({ failed: data?.failed ?? t`Its program could not be loaded` });
    };
    window.addEventListener("message", this.#onFrame);
    this.#frame.hidden = true;
    this.#frame.title = "Python";
    this.#frame.setAttribute("sandbox", "allow-scripts");
    this.#frame.srcdoc = frame;
  }

  /** Start the worker from the text of its program. It receives what was sent before.
   * @param {ArrayBuffer} program */
  async start(program) {
    const loaded = new Promise((resolve) => {
      this.#frame.addEventListener("load", resolve, { once: true });
    });
    document.body.append(this.#frame);
    await loaded;
    const port = this.#channel.port2;
    this.#frame.contentWindow?.postMessage({ program }, "*", [port, program]);
  }

  /** @param {{ name: string, bytes?: ArrayBuffer } | { archive: ArrayBuffer } | (Request & { id: number })} message
   * @param {Transferable[]} [transfer] */
  send(message, transfer = []) {
    this.#channel.port1.postMessage(message, transfer);
  }

  terminate() {
    window.removeEventListener("message", this.#onFrame);
    this.#channel.port1.close();
    this.#frame.remove(); // a worker ends with its frame
  }
}

export class Python {
  #folder;
  #say;
  /** @type {Worker | undefined} */
  #worker; // undefined while Python is not running
  /** @type {Promise<void>} */
  #ready = Promise.resolve(); // resolves when the worker can be asked
  #setReady = () => {};
  #readySince = Number.POSITIVE_INFINITY; // ms
  /** @type {Map<number | undefined, Waiting>} */
  #waiting = new Map(); // the callbacks of requests without an answer, by id
  #lastId = 0;
  #isNew = false; // whether this worker replaced one that had used much memory
  /** @type {Set<string>} */
  #archives = new Set(); // those that the worker has, besides the files of its start
  /** @type {ReturnType<typeof memoryOf> | undefined} */
  #memory;
  /** @type {Built} */
  #built = {}; // the size and the hash of each file, as the build wrote it
  #stage = START; // what is said while it starts
  #isLoading = false; // whether files are still to come; that is said, and not what the worker does meanwhile
  #started = START; // what the worker does at its start

  /** `folder` has worker.js and the files that it needs. `say` is called with texts about the start and the running.
   * @param {URL} folder
   * @param {(words: string) => void} say */
  constructor(folder, say) {
    this.#folder = folder;
    this.#say = say;
  }

  start() {
    if (this.#worker) return;
    this.#stage = START;
    this.#ready = new Promise((resolve) => {
      this.#setReady = resolve;
    });
    loaded((cache) => this.#begin(cache)).catch((problem) => this.end(failure(problem.message)));
  }

  /** Begin a worker, and give it its files. Nothing is left to do or to say once another one has taken its place.
   * @param {RequestCache} cache */
  async #begin(cache) {
    this.#worker?.terminate();
    const worker = new Worker((message) => this.#worker === worker && this.#receive(message));
    this.#worker = worker;
    this.#isLoading = true;
    const say = (/** @type {string} */ words) => this.#worker === worker && this.#sayStage(words);
    let percent = 0;
    try {
      const { built, made } = await loadStart(this.#folder, cache, {
        hand: (name, bytes) => {
          if (this.#worker !== worker) return;
          if (name === PROGRAM) worker.start(/** @type {ArrayBuffer} */ (bytes));
          else worker.send({ name, bytes }, bytes && [bytes]);
        },
        onPercent: (now) => {
          percent = now;
          say(t`Loading Python: ${percent} %`);
        },
        onCut: () => say(t`Loading Python: the connection was cut at ${percent} %. Trying again …`),
      });
      if (this.#worker !== worker) return;
      this.#built = built;
      this.#memory = memoryOf(this.#folder, made);
      this.#isLoading = false;
      if (this.#readySince === Number.POSITIVE_INFINITY) say(this.#started);
    } catch (problem) {
      if (this.#worker === worker) throw problem;
    }
  }

  /** Say what the start is doing, also to those that ask from now on.
   * @param {string} words */
  #sayStage(words) {
    this.#stage = words;
    this.#say(words);
  }

  /** @param {string} name
   * @param {RequestCache} cache */
  #loadArchive(name, cache) {
    return fileOf(this.#folder, name, this.#built, { cache });
  }

  /** Fetch the files of the start, one after the other, without starting. A service worker then keeps them, unless it
   * has them from an earlier visit. */
  async fetchAhead() {
    for (const name of [...NEEDED, "editor.js"])
      if (!(await caches.match(new URL(name, this.#folder)))) free(await bytesOf(this.#folder, name));
  }

  /** Receive a message of the worker. Before it is ready only the page's own program has run there.
   * @param {unknown} message */
  #receive(message) {
    const said = /** @type {Message} */ (message ?? {});
    if (typeof said.failed === "string") this.end(failure(lastLine(said.failed)));
    else if (this.#readySince === Number.POSITIVE_INFINITY) this.#receiveStart(said);
    else if (said.died) this.end(DIED);
    else this.#receiveAnswer(said);
  }

  /** @param {Message} message while it starts */
  #receiveStart({ memory, stage, ready }) {
    if (stage) {
      this.#started = STAGES[/** @type {keyof typeof STAGES} */ (stage)];
      if (!this.#isLoading) this.#sayStage(this.#started);
    } else if (memory) {
      const store = this.#memory;
      store?.keep(/** @type {ArrayBuffer} */ (memory)).catch(() => {}); // without room for it, the next start imports again
    } else if (ready) {
      this.#readySince = Date.now();
      this.#say(this.#waiting.size ? RUNNING : "");
      this.#setReady();
    }
  }

  /** @param {Message} message */
  #receiveAnswer({ id, first, used, ...rest }) {
    const waiting = this.#waiting.get(id);
    const answer = waiting?.read(first === undefined ? rest : first);
    if (!waiting || !answer || (first !== undefined && !waiting.onFirst)) return this.end(ODD);
    if (first !== undefined) {
      waiting.onFirst?.(answer);
      waiting.onFirst = undefined; // there is no second one
      return;
    }
    waiting.resolve({ ...answer, isNew: this.#isNew });
    this.#isNew = false;
    this.#waiting.delete(id);
    if (Number(used) > LARGE && !this.#waiting.size) this.#renew();
  }

  #terminate() {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#readySince = Number.POSITIVE_INFINITY;
    this.#archives.clear();
  }

  /** Replace the worker, because only a worker's end frees its memory. */
  #renew() {
    this.#terminate();
    this.start();
    this.#isNew = true;
  }

  /** End the worker, and answer all requests that wait with the reason.
   * @param {string} why */
  end(why) {
    this.#terminate();
    const left = [...this.#waiting.values()];
    this.#waiting.clear();
    const answer = { status: "error", points: 0, misconception: null, message: why, problem: why, hasEnded: true };
    for (const { resolve } of left) resolve(answer);
  }

  /** Send a message to the worker when it is ready, after the archives that it needs: trained models, the texts of a language.
   * @param {Request & { id: number }} message */
  async #send(message) {
    await this.#ready;
    const worker = this.#worker; // not an earlier one, whose files were wrong
    const needsModels = message.models || message.cells.some((source) => /\bmodels\b/.test(source));
    const needed = [...(needsModels ? [MODELS] : []), ...(LANGUAGE ? [`${LANGUAGE}.bin`] : [])];
    for (const name of needed.filter((each) => !this.#archives.has(each))) {
      this.#archives.add(name);
      const archive = await loaded((cache) => this.#loadArchive(name, cache));
      worker?.send({ archive }, [archive]);
    }
    worker?.send(LANGUAGE ? { ...message, language: LANGUAGE } : message);
  }

  /**
   * Return the promise of Python's answer to a request, which may take `limit` seconds. The time begins when Python is
   * ready, so that a slow network is not taken for an endless loop. `onFirst` gets a first answer, if there is one.
   * @param {Request} request
   * @param {number} limit
   * @param {(first: Answer) => void} [onFirst]
   * @returns {Promise<Answer>}
   */
  ask(request, limit, onFirst) {
    this.start();
    const id = ++this.#lastId;
    const since = Date.now();
    this.#say(this.#readySince < since ? RUNNING : this.#stage);
    let isTold = false;
    const clock = setInterval(() => {
      const ran = Date.now() - Math.max(since, this.#readySince);
      if (ran > LONG && !isTold) this.#say(IS_LONG);
      isTold ||= ran > LONG;
      if (ran > limit * 1000)
        this.end(
          t`Stopped: this ran for ${limit} seconds. Is there a loop that does not end, or a step that takes too long? Python starts anew with the next Run or Check.`,
        );
    }, 500);
    const answer = new Promise((resolve) => {
      this.#waiting.set(id, { onFirst, resolve, read: request.question ? verdictOf : outputOf });
      this.#send({ id, ...request }).catch((problem) => this.end(failure(problem.message)));
    });
    return answer.finally(() => {
      clearInterval(clock);
      this.#say("");
    });
  }
}

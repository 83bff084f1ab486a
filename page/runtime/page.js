(() => {
  // Exercises on the page: each answer is a text that can be written, and a check of it runs Python in a worker here.
  // What is written is kept in this browser alone. Without scripts the page is the exercise, as it is printed.

  const FILES = new URL("python/", document.currentScript.src);
  const LIMIT = 20; // seconds that a cell may run
  const PAGE = document.querySelector("[data-page]")?.dataset.page ?? "";
  const KEY = `qkv-answers:${PAGE}`;
  const cells = [...document.querySelectorAll("[class*='qkv-cell-']")];
  const kindOf = (cell) => cell.className.match(/qkv-cell-(\w+)/)[1];
  const questionOf = (cell) =>
    cell.className
      .match(/qkv-q-(\d+)-(\d+)/)
      ?.slice(1)
      .join(".");
  const textOf = (cell) => cell.querySelector("pre").textContent.replace(/\n$/, "");

  // ── what is kept ─────────────────────────────────────────────────────────────────────────────────
  function kept() {
    try {
      return JSON.parse(localStorage.getItem(KEY) ?? "{}");
    } catch {
      return {};
    }
  }

  function keep(answers) {
    try {
      if (Object.keys(answers).length) localStorage.setItem(KEY, JSON.stringify(answers));
      else localStorage.removeItem(KEY);
    } catch {
      say("This browser keeps nothing: download your notebook before you leave the page.");
    }
  }

  // ── the worker ───────────────────────────────────────────────────────────────────────────────────
  let worker;
  let waiting = new Map();
  let asked = 0;
  const ready = new WeakMap(); // when each worker was

  function started() {
    if (worker) return;
    worker = new Worker(new URL("worker.js", FILES), { type: "module", name: "Python" });
    worker.onmessage = ({ data }) => {
      if (data.progress)
        say(`Python is on its way: ${megabytes(data.progress.done)} of ${megabytes(data.progress.total)} MB.`);
      else if (data.ready) {
        ready.set(worker, Date.now());
        say("Python is ready.");
      } else if (data.failed) ended(`Python could not start here: ${data.failed.split("\n")[0]}`);
      else {
        waiting.get(data.id)?.(data);
        waiting.delete(data.id);
      }
    };
    worker.onerror = () => ended("Python could not start here. Open this notebook in JupyterLab or Colab instead.");
  }

  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  /** End the worker, and say to whoever waits why; the next question starts another. */
  function ended(why) {
    worker?.terminate();
    worker = undefined;
    const left = [...waiting.values()];
    waiting = new Map();
    say(why);
    for (const tell of left) tell({ status: "error", points: 0, misconception: null, message: why, problem: why });
  }

  function ask(question) {
    started();
    const id = ++asked;
    const since = Date.now();
    // The limit counts from when Python is ready: a slow network is no endless loop.
    const clock = setInterval(
      (of) => {
        const begun = Math.max(since, ready.get(of) ?? Number.POSITIVE_INFINITY);
        if (of === worker && Date.now() - begun > LIMIT * 1000)
          ended(`Stopped: this ran for ${LIMIT} seconds without an end. Does a loop of yours ever stop?`);
      },
      500,
      worker,
    );
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      worker.postMessage({ id, ...question });
    }).finally(() => clearInterval(clock));
  }

  // ── what is on the page ──────────────────────────────────────────────────────────────────────────
  const answers = new Map(); // by question: the cell, its name, its stub and its editor
  const status = document.createElement("p");
  status.className = "qkv-python";
  status.setAttribute("role", "status");
  const say = (words) => {
    status.textContent = words;
  };

  function element(tag, attributes = {}, ...children) {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...children);
    return made;
  }

  const button = (words, act) =>
    element("button", { type: "button", className: "qkv-run", textContent: words, onclick: act });

  /** A text that can be written in place of a cell's code. Tab leaves it, as it leaves every other control. */
  function editor(cell, label, text) {
    const area = element("textarea", {
      className: "qkv-editor",
      value: text,
      spellcheck: false,
      autocapitalize: "off",
    });
    area.setAttribute("aria-label", label);
    const fit = () => {
      area.rows = Math.max(2, area.value.split("\n").length);
    };
    area.addEventListener("input", fit);
    area.addEventListener("keydown", indent);
    fit();
    cell.querySelector(".cell_input")?.replaceChildren(area);
    return area;
  }

  /** Enter keeps the line's indentation, and adds to it after a colon. */
  function indent(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const { value, selectionStart } = event.target;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const depth = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
    event.target.setRangeText(`\n${depth}`, selectionStart, event.target.selectionEnd, "end");
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** The cells that a cell needs: the imports, and every answer before it. */
  function before(cell) {
    const needed = cells.slice(0, cells.indexOf(cell)).filter((other) => ["imports", "answer"].includes(kindOf(other)));
    return needed.map((other) =>
      kindOf(other) === "answer" ? answers.get(questionOf(other)).area.value : textOf(other),
    );
  }

  function prepareAnswer(cell) {
    const question = questionOf(cell);
    const stub = textOf(cell);
    const area = editor(cell, `Your answer to question ${question}`, kept()[question] ?? stub);
    cell.classList.add("qkv-answer");
    cell.dataset.question = question;
    answers.set(question, { cell, stub, area, name: stub.match(/^(?:def|class) (\w+)/m)[1] });
    area.addEventListener("input", () => note(question));
  }

  /** Keep an answer that differs from its stub. */
  function note(question) {
    const { area, stub } = answers.get(question);
    const all = kept();
    if (area.value === stub) delete all[question];
    else all[question] = area.value;
    keep(all);
  }

  function prepareTry(cell) {
    const area = editor(cell, `Code to try question ${questionOf(cell)}`, textOf(cell));
    const shown = element("pre", { className: "qkv-printed", hidden: true });
    const run = button("Run", async () => {
      run.disabled = true;
      const { printed = "", problem } = await ask({ cells: [...before(cell), area.value] });
      run.disabled = false;
      shown.hidden = false;
      shown.textContent = printed + problem || "It printed nothing.";
    });
    cell.append(
      run,
      button("Stop", () => ended("Stopped.")),
      shown,
    );
  }

  const cards = new Map();

  function prepareCheck(cell) {
    const question = questionOf(cell);
    const card = element("div", { className: "qkv-verdict" });
    card.setAttribute("aria-live", "polite");
    const run = button("Check", () => check(question));
    cell.append(
      run,
      button("Stop", () => ended("Stopped.")),
      card,
    );
    cards.set(question, { card, run });
  }

  /** Check an answer, show its card, and give the report. */
  async function check(question) {
    const { cell, area, name } = answers.get(question);
    const { card, run } = cards.get(question) ?? {};
    if (run) run.disabled = true;
    const { html, status, points, misconception, message } = await ask({
      cells: [...before(cell), area.value],
      question,
      name,
    });
    if (run) run.disabled = false;
    if (card) {
      card.dataset.status = status;
      card.replaceChildren(html ? document.createRange().createContextualFragment(html) : message);
    }
    return { status, points, misconception, message };
  }

  // ── the whole notebook ───────────────────────────────────────────────────────────────────────────
  async function download() {
    const name = `${PAGE.split("/")[1]}.ipynb`;
    const notebook = await (await fetch(new URL(`notebooks/${name}`, FILES))).json();
    for (const { stub, area } of answers.values()) {
      const cell = notebook.cells.find(
        (one) => one.cell_type === "code" && one.source.join("").trimEnd() === stub.trimEnd(),
      );
      if (cell) cell.source = area.value.split(/(?<=\n)/);
    }
    const file = new Blob([`${JSON.stringify(notebook, null, 1)}\n`], { type: "application/x-ipynb+json" });
    const link = element("a", { href: URL.createObjectURL(file), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function clear() {
    if (!confirm("Clear all answers on this page? The exercise starts again from its stubs.")) return;
    for (const { area, stub } of answers.values()) area.value = stub;
    keep({});
  }

  function open() {
    if (!window.WebAssembly || location.protocol === "file:") return;
    const prepare = { answer: prepareAnswer, try: prepareTry, check: prepareCheck };
    for (const cell of cells) prepare[kindOf(cell)]?.(cell);
    const tools = element(
      "div",
      { className: "qkv-python-tools" },
      button("Download my notebook", download),
      button("Clear my answers", clear),
    );
    const first = cells[0];
    first.before(tools, status);
    say(
      "You can answer on this page: press Check. Python (about 5 MB) is loaded then, once. Your answers stay in this browser.",
    );
    window.qkv = { ...window.qkv, answer, check };
  }

  /** An answer's text; with a source, set it. */
  function answer(question, source) {
    const { area } = answers.get(question);
    if (source !== undefined) {
      area.value = source;
      area.dispatchEvent(new Event("input", { bubbles: true }));
    }
    return area.value;
  }

  if (cells.length) open();
})();

// Python on the page, in a worker: exercises are answered and checked, cells of chapters are run and edited.
// `page/drawn.py` has drawn all of it; here it comes to life. What is written is kept in this browser alone.

import { editorOf, textOf } from "./files.js";
import { load, note, save } from "./kept.js";
import { Python } from "./python.js";

const all = (selector, from = /** @type {ParentNode} */ (document)) =>
  /** @type {HTMLElement[]} */ ([...from.querySelectorAll(selector)]);
/** The one element that there has to be. */
const one = (selector, from = /** @type {ParentNode} */ (document)) => {
  const [found] = all(selector, from);
  if (!found) throw new Error(`nothing on this page is ${selector}`);
  return found;
};
const HERE = all("[data-page]")[0]?.dataset.page ?? "";
const FILES = new URL("python/", /** @type {HTMLScriptElement} */ (document.currentScript).src);
const LOOKING = "Still comparing it with known mistakes …";
const SECONDS = { check: 20, run: 60 }; // a cell of a chapter may count for long

let places = []; // where is said what Python does: beside the buttons that wait for it
const python = new Python(FILES, (words) => {
  for (const place of places) place.textContent = words;
});

// ── texts that can be written ──────────────────────────────────────────────────────────────────────
const editors = new Map(); // by key: "3.1" is an answer, "try 3.1" the cell to try it in

/** A text and the way to change it: a plain one until the reader comes to it, then CodeMirror's. */
function open(area) {
  const { key } = area.dataset;
  const editor = {
    area,
    get text() {
      return this.view ? this.view.state.doc.toString() : area.value;
    },
    set text(source) {
      if (this.view) this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: source } });
      else {
        area.value = source;
        area.dispatchEvent(new Event("input"));
      }
    },
  };
  const written = () => changed(key, editor.text);
  area.addEventListener("input", () => {
    area.rows = Math.max(2, area.value.split("\n").length);
    written();
  });
  area.addEventListener("focus", () => begin(editor, written), { once: true });
  editors.set(key, editor);
}

/** Colours, indentation and brackets; where they cannot be had, the plain text stays. Who writes will run: load Python. */
async function begin(editor, written) {
  if (!obstacle() && !navigator.connection?.saveData) python.start();
  try {
    const [{ enhance }] = await Promise.all([editorOf(FILES), pressed(editor.area)]);
    editor.view = enhance(editor.area, written);
  } catch {
    // a lost network: the text can be written all the same
  }
}

/** When the press that led into a text is over: by then the cursor stands where it was put.
 * @returns {Promise<void>} */
function pressed(area) {
  return new Promise((over) => {
    window.addEventListener("mouseup", () => over(), { once: true });
    setTimeout(() => area.matches(":active") || over(), 300); // by a key, there was no press
  });
}

/** Keep a text that differs from what stood there. What was found of the text that was checked last counts for it alone. */
function changed(key, text) {
  const { defaultValue } = editors.get(key).area;
  const kept = load()[key];
  if (text === (kept?.source ?? defaultValue)) return;
  const source = text === defaultValue ? undefined : text;
  const { status, points } = kept?.checked?.source === text ? kept.checked : {};
  if (!note(key, { source, status, points }))
    offer("This browser does not keep your answers: download your notebook before you leave the page.");
  outdate(key, status === undefined);
  count();
}

/** Say of what is shown that it belongs to an earlier text, or that it belongs to this one again. */
function outdate(key, isOld) {
  const card = document.querySelector(`.qkv-check[data-question="${key}"] .qkv-verdict`);
  const tried = card ? editors.get(`try ${key}`) : editors.get(key);
  const printed = tried?.area.closest(".qkv-live").querySelector(".qkv-printed");
  for (const shown of [card, printed]) shown?.toggleAttribute("data-old", isOld && shown.textContent !== "");
}

const offer = (words) => {
  const place = document.querySelector(".qkv-offer");
  if (place) place.textContent = words;
};

// ── running and checking ───────────────────────────────────────────────────────────────────────────
/** The page's notebook, as it was packed. */
let fetched;
function packed() {
  fetched ??= textOf(FILES, `notebooks/${HERE}.ipynb`).then(JSON.parse);
  return fetched;
}

/** The code of a chapter's cells up to this one: as it is edited here, else as it is in the notebook. */
async function upTo(name) {
  const { cells } = await packed();
  const code = cells.filter((cell) => cell.cell_type === "code");
  const place = code.findIndex(({ id }) => id === name);
  return code.slice(0, place + 1).map(({ id, source }) => editors.get(keyOf(id))?.text ?? source.join(""));
}

/** Under which key an edited cell of this chapter is kept. */
const keyOf = (name) => `${HERE} ${name}`;

/** The cells that a cell of an exercise needs: the imports, and every answer up to its question. */
function before(cell) {
  const cells = all(".qkv-cell-imports, .qkv-cell-answer");
  const earlier = cells.filter((other) => other.compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING);
  return earlier.map((other) => {
    const [area] = all(".qkv-editor", other);
    return area ? editors.get(area.dataset.key).text : one("pre", other).textContent;
  });
}

let turn = Promise.resolve(); // over when all that was asked before is answered

/** Ask Python from a cell, after what runs already; the cell's buttons change places, and beside them is said what happens. */
async function ask(cell, question, tell) {
  const [run, stop] = /** @type {HTMLButtonElement[]} */ (
    all("[data-do=run], [data-do=runCell], [data-do=check], [data-do=stop]", cell)
  );
  const before = turn;
  let over;
  turn = new Promise((done) => {
    over = done;
  });
  cell.querySelector(".qkv-said").textContent = "Waiting for what is already running …";
  run.disabled = true;
  await before;
  places = [cell.querySelector(".qkv-said")];
  stop.disabled = false;
  try {
    return await python.ask(question, question.question ? SECONDS.check : SECONDS.run, tell);
  } finally {
    run.disabled = false;
    stop.disabled = true;
    over();
  }
}

async function run(cell) {
  const { key } = cell.querySelector(".qkv-editor").dataset;
  show(cell, await ask(cell, { cells: [...before(cell), editors.get(key).text] }));
}

/** Scroll to what came of a button's press, unless the reader has left the button meanwhile. */
function reveal(button, selector) {
  const shown = button.closest(".qkv-live").querySelector(selector);
  const { top, height } = shown.getBoundingClientRect();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const place = button.getBoundingClientRect();
  if (place.bottom > 0 && place.top < innerHeight && top + height > innerHeight)
    shown.scrollIntoView({ block: height < innerHeight ? "end" : "start", behavior: still ? "instant" : "smooth" });
}

function show(cell, { printed = "", problem }) {
  const shown = cell.querySelector(".qkv-printed");
  shown.hidden = false;
  shown.removeAttribute("data-old");
  const words = printed + problem ? problem : `It printed nothing.${whyNothing(cell)}`;
  shown.replaceChildren(printed, Object.assign(document.createElement("span"), { textContent: words }));
}

/** A cell to try an answer in is silent while that answer is still to be written. */
function whyNothing(cell) {
  const answered = editors.get(cell.querySelector(".qkv-editor")?.dataset.key.replace("try ", ""));
  const stub =
    answered?.area.closest(".qkv-answer") && answered.text.trimEnd() === answered.area.defaultValue.trimEnd();
  return stub ? " The answer above it has not been written yet." : "";
}

// ── cells of a chapter ─────────────────────────────────────────────────────────────────────────────
const built = (cell) => cell.parentElement.querySelector(":scope > .cell_output");
const reset = (cell) => cell.querySelector("[data-do=reset]");
const own = (button) => button.closest(".qkv-own");

/** Run a cell after those that it needs; what it prints stands in the place of what was built. */
async function runCell(cell) {
  const stop = cell.querySelector("[data-do=stop]");
  stop.hidden = false;
  const cells = await upTo(cell.dataset.cell);
  show(cell, await ask(cell, { cells }));
  stop.hidden = true;
  built(cell).hidden = true;
  reset(cell).hidden = false;
}

/** Put an editor in the place of a cell's code, with what was written at an earlier visit. */
async function edit(cell) {
  const key = keyOf(cell.dataset.cell);
  const { cells } = await packed();
  const source = cells.find(({ id }) => id === cell.dataset.cell).source.join("");
  const area = Object.assign(document.createElement("textarea"), { className: "qkv-editor", defaultValue: source });
  area.dataset.key = key;
  area.setAttribute("aria-label", "The code of this cell");
  area.value = load()[key]?.source ?? source;
  area.rows = area.value.split("\n").length;
  cell.prepend(area);
  cell.parentElement.querySelector(".cell_input").hidden = true;
  cell.querySelector("[data-do=edit]").hidden = true;
  reset(cell).hidden = false;
  open(area);
  area.focus();
}

/** The cell as it was built. An edited text comes back by undo in its editor, until the page is left. */
function restore(cell) {
  const editor = editors.get(keyOf(cell.dataset.cell));
  if (editor) editor.text = editor.area.defaultValue;
  cell.querySelector(".qkv-printed").hidden = true;
  built(cell).hidden = false;
  if (!editor) reset(cell).hidden = true;
}

/** Check an answer, show its card, keep what came of it, and give the report. `shown` is called after the first card. */
async function check(question, shown = () => {}) {
  const place = one(`.qkv-check[data-question="${question}"]`);
  const { area, text } = editors.get(question);
  const asked = { cells: before(place), question, name: area.dataset.name };
  let first;
  const last = await ask(place, asked, (found) => {
    first = found;
    judged(place, text, first);
    one("[role=status]", place).textContent = LOOKING;
    shown();
  });
  const isNew = !first || (last.html && last.html !== first.html); // no card: it was stopped. The same: not read out again
  const report = isNew ? last : first;
  if (isNew) judged(place, text, report);
  if (!first) shown();
  const { status, points, misconception, message } = report;
  return { status, points, misconception, message };
}

/** Show a verdict on this text, and keep it. */
function judged(place, text, { html, ...report }) {
  const { question } = place.dataset;
  const card = place.querySelector(".qkv-verdict");
  card.dataset.status = report.status;
  card.removeAttribute("data-old");
  card.replaceChildren(html ? document.createRange().createContextualFragment(html) : report.message);
  const found = { status: report.status, points: report.points };
  if (html) note(question, { checked: { source: text, ...found } });
  const isOld = editors.get(question).text !== text;
  if (html && !isOld) note(question, found);
  outdate(question, isOld);
  count();
  said(place, html ? `Checked at ${new Date().toLocaleTimeString()}.` : "");
}

/** An answer's text; with a source, set it. */
function answer(question, source) {
  const editor = editors.get(question);
  if (source !== undefined) editor.text = source;
  return editor.text;
}

/** Beside a question's button: what is known of its answer. */
const said = (place, words) => {
  place.querySelector(".qkv-last").textContent = words;
};

// ── points, and the whole notebook ─────────────────────────────────────────────────────────────────
function count() {
  const kept = load();
  const rows = all(".qkv-check").map(({ dataset: { points, question = "" } }) => ({
    most: Number(points),
    ...kept[question],
  }));
  const sum = (of) => rows.reduce((total, row) => total + (of(row) ?? 0), 0);
  const right = rows.filter(({ status }) => status === "passed").length;
  const line = document.querySelector(".qkv-points [role=status]");
  if (line)
    line.textContent =
      `On this page: ${sum((row) => row.points)} of ${sum((row) => row.most)} points; ` +
      `${right} of ${rows.length} answers are right, as last checked.`;
}

async function download() {
  const name = `${HERE.split("/")[1]}.ipynb`;
  const notebook = await packed();
  for (const [key, { area, text }] of editors) {
    const stub = area.defaultValue.trimEnd();
    const isStub = ({ cell_type, source }) => cell_type === "code" && source.join("").trimEnd() === stub;
    const cell = notebook.cells.find(isStub);
    if (cell && text.trimEnd() !== stub) cell.source = text.split(/(?<=\n)/);
    else if (!cell) throw new Error(`the notebook has no cell for ${key}`);
  }
  const file = new Blob([`${JSON.stringify(notebook, null, 1)}\n`], { type: "application/x-ipynb+json" });
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Every text of the page as it was at first; one press brings all of it back. */
function clear(button) {
  const kept = load();
  const texts = [...editors].map(([key, { text }]) => [key, text]);
  const shown = all(".qkv-verdict, .qkv-printed").map((place) => ({
    place,
    content: place.firstChild,
    isOld: "old" in place.dataset,
  }));
  for (const [key, editor] of editors) {
    editor.text = editor.area.defaultValue;
    note(key, { checked: undefined });
  }
  count();
  const undo = button.cloneNode();
  delete undo.dataset.do;
  undo.textContent = "Undo";
  undo.addEventListener("click", () => {
    for (const [key, text] of texts) editors.get(key).text = text;
    save(kept);
    for (const { place, content, isOld } of shown)
      if (place.firstChild === content) place.toggleAttribute("data-old", isOld); // nothing was run in between
    count();
    undo.remove();
    button.focus();
  });
  button.parentElement.querySelector("[data-undo]")?.remove();
  undo.dataset.undo = "";
  button.after(" ", undo);
}

// ── the page ───────────────────────────────────────────────────────────────────────────────────────
const actions = {
  run: (button) => run(button.closest(".qkv-live")).then(() => reveal(button, ".qkv-printed")),
  runCell: (button) => runCell(own(button)).then(() => reveal(button, ".qkv-printed")),
  edit: (button) => edit(own(button)),
  reset: (button) => restore(own(button)),
  check: (button) => check(button.closest(".qkv-check").dataset.question, () => reveal(button, ".qkv-verdict")),
  stop: () => python.end("Stopped."),
  download,
  clear,
};

function obstacle() {
  return window.WebAssembly && window.Worker ? "" : "This browser cannot run Python on the page";
}

for (const area of all(".qkv-editor")) open(area);
for (const button of all("article [data-do]"))
  button.addEventListener("click", () => actions[button.dataset.do](button));
if (obstacle()) {
  offer(`${obstacle()}. Download this notebook and open it in JupyterLab or Colab; “How to use” says how.`);
  for (const button of /** @type {HTMLButtonElement[]} */ (all("[data-do=run], [data-do=runCell], [data-do=check]"))) {
    button.disabled = true;
    button.title = obstacle();
  }
}
/** Where a service worker keeps what is fetched and the connection is good, Python is there before it is asked for. */
function prepare() {
  const { connection, onLine, serviceWorker } = navigator;
  if (obstacle() || !onLine || connection?.saveData || connection?.effectiveType !== "4g") return;
  const fetchAhead = () => python.fetchAhead().catch(() => {}); // or later, when it is asked for
  const whenIdle = () => requestIdleCallback(fetchAhead, { timeout: 20_000 }); // a busy page is never idle
  if (serviceWorker?.controller) whenIdle();
  else serviceWorker?.addEventListener("controllerchange", whenIdle, { once: true });
}

if (document.querySelector(".qkv-check")) prepare();
window.qkv = { ...window.qkv, answer, check };
count();
for (const place of all(".qkv-check"))
  if (load()[place.dataset.question ?? ""]?.status === "passed") said(place, "Right when last checked.");

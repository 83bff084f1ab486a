// Python on the page, in a worker: the reader answers and checks exercises, and runs and edits cells of chapters.
// `browser_python/controls.py` writes the HTML, and this script makes it work. Answers are kept in this browser alone.

import { t } from "../../src/qkv/widgets/js/words.js";
import { cardOf } from "./cards.js";
import { editorOf, textOf } from "./files.js";
import { load, note, onOtherTab, save } from "./kept.js";
import { showKeys } from "./keys.js";
import { Python } from "./python.js";

/** @import { EditorView } from "@codemirror/view" */
/** @import { Entry } from "./kept.js" */
/** @import { Answer, Request } from "./python.js" */
/** @typedef {{ area: HTMLTextAreaElement, view?: EditorView, text: string }} Editor of a textarea; `view` once it is CodeMirror */
/** @typedef {{ id: string, cell_type: string, source: string[] }} Cell */
/** @typedef {{ cells: Cell[], metadata: { left_out: string[] } }} Notebook */

const all = (/** @type {string} */ selector, from = /** @type {ParentNode} */ (document)) =>
  /** @type {HTMLElement[]} */ ([...from.querySelectorAll(selector)]);
/** Return the first element that a selector finds; throw an Error if there is none. */
const one = (/** @type {string} */ selector, from = /** @type {ParentNode} */ (document)) => {
  const [found] = all(selector, from);
  if (!found) throw new Error(`nothing on this page is ${selector}`);
  return found;
};
/** Return the part of the page, with its buttons, that an element is in.
 * @param {Element} element */
const placeOf = (element) => /** @type {HTMLElement} */ (element.closest(".qkv-live"));
const HERE = all("[data-page]")[0]?.dataset.page ?? "";
const FILES = new URL("python/", /** @type {HTMLScriptElement} */ (document.currentScript).src);
const LOOKING = t`Still comparing it with known mistakes …`;
const SECONDS = { check: 90, run: 60 }; // limits by the clock: a busy machine may take four times as long as an idle one.
// Python itself stops most answers after 80; a cell of a chapter takes at most 15 on an idle machine

/** @type {HTMLElement[]} */
let places = []; // the elements that show what Python does, beside the buttons that wait for it
const python = new Python(FILES, (words) => {
  for (const place of places) place.textContent = words;
});

// ── editors ────────────────────────────────────────────────────────────────────────────────────────
/** The editors by key: "3.1" is an answer, "try 3.1" the cell to try it in.
 * @type {Map<string, Editor>} */
const editors = new Map();
/** Return the editor of a text that the page has.
 * @param {string} key */
const editorAt = (key) => /** @type {Editor} */ (editors.get(key));
/** Return the key of a textarea.
 * @param {HTMLElement} area */
const keyIn = (area) => /** @type {string} */ (area.dataset.key);

/** Register the editor of a textarea. It is plain until the textarea gets the focus, then it is CodeMirror.
 * @param {HTMLTextAreaElement} area */
function addEditor(area) {
  const key = keyIn(area);
  /** @type {Editor} */
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
  const onChange = () => keepText(key, editor.text);
  area.addEventListener("input", () => {
    undraw(area);
    area.rows = Math.max(2, area.value.split("\n").length);
    onChange();
  });
  enhanceAtFocus(editor, onChange);
  editors.set(key, editor);
}

/** Remove the drawing of a textarea's first text: the text has changed, or an editor shows it.
 * @param {HTMLElement} area */
const undraw = (area) => area.parentElement?.querySelector(".qkv-code-drawn")?.remove();

const enhanceAtFocus = (/** @type {Editor} */ editor, /** @type {() => void} */ onChange) =>
  editor.area.addEventListener("focus", () => enhanceEditor(editor, onChange), { once: true });

/** Replace a textarea by CodeMirror; if that cannot be loaded, the textarea stays. Also start Python, which a reader
 * who writes will need.
 * @param {Editor} editor
 * @param {() => void} onChange */
async function enhanceEditor(editor, onChange) {
  if (!obstacle() && !navigator.connection?.saveData) python.start();
  try {
    const [{ enhance }, press] = await Promise.all([editorOf(FILES), pressEnd(editor.area)]);
    undraw(editor.area);
    editor.view = enhance(editor.area, onChange, press);
  } catch {
    undraw(editor.area);
    enhanceAtFocus(editor, onChange); // the network is lost: the textarea still works
  }
}

/** Wait for the end of the press that gave a textarea the focus, and return it: its cursor is at the place of the press.
 * @param {HTMLElement} area
 * @returns {Promise<MouseEvent | void>} */
function pressEnd(area) {
  return new Promise((resolve) => {
    window.addEventListener("mouseup", resolve, { once: true });
    setTimeout(() => area.matches(":active") || resolve(), 300); // a key gave the focus, without a press
  });
}

/** Keep a text that has changed. The last verdict counts only for the text that was checked.
 * @param {string} key
 * @param {string} text */
function keepText(key, text) {
  const { defaultValue } = editorAt(key).area;
  const kept = load()[key];
  if (text === (kept?.source ?? defaultValue)) return;
  const source = text === defaultValue ? undefined : text;
  const checked = kept?.checked?.source === text ? kept.checked : undefined;
  const { status, points } = checked ?? /** @type {import("./kept.js").Verdict} */ ({});
  if (!note(key, { source, status, points, imported: undefined }))
    showNotice(t`This browser does not keep your answers: download your notebook before you leave the page.`);
  markOld(key, status === undefined);
  showImported();
  showPoints();
}

/** Show the texts that another tab of this browser has changed. */
function showStored() {
  const kept = load();
  for (const [key, editor] of editors) {
    const source = kept[key]?.source ?? editor.area.defaultValue;
    if (editor.text === source) continue;
    editor.text = source;
    markOld(key, true);
  }
  showImported();
  showPoints();
}

// ── answers from a file ────────────────────────────────────────────────────────────────────────────
/** Return the keys of this page's texts that came from an imported file and that the reader has not yet accepted. */
const importedKeys = () => [...editors.keys()].filter((key) => load()[key]?.imported);

/** Say below each imported text where it came from. */
function showImported() {
  const keys = importedKeys();
  for (const [key, { area }] of editors) {
    const place = placeOf(area);
    const shown = place.querySelector(".qkv-imported");
    if (!keys.includes(key)) shown?.remove();
    else if (!shown) place.append(line("qkv-said qkv-imported", t`This text came from an imported file.`));
  }
  if (!keys.length) for (const asked of all(".qkv-accept")) asked.remove();
}

/** @param {string} className
 * @param {string} textContent */
const line = (className, textContent) => Object.assign(document.createElement("p"), { className, textContent });

/** Ask the reader, beside the button that was pressed, to read the imported texts before any of them runs.
 * @param {HTMLElement} cell
 * @returns {string} what is asked, or "" if no imported text is left */
function askToRead(cell) {
  const keys = importedKeys();
  if (!keys.length) return "";
  const words = t`Nothing was run. These texts came from an imported file: ${keys.join(", ")}. Read them first.`;
  cell.querySelector(".qkv-accept")?.remove();
  const asked = line("qkv-said qkv-accept", `${words} `);
  const accept = Object.assign(document.createElement("button"), { type: "button", className: "qkv-run" });
  accept.textContent = t`I have read them: they may run`;
  accept.addEventListener("click", () => {
    for (const key of keys) note(key, { imported: undefined });
    showImported();
  });
  asked.append(accept);
  cell.append(asked);
  return words;
}

/** Mark the verdict and the output of a text as those of an earlier text, or remove the marks.
 * @param {string} key
 * @param {boolean} isOld */
function markOld(key, isOld) {
  const card = document.querySelector(`.qkv-check[data-question="${key}"] .qkv-verdict`);
  const tried = card ? editors.get(`try ${key}`) : editors.get(key);
  const printed = tried && placeOf(tried.area).querySelector(".qkv-printed");
  for (const shown of /** @type {HTMLElement[]} */ ([card, printed].filter(Boolean))) {
    shown.dataset.before = t`From before you changed the code:`;
    shown.toggleAttribute("data-old", isOld && shown.textContent !== "");
  }
}

const showNotice = (/** @type {string} */ words) => {
  const place = document.querySelector(".qkv-offer");
  if (place) place.textContent = words;
};

// ── answers to earlier questions, as parts ─────────────────────────────────────────────────────────
/** Put the answers that this browser keeps into a cell of parts, each below the line that names its question, and say
 * which ones these are, and where the cell's stubs stay: nothing is kept, or only an unfinished answer. What was
 * imported from a file stays marked as that.
 * @param {HTMLElement} cell */
function bring(cell) {
  const key = keyIn(one(".qkv-editor", cell));
  const editor = editorAt(key);
  const kept = load();
  /** @type {string[]} */
  const brought = [];
  /** @type {string[]} */
  const missing = [];
  let imported = false;
  const parts = editor.area.defaultValue.split(/^(?=# \d+\.\d+: )/m).map((stub) => {
    const [line, question = ""] = stub.match(/^# (\d+\.\d+): .*$/m) ?? [];
    const source = kept[question]?.source;
    if (!source || source.includes("raise NotImplementedError")) {
      if (question) missing.push(question);
      return stub;
    }
    brought.push(question);
    imported ||= Boolean(kept[question]?.imported);
    return `${line}\n${source.trim()}\n\n\n`;
  });
  editor.text = `${parts.join("").trimEnd()}\n`;
  if (imported) note(key, { imported: true });
  showImported();
  const [yours, stubs] = [brought, missing].map((questions) => questions.join(", "));
  one(".qkv-said", cell).textContent = !missing.length
    ? t`All parts are your answers. Read them.`
    : brought.length
      ? t`Your answers to ${yours} are in: read them. This browser keeps no answer to ${stubs}: there the course’s empty parts stay, for you to write.`
      : t`This browser keeps no answer to ${stubs}: the course’s empty parts stay, for you to write.`;
}

// ── running and checking ───────────────────────────────────────────────────────────────────────────
/** The promise of the page's notebook.
 * @type {Promise<Notebook> | undefined} */
let fetched;

/** The error for a notebook that the network does not bring. */
class NoNotebook extends Error {
  constructor() {
    super(
      navigator.onLine
        ? t`This page’s notebook could not be loaded. Try again later.`
        : t`You are offline. Try again later.`,
    );
  }
}

/** Return the page's notebook, which is fetched once.
 * @throws {NoNotebook} */
async function loadNotebook() {
  fetched ??= textOf(FILES, `notebooks/${HERE}.ipynb`).then(JSON.parse);
  try {
    return await fetched;
  } catch {
    fetched = undefined;
    throw new NoNotebook();
  }
}

/** Return the code of a chapter's cells up to one of them: as edited on the page, or as in the notebook. The code of a
 * cell that takes too long on the page is empty.
 * @param {string} name */
async function cellsUpTo(name) {
  const { cells, metadata } = await loadNotebook();
  const code = cells.filter((cell) => cell.cell_type === "code");
  const place = code.findIndex(({ id }) => id === name);
  return code
    .slice(0, place + 1)
    .map(({ id, source }) => (metadata.left_out.includes(id) ? "" : (editors.get(keyOf(id))?.text ?? source.join(""))));
}

/** Return the key of an edited cell of this chapter.
 * @param {string} name */
const keyOf = (name) => `${HERE} ${name}`;

/** Return the code of the cells that a cell of an exercise needs: the imports, and every answer up to its question.
 * @param {HTMLElement} cell */
function cellsBefore(cell) {
  const cells = all(".qkv-cell-imports, .qkv-cell-answer");
  const earlier = cells.filter((other) => other.compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING);
  return earlier.map((other) => {
    const [area] = all(".qkv-editor", other);
    return area ? editorAt(keyIn(area)).text : (one("pre", other).textContent ?? "");
  });
}

/** @type {Promise<void>} */
let queue = Promise.resolve(); // resolves when all earlier requests are answered

/** Send a request of a cell to Python, after all earlier requests. Meanwhile the cell's Stop button is enabled
 * instead of its other button, and a text beside them shows what Python does. `onFirst` gets a first answer, if
 * there is one.
 * @param {HTMLElement} cell
 * @param {Request} request
 * @param {(first: Answer) => void} [onFirst]
 * @returns {Promise<Answer>} */
async function ask(cell, request, onFirst) {
  const message = askToRead(cell);
  if (message) return { status: "error", points: 0, misconception: null, message, problem: message };
  for (const card of all(".qkv-ended")) card.remove();
  const [run, stop] = /** @type {HTMLButtonElement[]} */ (
    all("[data-do=run], [data-do=runCell], [data-do=check], [data-do=stop]", cell)
  );
  const earlier = queue;
  let finish = () => {};
  queue = new Promise((resolve) => {
    finish = resolve;
  });
  const said = one(".qkv-said", cell);
  said.textContent = t`Waiting for what is already running …`;
  run.disabled = true;
  await earlier;
  places = [said];
  stop.disabled = false;
  try {
    return await python.ask(request, request.question ? SECONDS.check : SECONDS.run, onFirst);
  } finally {
    run.disabled = false;
    stop.disabled = true;
    finish();
  }
}

/** @param {HTMLElement} cell */
async function run(cell) {
  const { text } = editorAt(keyIn(one(".qkv-editor", cell)));
  showOutput(cell, await ask(cell, { cells: [...cellsBefore(cell), text] }));
}

/** Scroll to the result of a press on a button, unless the button has left the window.
 * @param {HTMLElement} button
 * @param {string} selector */
function reveal(button, selector) {
  const shown = one(selector, placeOf(button));
  const { top, height } = shown.getBoundingClientRect();
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const place = button.getBoundingClientRect();
  if (place.bottom > 0 && place.top < innerHeight && top + height > innerHeight)
    shown.scrollIntoView({ block: height < innerHeight ? "end" : "start", behavior: still ? "instant" : "smooth" });
}

/** Return a card with a message of the page's own: why there is no verdict or output. The next run removes it.
 * @param {string} message */
function messageCard(message) {
  const card = Object.assign(document.createElement("section"), { className: "qkv-card qkv-ended" });
  card.dataset.status = "error";
  const [, title = message, rest = ""] = message.match(/^(.*?(?:[.:?] |[。：？]))(.*)$/s) ?? [];
  card.append(line("qkv-card-status", title.trim()), line("", rest));
  return card;
}

/** Show what a cell printed, and beside its buttons which cells ran before it. From now on Python can be restarted.
 * @param {HTMLElement} cell
 * @param {Answer} answer */
function showOutput(cell, { printed = "", problem, above = 0, isNew = false, hasEnded = false }) {
  const ran = above === 1 ? t`Ran the cell above first.` : above ? t`Ran the ${above} cells above first.` : "";
  const why = isNew ? t`Python was started anew, because it had used much memory. ` : "";
  one(".qkv-said", cell).textContent = why + ran;
  one("[data-do=restart]", cell).hidden = false;
  const shown = one(".qkv-printed", cell);
  shown.hidden = hasEnded;
  if (hasEnded) return shown.after(messageCard(problem));
  shown.removeAttribute("data-old");
  shown.dataset.name = t`Result`;
  const words = printed + problem ? problem : nothing(cell);
  shown.replaceChildren(
    ...lines(shown, printed),
    Object.assign(document.createElement("span"), { textContent: words }),
  );
}

/** @type {WeakMap<HTMLElement, string[]>} */
const printedBefore = new WeakMap();

/** Return what a cell has printed, line by line. A line that is not as it was at the run before is marked.
 * @param {HTMLElement} shown
 * @param {string} printed */
function lines(shown, printed) {
  const now = printed.split(/(?<=\n)/);
  const before = printedBefore.get(shown);
  printedBefore.set(shown, now);
  return now.map((text, i) =>
    before && text !== before[i] ? Object.assign(document.createElement("mark"), { textContent: text }) : text,
  );
}

/** Return what is said of a cell without output. Perhaps the answer that it tries has not been written yet.
 * @param {HTMLElement} cell */
function nothing(cell) {
  const answered = editors.get(all(".qkv-editor", cell)[0]?.dataset.key?.replace("try ", "") ?? "");
  const stub =
    answered?.area.closest(".qkv-answer") && answered.text.trimEnd() === answered.area.defaultValue.trimEnd();
  return stub ? t`It printed nothing. The answer above it has not been written yet.` : t`It printed nothing.`;
}

// ── cells of a chapter ─────────────────────────────────────────────────────────────────────────────
/** Return what a cell of a chapter is in: it also has the code and the output of the site's build.
 * @param {HTMLElement} cell */
const aroundCell = (cell) => /** @type {HTMLElement} */ (cell.parentElement);
const builtOutput = (/** @type {HTMLElement} */ cell) => one(":scope > .cell_output", aroundCell(cell));
const resetButton = (/** @type {HTMLElement} */ cell) => one("[data-do=reset]", cell);
/** Return the name of a cell of a chapter.
 * @param {HTMLElement} cell */
const nameIn = (cell) => /** @type {string} */ (cell.dataset.cell);

/** Run a cell of a chapter after the cells before it. Its output replaces the one from the site's build.
 * @param {HTMLElement} cell */
async function runCell(cell) {
  const cells = await cellsUpTo(nameIn(cell));
  const stop = one("[data-do=stop]", cell);
  stop.hidden = false;
  showOutput(cell, await ask(cell, { cells }));
  stop.hidden = true;
  builtOutput(cell).hidden = true;
  resetButton(cell).hidden = false;
}

/** Replace a cell's code by an editor, with the text of an earlier visit.
 * @param {HTMLElement} cell */
async function edit(cell) {
  const key = keyOf(nameIn(cell));
  const { cells } = await loadNotebook();
  const source = /** @type {Cell} */ (cells.find(({ id }) => id === nameIn(cell))).source.join("");
  const area = Object.assign(document.createElement("textarea"), { className: "qkv-editor", defaultValue: source });
  area.dataset.key = key;
  area.setAttribute("aria-label", t`The code of this cell`);
  area.value = load()[key]?.source ?? source;
  area.rows = area.value.split("\n").length;
  cell.prepend(area);
  one(".cell_input", aroundCell(cell)).hidden = true;
  one("[data-do=edit]", cell).hidden = true;
  resetButton(cell).hidden = false;
  addEditor(area);
  showImported();
  area.focus();
}

/** Reset a cell to its code and output of the site's build. Undo in the editor brings an edited text back.
 * @param {HTMLElement} cell */
function reset(cell) {
  const editor = editors.get(keyOf(nameIn(cell)));
  if (editor) editor.text = editor.area.defaultValue;
  one(".qkv-printed", cell).hidden = true;
  builtOutput(cell).hidden = false;
  if (!editor) resetButton(cell).hidden = true;
}

/** Check an answer, show and keep the verdict, and return the report. `onShown` is called after the first verdict.
 * @param {string} question */
async function check(question, onShown = () => {}) {
  const place = one(`.qkv-check[data-question="${question}"]`);
  const { area, text } = editorAt(question);
  const models = place.dataset.models !== undefined; // whether a trained model runs with the answer
  const request = { cells: cellsBefore(place), question, name: area.dataset.name, models };
  let first = /** @type {Answer | undefined} */ (undefined);
  const last = await ask(place, request, (found) => {
    first = found;
    showVerdict(place, text, found);
    one("[role=status]", place).textContent = LOOKING;
    onShown();
  });
  // Without html the check was stopped. The same verdict is not shown again, so that a screen reader does not repeat
  // it.
  const isNew = !first || (last.html && last.html !== first.html);
  const report = first && !isNew ? first : last;
  if (isNew) showVerdict(place, text, report);
  if (!first) onShown();
  const { status, points, misconception, message } = report;
  return { status, points, misconception, message };
}

/** Show the verdict on a text, and keep it.
 * @param {HTMLElement} place
 * @param {string} text
 * @param {Answer} answer */
function showVerdict(place, text, { html, ...report }) {
  const question = /** @type {string} */ (place.dataset.question);
  const card = one(".qkv-verdict", place);
  card.dataset.status = report.status;
  card.removeAttribute("data-old");
  card.replaceChildren(html ? cardOf(html) : messageCard(report.message));
  const found = { status: report.status, points: report.points };
  showStored(); // another tab may have another answer meanwhile: the verdict is not on that one
  if (html) note(question, { checked: { source: text, ...found } });
  const isOld = editorAt(question).text !== text;
  if (html && !isOld) note(question, found);
  markOld(question, isOld);
  showPoints();
  if (report.status === "passed" && !isOld) card.append(nextStep(question));
  document.dispatchEvent(new Event("qkv-checked")); // progress.js ticks an exercise whose answers are all right
  showLast(place, html ? t`Checked at ${new Date().toLocaleTimeString()}.` : "");
}

/** Return what a right answer leads to: the next question without one, or the map of the course.
 * @param {string} question */
function nextStep(question) {
  const kept = load();
  const checks = all(".qkv-check");
  const left = checks.filter(({ dataset }) => kept[dataset.question ?? ""]?.status !== "passed");
  const said = left.length
    ? t`${checks.length - left.length} of ${checks.length} answers on this page are right. Next: `
    : t`All ${checks.length} answers on this page are right. `;
  const section = left[0]?.closest("section");
  const link = document.createElement("a");
  link.href = section ? `#${section.id}` : `${document.documentElement.dataset.content_root}book/map.html`;
  link.textContent = section?.querySelector("h2")?.firstChild?.textContent ?? t`See your way through the course`;
  const step = line("qkv-next", "");
  step.append(dotsOf(checks, left, question), said, link);
  return step;
}

/** Return a dot for each question of the page: full if its answer is right. That of the new one fills visibly.
 * @param {HTMLElement[]} checks
 * @param {HTMLElement[]} left
 * @param {string} question */
function dotsOf(checks, left, question) {
  const dots = Object.assign(document.createElement("span"), { className: "qkv-dots", ariaHidden: "true" });
  for (const check of checks) {
    const dot = document.createElement("i");
    dot.classList.toggle("qkv-full", !left.includes(check));
    dot.classList.toggle("qkv-new", check.dataset.question === question);
    dots.append(dot);
  }
  return dots;
}

/** Return the text of an answer; with a `source`, set it first.
 * @param {string} question
 * @param {string} [source] */
function answer(question, source) {
  const editor = editorAt(question);
  if (source !== undefined) editor.text = source;
  return editor.text;
}

/** Show beside a question's button when its answer was last checked, or that it was right then.
 * @param {HTMLElement} place
 * @param {string} words */
const showLast = (place, words) => {
  one(".qkv-last", place).textContent = words;
};

// ── points, and the whole notebook ─────────────────────────────────────────────────────────────────
function showPoints() {
  const kept = load();
  const rows = all(".qkv-check").map((place) => {
    const row = { most: Number(place.dataset.points), ...kept[place.dataset.question ?? ""] };
    place.closest("section")?.classList.toggle("qkv-right", row.status === "passed");
    return row;
  });
  const sum = (/** @type {(row: Entry & { most: number }) => number | undefined} */ of) =>
    rows.reduce((total, row) => total + (of(row) ?? 0), 0);
  const right = rows.filter(({ status }) => status === "passed").length;
  const line = document.querySelector(".qkv-points [role=status]");
  const [points, most] = [sum((row) => row.points), sum((row) => row.most)];
  if (line)
    line.textContent = t`On this page: ${points} of ${most} points; ${right} of ${rows.length} answers are right, as last checked.`;
}

async function download() {
  const name = `${HERE.split("/")[1]}.ipynb`;
  const notebook = await loadNotebook();
  for (const [key, { area, text }] of editors) {
    const stub = area.defaultValue.trimEnd();
    const isStub = (/** @type {Cell} */ { cell_type, source }) =>
      cell_type === "code" && source.join("").trimEnd() === stub;
    const cell = notebook.cells.find(isStub);
    if (cell && text.trimEnd() !== stub) cell.source = text.split(/(?<=\n)/);
    else if (!cell) throw new Error(`the notebook has no cell for ${key}`);
  }
  const file = new Blob([`${JSON.stringify(notebook, null, 1)}\n`], { type: "application/x-ipynb+json" });
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Reset every text of the page. An Undo button brings all of them back.
 * @param {HTMLElement} button */
function clear(button) {
  const kept = load();
  const texts = [...editors].map(([key, { text }]) => /** @type {const} */ ([key, text]));
  const shown = all(".qkv-verdict, .qkv-printed").map((place) => ({
    place,
    content: place.firstChild,
    isOld: "old" in place.dataset,
  }));
  for (const [key, editor] of editors) {
    editor.text = editor.area.defaultValue;
    note(key, { checked: undefined });
  }
  showPoints();
  const undo = /** @type {HTMLElement} */ (button.cloneNode());
  delete undo.dataset.do;
  undo.textContent = t`Undo`;
  undo.addEventListener("click", () => {
    for (const [key, text] of texts) editorAt(key).text = text;
    save(kept);
    for (const { place, content, isOld } of shown)
      if (place.firstChild === content) place.toggleAttribute("data-old", isOld); // nothing was run in between
    showPoints();
    undo.remove();
    button.focus();
  });
  button.parentElement?.querySelector("[data-undo]")?.remove();
  undo.dataset.undo = "";
  button.after(" ", undo);
}

// ── the page ───────────────────────────────────────────────────────────────────────────────────────
/** What each button does.
 * @type {Record<string, (button: HTMLElement) => unknown>} */
const actions = {
  run: (button) => run(placeOf(button)).then(() => reveal(button, ".qkv-printed")),
  runCell: (button) => runCell(placeOf(button)).then(() => reveal(button, ".qkv-printed")),
  edit: (button) => edit(placeOf(button)),
  reset: (button) => reset(placeOf(button)),
  check: (button) =>
    check(/** @type {string} */ (placeOf(button).dataset.question), () => reveal(button, ".qkv-verdict")),
  bring: (button) => bring(placeOf(button)),
  stop: () => python.end(t`Stopped. What the cells had made is gone: the next Run begins with the cells above it.`),
  restart: (button) => {
    python.end(t`Restarted.`);
    one(".qkv-said", button.parentElement ?? undefined).textContent = t`Restarted: no cell has run.`;
  },
  download,
  clear,
};

/** Do what a button says, and say below it if that needs the page's notebook, which cannot be loaded.
 * @param {HTMLElement} button */
async function act(button) {
  const place = placeOf(button);
  place.querySelector(".qkv-lost")?.remove();
  try {
    await actions[/** @type {string} */ (button.dataset.do)](button);
  } catch (problem) {
    if (!(problem instanceof NoNotebook)) throw problem;
    const said = line("qkv-said qkv-lost", problem.message);
    said.setAttribute("role", "status");
    place.append(said);
  }
}

/** Return why Python cannot run on the page, or "" if it can. */
function obstacle() {
  return window.WebAssembly && window.Worker ? "" : t`This browser cannot run Python on the page.`;
}

// ── keys ───────────────────────────────────────────────────────────────────────────────────────────
/** Return the place of the editor that has the focus. */
const written = () => /** @type {HTMLElement} */ (document.activeElement?.closest(".qkv-live"));

/** Return the button that checks the answer, or runs the cell, that is being written. */
function ownButton() {
  const { question } = written().dataset;
  const place = question ? one(`.qkv-check[data-question="${question}"]`) : written();
  return /** @type {HTMLButtonElement} */ (one("[data-do=check], [data-do=run], [data-do=runCell]", place));
}

/** Run or check what is being written, at Shift+Enter or Ctrl+Enter, as in notebooks.
 * @param {KeyboardEvent} event */
function submit(event) {
  if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey || event.metaKey)) return;
  if (!(/** @type {Element} */ (event.target).closest(".qkv-live :is(.cm-editor, textarea)"))) return;
  event.preventDefault();
  event.stopPropagation(); // the editor would insert a line
  ownButton().click();
}

/** Do what a key of the row of keys says, in the editor that has the focus.
 * @param {string} key */
function press(key) {
  const { area, view } = editorAt(keyIn(one(".qkv-editor", written())));
  if (view) return globalThis.qkvEditor.press(view, key);
  if (key === "↶") return document.execCommand("undo");
  area.setRangeText(key === "↹" ? "    " : key, area.selectionStart, area.selectionEnd, "end");
  area.dispatchEvent(new Event("input"));
}

/** Scroll to the cursor of the editor that has the focus, if one has it. */
function follow() {
  const place = written();
  if (place) editorAt(keyIn(one(".qkv-editor", place))).view?.dispatch({ scrollIntoView: true });
}

for (const area of /** @type {HTMLTextAreaElement[]} */ (all(".qkv-editor"))) addEditor(area);
showKeys({ press, button: ownButton, follow });
document.addEventListener("keydown", submit, { capture: true });
for (const button of all("article [data-do]")) button.addEventListener("click", () => act(button));
if (obstacle()) {
  showNotice(
    HERE.startsWith("exercises/")
      ? t`This browser cannot run Python on the page. Download this notebook and open it in JupyterLab or Colab; “How to use” says how.`
      : t`This browser cannot run Python on the page. Open the course’s notebooks in JupyterLab or Colab; “How to use” says how.`,
  );
  for (const button of /** @type {HTMLButtonElement[]} */ (all("[data-do=run], [data-do=runCell], [data-do=check]"))) {
    button.disabled = true;
    one(".qkv-said", button.parentElement ?? undefined).textContent = obstacle();
  }
}
/** Fetch Python's files ahead, if a service worker keeps them and the connection is good. */
function prepare() {
  const { connection, onLine, serviceWorker } = navigator;
  if (obstacle() || !onLine || connection?.saveData || connection?.effectiveType !== "4g") return;
  const fetchAhead = () => python.fetchAhead().catch(() => {}); // they are fetched again when Python starts
  const whenIdle = () => requestIdleCallback(fetchAhead, { timeout: 20_000 }); // a busy page is never idle
  if (serviceWorker?.controller) whenIdle();
  else serviceWorker?.addEventListener("controllerchange", whenIdle, { once: true });
}

if (document.querySelector(".qkv-check")) prepare();
window.qkv = { ...window.qkv, answer, check };
onOtherTab(showStored);
showImported();
showPoints();
for (const place of all(".qkv-check"))
  if (load()[place.dataset.question ?? ""]?.status === "passed") showLast(place, t`Right when last checked.`);

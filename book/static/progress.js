// The pages that the reader has visited and read, kept in this browser alone: one entry of localStorage, sent nowhere.
// The map of the course exports, imports and clears it, together with what other scripts keep: guesses and answers.

import { t } from "../../src/qkv/widgets/js/words.js";

(() => {
  /** @typedef {{ visited?: string, read?: string }} Days such as { visited: "2030-01-31" } */
  /** @typedef {Record<string, Days>} Pages */
  /** @typedef {{ key: string, holds: string, name: RegExp, fits: (entry: any) => boolean }} Other
   * an entry of localStorage that another script writes: { format: key, version: 1, [holds]: entries by name } */
  /** @typedef {Record<string, any>} Entries */

  const KEY = "qkv-progress";
  const FORMAT = { format: "qkv-progress", version: 1 };
  const TRACKED = /^(chapters|chapters\/deeper|exercises)\/[\w-]+$/;
  const LEAST = 10_000; // ms for which a chapter has to be open before its end counts as read
  const VERDICTS = ["passed", "failed", "error", "not attempted"];
  const MOST = 10; // points of one question
  const DAY = /^\d{4}-\d{2}-\d{2}$/;

  /** @type {Other} */
  const GUESSES = {
    key: "qkv-predictions",
    holds: "guesses",
    name: /^chapters\/[\w/-]+#[\w-]+$/,
    fits: ({ isRight, isSure }) => typeof isRight === "boolean" && typeof isSure === "boolean",
  };
  /** @type {Other} */
  const ANSWERS = {
    key: "qkv-answers",
    holds: "answers",
    name: /^((try )?\d+\.\d+|chapters\/[\w/-]+ [\w-]+)$/, // "3.1", "try 3.1", or a chapter and a cell of it
    fits: ({ source, status, points = 0 }) => {
      if (![undefined, ...VERDICTS].includes(status) || !Number.isInteger(points) || points < 0 || points > MOST)
        return false;
      // Points are for a text that passed.
      return typeof source === "string" ? !points || status === "passed" : source === undefined && !points;
    },
  };
  const OTHERS = [GUESSES, ANSWERS];

  /** @param {string} selector
   * @param {ParentNode} [from]
   * @returns {NodeListOf<HTMLElement>} */
  const all = (selector, from = document) => from.querySelectorAll(selector);
  const here = all("[data-page]")[0]?.dataset.page ?? "";
  const [map] = all(".qkv-progress-map");
  const today = () => new Date().toISOString().slice(0, 10);

  /** Read the pages, each with the days on which it was visited and read, from a text that was kept or exported.
   * @param {string} text
   * @returns {Pages} */
  function pagesOf(text) {
    const { format, version, pages } = JSON.parse(text);
    if (format !== FORMAT.format || version !== FORMAT.version)
      throw new Error(t`The file cannot be read: it is not a file of this course.`);
    /** @param {[string, any]} entry */
    const isDay = ([what, day]) => ["visited", "read"].includes(what) && DAY.test(day);
    return Object.fromEntries(
      Object.entries(pages)
        .filter(([page, days]) => TRACKED.test(page) && days && typeof days === "object")
        .map(([page, days]) => [page, Object.fromEntries(Object.entries(days).filter(isDay))]),
    );
  }

  /** Read the valid entries of another script from a text.
   * @param {Other} other
   * @param {string} text
   * @returns {Entries} */
  function entriesOf({ key, holds, name, fits }, text) {
    try {
      const { format, version, [holds]: entries } = JSON.parse(text);
      if (format !== key || version !== 1) return {};
      return Object.fromEntries(Object.entries(entries).filter(([id, entry]) => name.test(id) && entry && fits(entry)));
    } catch {
      return {}; // nothing is there, or something else
    }
  }

  /** @param {Other} other */
  function loadOther(other) {
    try {
      return entriesOf(other, localStorage.getItem(other.key) ?? "");
    } catch {
      return {}; // storage is blocked
    }
  }

  /** @param {Other} other
   * @param {Entries} entries */
  function saveOther({ key, holds }, entries) {
    try {
      if (Object.keys(entries).length)
        localStorage.setItem(key, JSON.stringify({ format: key, version: 1, [holds]: entries }));
      else localStorage.removeItem(key);
    } catch {
      // storage is blocked: save returns false
    }
  }

  /** Return the texts of imported answers. Somebody else may have written one: its page runs it only after the reader has
   * accepted it there. Its verdict is left out, because it was not checked here.
   * @param {Entries} answers
   * @returns {Entries} */
  function textsOf(answers) {
    const written = Object.entries(answers).filter(([, { source }]) => source);
    return Object.fromEntries(written.map(([id, { source }]) => [id, { source, imported: true }]));
  }

  /** Return everything that is kept, as the text of one file. */
  function everything() {
    const others = OTHERS.map((other) => [
      other.key,
      { format: other.key, version: 1, [other.holds]: loadOther(other) },
    ]);
    return JSON.stringify({ ...FORMAT, pages: load(), ...Object.fromEntries(others) }, null, 2);
  }

  /** @param {Pages} pages */
  const written = (pages) => JSON.stringify({ ...FORMAT, pages }, null, 2);

  function load() {
    try {
      return pagesOf(localStorage.getItem(KEY) ?? written({}));
    } catch {
      return {}; // storage is blocked, or holds something else
    }
  }

  /** Keep the pages, and return whether the browser stored them.
   * @param {Pages} pages */
  function save(pages) {
    try {
      if (Object.keys(pages).length) localStorage.setItem(KEY, written(pages));
      else localStorage.removeItem(KEY);
      return true;
    } catch {
      return false;
    }
  }

  /** Keep the day on which a page was visited or read, or forget it; return whether the browser stored the change.
   * @param {string} page
   * @param {keyof Days} what
   * @param {string | false} day */
  function note(page, what, day) {
    const pages = load();
    pages[page] = { ...pages[page], [what]: day };
    if (!day) delete pages[page][what];
    const isKept = save(pages);
    show();
    return isKept;
  }

  // ---- what is shown

  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  /** Return the name of the page that a link leads to, or "" for one outside the course.
   * @param {HTMLAnchorElement} link */
  const pageOf = (link) => {
    const { origin, pathname } = new URL(link.href);
    const inside = origin === root.origin && pathname.startsWith(root.pathname);
    return inside ? pathname.slice(root.pathname.length).replace(/\.html$/, "") : "";
  };

  function show() {
    const pages = load();
    /** @type {NodeListOf<HTMLAnchorElement>} */
    const links = document.querySelectorAll(".sidebar-tree a");
    for (const link of links) {
      link.classList.toggle("qkv-read", Boolean(pages[pageOf(link)]?.read));
      link.dataset.said = t`read`; // beside the tick
    }
    for (const tile of all("[data-tile]")) showRing(tile, pages);
    if (map) showMap(pages);
  }

  /** Return the answers of a set of exercises that were checked on its page: their points, and how many are right.
   * @param {string} page */
  function standing(page) {
    const chapter = Number(page.match(/^exercises\/(\d+)_/)?.[1]);
    const answers = Object.entries(loadOther(ANSWERS)).filter(([id]) => Number.parseInt(id, 10) === chapter);
    const right = answers.filter(([, { status }]) => status === "passed").length;
    return { right, points: answers.reduce((sum, [, { points = 0 }]) => sum + points, 0) };
  }

  /** Fill the ring of a chapter on the map: half of it for the chapter, half for the right answers to its exercises.
   * @param {HTMLElement} tile
   * @param {Pages} pages */
  function showRing({ dataset: { tile = "", exercise }, firstElementChild: link }, pages) {
    const ring = /** @type {SVGElement} */ (link?.querySelector(".qkv-ring"));
    const parts = [];
    const said = [];
    if (tile !== exercise) {
      const isRead = Boolean(pages[tile]?.read);
      parts.push(Number(isRead));
      if (isRead) said.push(t`read`);
    }
    if (exercise) {
      const questions = Number(all(`[data-progress="${exercise}"]`)[0]?.dataset.questions);
      const right = pages[exercise]?.read ? questions : standing(exercise).right;
      parts.push(questions ? Math.min(1, right / questions) : 0);
      if (right) said.push(t`${right} of ${questions} answers right`);
    }
    const share = parts.reduce((sum, part) => sum + part, 0) / parts.length;
    ring.style.setProperty("--qkv-share", `${share}`);
    ring.classList.toggle("qkv-begun", share > 0);
    ring.classList.toggle("qkv-full", share === 1);
    if (share) ring.setAttribute("role", "img");
    ring.setAttribute("aria-hidden", `${!share}`);
    ring.setAttribute("aria-label", said.join(t`, `));
  }

  /** Tick a set of exercises once all of its answers are right. The reader may untick it.
   * @param {string} page
   * @param {number} questions */
  function tickDone(page, questions) {
    if (questions && standing(page).right === questions && !load()[page]?.read) note(page, "read", today());
  }

  /** Tick all sets of exercises on the map whose answers are right. */
  function tickAll() {
    for (const { dataset } of all("[data-questions]", map)) tickDone(dataset.progress ?? "", Number(dataset.questions));
  }

  /** @param {Pages} pages */
  function showMap(pages) {
    const boxes = /** @type {HTMLInputElement[]} */ ([...all("[data-progress]", map)]);
    for (const box of boxes) box.checked = Boolean(pages[box.dataset.progress ?? ""]?.read);
    for (const place of all("[data-visited]", map)) {
      const page = place.dataset.visited ?? "";
      const { visited, read } = pages[page] ?? {};
      const { points, right } = standing(page);
      const questions = boxes.find((box) => box.dataset.progress === page)?.dataset.questions;
      const day = read ? t`, ${read}` : visited ? t`, opened ${visited}` : "";
      place.textContent = points ? day + t`, ${points} points, ${right} of ${questions} answers right` : day;
    }
    /** @param {string} kind */
    const countOf = (kind) => {
      const ofKind = boxes.filter((box) => box.dataset.progress?.startsWith(kind));
      return [ofKind.filter((box) => box.checked).length, ofKind.length];
    };
    const [[read, chapters], [done, sets]] = [countOf("chapters"), countOf("exercises")];
    say(
      sets
        ? t`You have read ${read} of ${chapters} chapters and done ${done} of ${sets} sets of exercises.`
        : t`You have read ${read} of ${chapters} chapters.`,
    );
  }

  /** @param {string} words */
  function say(words) {
    all("[role=status]", map)[0].textContent = words;
  }

  // ---- what the reader does with it

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([everything()], { type: "application/json" }));
    link.download = "qkv-progress.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** Add the contents of an exported file. Of two days the earlier one is kept; entries of this browser are not
   * replaced.
   * @param {File} file */
  async function take(file) {
    try {
      const pages = load();
      const text = await file.text();
      for (const [page, days] of Object.entries(pagesOf(text))) {
        pages[page] ??= {};
        for (const what of /** @type {(keyof Days)[]} */ (Object.keys(days))) {
          const [known, day] = [pages[page][what], days[what]];
          if (!known || (day && day < known)) pages[page][what] = day;
        }
      }
      const imported = JSON.parse(text);
      for (const other of OTHERS) {
        const entries = entriesOf(other, JSON.stringify(imported[other.key] ?? null));
        const taken = other === ANSWERS ? textsOf(entries) : entries;
        saveOther(other, { ...taken, ...loadOther(other) });
      }
      if (!save(pages)) throw new Error(t`The file cannot be read: this browser stores nothing.`);
      show();
      tickAll();
    } catch (problem) {
      const isOurs = problem instanceof Error && problem.constructor === Error; // and not that of a parser
      const { message } = /** @type {Error} */ (problem);
      say(isOurs ? message : t`The file cannot be read: ${message}.`);
    }
  }

  /** @param {HTMLElement} button */
  function clear(button) {
    const before = load();
    const entries = OTHERS.map(loadOther);
    save({});
    for (const other of OTHERS) saveOther(other, {});
    show();
    say(t`Cleared. Nothing is kept.`);
    const undo = /** @type {HTMLElement} */ (button.cloneNode());
    delete undo.dataset.do;
    undo.textContent = t`Undo`;
    undo.addEventListener("click", () => {
      save(before);
      OTHERS.forEach((other, i) => {
        saveOther(other, entries[i]);
      });
      undo.remove();
      show();
      button.focus();
    });
    button.parentElement?.querySelector("[data-undo]")?.remove();
    undo.dataset.undo = "";
    button.after(" ", undo);
  }

  if (map) {
    tickAll();
    const file = /** @type {HTMLInputElement} */ (map.querySelector("input[type=file]"));
    file.addEventListener("change", async () => {
      if (file.files?.length) await take(file.files[0]);
      file.value = "";
    });
    /** @type {Record<string, (button: HTMLElement) => void>} */
    const actions = { export: download, import: () => file.click(), clear };
    for (const button of all("button[data-do]", map)) {
      button.addEventListener("click", () => actions[button.dataset.do ?? ""](button));
    }
    map.addEventListener("change", ({ target }) => {
      const { dataset, checked } = /** @type {HTMLInputElement} */ (target);
      if (!dataset.progress) return;
      if (!note(dataset.progress, "read", checked && today())) say(t`This browser stores nothing.`);
    });
  }

  if (TRACKED.test(here)) {
    const { visited } = load()[here] ?? {};
    if (!visited) note(here, "visited", today());
  }
  // A chapter counts as read once it has been open for LEAST and its end has come into the window. Exercises count as done
  // once all answers are right; the reader may also tick them.
  const end = document.querySelector("footer");
  if (end && here.startsWith("chapters/") && !load()[here]?.read) {
    let inSight = false;
    const check = () => {
      if (!inSight || performance.now() < LEAST) return;
      observer.disconnect();
      inSight = false;
      note(here, "read", today());
    };
    const observer = new IntersectionObserver(([{ isIntersecting }]) => {
      inSight = isIntersecting;
      check();
    });
    observer.observe(end);
    setTimeout(check, LEAST + 50);
  }
  document.addEventListener("qkv-checked", () => tickDone(here, all(".qkv-check").length)); // from python-page.js
  addEventListener("storage", ({ key }) => {
    if (key === KEY) show();
  });
  show();
})();

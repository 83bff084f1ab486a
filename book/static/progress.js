// What the reader has visited and read, in this browser alone: one entry of localStorage, which nothing sends anywhere.
// The map exports, imports and clears with it what other pages keep: guesses at predictions, and answers to exercises.

(() => {
  const KEY = "qkv-progress";
  const FORMAT = { format: "qkv-progress", version: 1 };
  const TRACKED = /^(chapters|chapters\/deeper|exercises)\/[\w-]+$/;
  const LEAST = 10_000; // ms before the end of a chapter counts as reached by reading
  const DAY = /^\d{4}-\d{2}-\d{2}$/;

  const isGuess = ({ isRight, isSure }) => typeof isRight === "boolean" && typeof isSure === "boolean";
  const isAnswer = ({ source = "", status = "", points = 0 }) =>
    typeof source === "string" && typeof status === "string" && typeof points === "number";
  const OTHERS = [
    { key: "qkv-predictions", holds: "guesses", name: /^chapters\/[\w/-]+#[\w-]+$/, fits: isGuess },
    { key: "qkv-answers", holds: "answers", name: /^(try )?\d+\.\d+$/, fits: isAnswer },
  ];

  const here = document.querySelector("[data-page]")?.dataset.page ?? "";
  const map = document.querySelector(".qkv-progress-map");
  const today = () => new Date().toISOString().slice(0, 10);

  /** The pages of a text that was kept or imported, each with the days on which it was visited and read. */
  function pagesOf(text) {
    const { format, version, pages } = JSON.parse(text);
    if (format !== FORMAT.format || version !== FORMAT.version) throw new Error("it is not a file of this course");
    const clean = ([page, days]) => [page, Object.fromEntries(Object.entries(days).filter(known))];
    const known = ([what, day]) => ["visited", "read"].includes(what) && DAY.test(day);
    return Object.fromEntries(
      Object.entries(pages)
        .filter(([page, days]) => TRACKED.test(page) && days && typeof days === "object")
        .map(clean),
    );
  }

  /** What another script keeps, or a file holds of it, as far as it is understood. */
  function entriesOf({ key, holds, name, fits }, text) {
    try {
      const { format, version, [holds]: entries } = JSON.parse(text);
      if (format !== key || version !== 1) return {};
      return Object.fromEntries(Object.entries(entries).filter(([id, entry]) => name.test(id) && entry && fits(entry)));
    } catch {
      return {}; // nothing is there, or something else
    }
  }

  function loadOther(other) {
    try {
      return entriesOf(other, localStorage.getItem(other.key));
    } catch {
      return {}; // storage is blocked
    }
  }

  function saveOther({ key, holds }, entries) {
    try {
      if (Object.keys(entries).length)
        localStorage.setItem(key, JSON.stringify({ format: key, version: 1, [holds]: entries }));
      else localStorage.removeItem(key);
    } catch {
      // storage is blocked: save says so
    }
  }

  /** All that is kept, as one text. */
  function everything() {
    const others = OTHERS.map((other) => [
      other.key,
      { format: other.key, version: 1, [other.holds]: loadOther(other) },
    ]);
    return JSON.stringify({ ...FORMAT, pages: load(), ...Object.fromEntries(others) }, null, 2);
  }

  const written = (pages) => JSON.stringify({ ...FORMAT, pages }, null, 2);

  function load() {
    try {
      return pagesOf(localStorage.getItem(KEY) ?? written({}));
    } catch {
      return {}; // storage is blocked, or holds something else
    }
  }

  /** Keep the pages; whether the browser let us. */
  function save(pages) {
    try {
      if (Object.keys(pages).length) localStorage.setItem(KEY, written(pages));
      else localStorage.removeItem(KEY);
      return true;
    } catch {
      return false;
    }
  }

  function note(page, what, day) {
    const pages = load();
    pages[page] = { ...pages[page], [what]: day };
    if (!day) delete pages[page][what];
    const kept = save(pages);
    show();
    return kept;
  }

  // ---- what is shown

  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href);
  const pageOf = (link) => {
    const { origin, pathname } = new URL(link.href);
    const inside = origin === root.origin && pathname.startsWith(root.pathname);
    return inside ? pathname.slice(root.pathname.length).replace(/\.html$/, "") : "";
  };

  function show() {
    const pages = load();
    for (const link of document.querySelectorAll(".sidebar-tree a, .qkv-flow a")) {
      link.classList.toggle("qkv-read", Boolean(pages[pageOf(link)]?.read));
    }
    if (map) showMap(pages);
  }

  /** The points that the answers of an exercise's page got when they were checked last there. */
  function pointsOf(page) {
    const chapter = Number(page.match(/^exercises\/(\d+)_/)?.[1]);
    const answers = Object.entries(loadOther(OTHERS[1])).filter(([id]) => Number.parseInt(id, 10) === chapter);
    return answers.reduce((sum, [, { points = 0 }]) => sum + points, 0);
  }

  function showMap(pages) {
    const boxes = [...map.querySelectorAll("[data-progress]")];
    for (const box of boxes) box.checked = Boolean(pages[box.dataset.progress]?.read);
    for (const place of map.querySelectorAll("[data-visited]")) {
      const { visited, read } = pages[place.dataset.visited] ?? {};
      const points = pointsOf(place.dataset.visited);
      const day = read ? `, ${read}` : visited ? `, opened ${visited}` : "";
      place.textContent = points ? `${day}, ${points} points on the page` : day;
    }
    const of = (kind) => {
      const all = boxes.filter((box) => box.dataset.progress.startsWith(kind));
      return `${all.filter((box) => box.checked).length} of ${all.length}`;
    };
    say(`You have read ${of("chapters")} chapters and done ${of("exercises")} sets of exercises.`);
  }

  function say(words) {
    map.querySelector("[role=status]").textContent = words;
  }

  // ---- what the reader does with it

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([everything()], { type: "application/json" }));
    link.download = "qkv-progress.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /** Add what a file holds to what is here; the earlier day of two counts, and what was written here stays. */
  async function take(file) {
    try {
      const pages = load();
      const text = await file.text();
      for (const [page, days] of Object.entries(pagesOf(text))) {
        pages[page] ??= {};
        for (const [what, day] of Object.entries(days)) {
          if (!pages[page][what] || day < pages[page][what]) pages[page][what] = day;
        }
      }
      const held = JSON.parse(text);
      for (const other of OTHERS)
        saveOther(other, { ...entriesOf(other, JSON.stringify(held[other.key] ?? null)), ...loadOther(other) });
      if (!save(pages)) throw new Error("this browser stores nothing");
      show();
    } catch (problem) {
      say(`The file cannot be read: ${problem.message}.`);
    }
  }

  function clear(button) {
    const before = load();
    const others = OTHERS.map((other) => [other, loadOther(other)]);
    save({});
    for (const other of OTHERS) saveOther(other, {});
    show();
    say("Cleared. Nothing is kept.");
    const undo = button.cloneNode();
    delete undo.dataset.do;
    undo.textContent = "Undo";
    undo.addEventListener("click", () => {
      save(before);
      for (const [other, entries] of others) saveOther(other, entries);
      undo.remove();
      show();
      button.focus();
    });
    button.parentElement.querySelector("[data-undo]")?.remove();
    undo.dataset.undo = "";
    button.after(" ", undo);
  }

  if (map) {
    const file = map.querySelector("input[type=file]");
    file.addEventListener("change", async () => {
      if (file.files.length) await take(file.files[0]);
      file.value = "";
    });
    const actions = { export: download, import: () => file.click(), clear };
    for (const button of map.querySelectorAll("button[data-do]")) {
      button.addEventListener("click", () => actions[button.dataset.do](button));
    }
    map.addEventListener("change", ({ target }) => {
      if (!target.dataset.progress) return;
      if (!note(target.dataset.progress, "read", target.checked && today())) say("This browser stores nothing.");
    });
  }

  if (TRACKED.test(here)) {
    const { visited } = load()[here] ?? {};
    if (!visited) note(here, "visited", today());
  }
  // A chapter is read when its end was in sight, a while after it was opened. Exercises are ticked by hand.
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
  addEventListener("storage", ({ key }) => {
    if (key === KEY) show();
  });
  show();
})();

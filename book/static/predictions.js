// Predictions: the answer to one is covered until the reader commits to a guess. The guesses are kept in this browser
// alone. The map of the course shows how often the reader was right when sure, and when not sure.

(() => {
  /** @typedef {{ isRight: boolean, isSure: boolean }} Guess */

  const KEY = "qkv-predictions";
  const FORMAT = { format: "qkv-predictions", version: 1 };
  /** @type {HTMLElement | null} */
  const body = document.querySelector("[data-page]");
  const page = body?.dataset.page ?? "";

  /** Return the first guess at each prediction: { "chapters/03_scaling#widget-1": { isRight, isSure } }.
   * @returns {Record<string, Guess>} */
  function load() {
    try {
      const { format, version, guesses } = JSON.parse(localStorage.getItem(KEY) ?? "");
      return format === FORMAT.format && version === FORMAT.version ? guesses : {};
    } catch {
      return {}; // nothing is kept, storage is blocked, or it holds something else
    }
  }

  /** @param {string} name
   * @param {Guess} guess */
  function keepFirst(name, guess) {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...FORMAT, guesses: { [name]: guess, ...load() } }));
    } catch {
      // storage is blocked: the answer is uncovered all the same
    }
  }

  /** @param {Element} cover */
  const uncover = (cover) => cover.classList.add("qkv-open");
  /** @param {Element} widget */
  const nameOf = (widget) => `${page}#${widget.closest(".qkv-slot")?.id}`;

  const guessed = load();
  for (const cover of document.querySelectorAll(".qkv-prediction-answer")) {
    const slot = cover.previousElementSibling?.querySelector(".qkv-slot");
    if (slot && Object.hasOwn(guessed, nameOf(slot))) uncover(cover);
    const notice = cover.querySelector(".qkv-uncover");
    notice?.querySelector("button")?.addEventListener("click", () => {
      uncover(cover);
      const first = /** @type {HTMLElement | null} */ (notice.nextElementSibling);
      first?.setAttribute("tabindex", "-1");
      first?.focus({ preventScroll: true });
    });
  }

  document.addEventListener("qkv-predicted", (event) => {
    const { target, detail } = /** @type {CustomEvent<Guess> & { target: Element }} */ (event);
    keepFirst(nameOf(target), detail);
    const next = target.closest(".cell")?.nextElementSibling;
    if (next?.matches(".qkv-prediction-answer")) uncover(next);
  });

  /** Uncover the answer that the address points into: a reader who follows a link or the search to it wants to see
   * it. */
  function uncoverTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const cover = target?.closest(".qkv-prediction-answer");
    if (!target || !cover) return;
    uncover(cover);
    target.scrollIntoView();
  }
  addEventListener("hashchange", uncoverTarget);
  uncoverTarget();

  const record = document.querySelector(".qkv-prediction-record");
  if (record) {
    const all = Object.values(load());
    /** @param {boolean} sure
     * @param {string} when */
    const say = (sure, when) => {
      const guesses = all.filter(({ isSure }) => isSure === sure);
      return `${guesses.filter(({ isRight }) => isRight).length} of the ${guesses.length} that you ${when}`;
    };
    record.textContent = all.length
      ? `Predictions that were right: ${say(true, "were sure of")}, ${say(false, "were not sure of")}.`
      : "";
  }
})();

// Predictions: what answers one is covered until the reader commits to a guess. How the guesses went is remembered in this
// browser alone, and the map of the course says it: how often the reader was right when sure, and when not.

(() => {
  const KEY = "qkv-predictions";
  const FORMAT = { format: "qkv-predictions", version: 1 };
  const page = document.querySelector("[data-page]")?.dataset.page ?? "";

  /** The first guess at each prediction: { "chapters/03_scaling#widget-1": { isRight, isSure } }. */
  function load() {
    try {
      const { format, version, guesses } = JSON.parse(localStorage.getItem(KEY));
      return format === FORMAT.format && version === FORMAT.version ? guesses : {};
    } catch {
      return {}; // nothing is kept, storage is blocked, or it holds something else
    }
  }

  function keep(name, guess) {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...FORMAT, guesses: { [name]: guess, ...load() } }));
    } catch {
      // storage is blocked: the answer is uncovered all the same
    }
  }

  const uncover = (cover) => cover?.classList.add("qkv-open");
  const nameOf = (widget) => `${page}#${widget.closest(".qkv-slot")?.id}`;
  const coverAfter = (widget) => {
    const next = widget.closest(".cell")?.nextElementSibling;
    return next?.classList.contains("qkv-prediction-answer") ? next : undefined;
  };

  const guessed = load();
  for (const cover of document.querySelectorAll(".qkv-prediction-answer")) {
    const slot = cover.previousElementSibling?.querySelector(".qkv-slot");
    if (slot && Object.hasOwn(guessed, nameOf(slot))) uncover(cover);
    cover.querySelector(".qkv-uncover button").addEventListener("click", () => {
      uncover(cover);
      const first = cover.querySelector(".qkv-uncover").nextElementSibling;
      first?.setAttribute("tabindex", "-1");
      first?.focus({ preventScroll: true });
    });
  }

  document.addEventListener("qkv-predicted", ({ target, detail }) => {
    keep(nameOf(target), detail);
    uncover(coverAfter(target));
  });

  /** A link, or the search, leads into what is covered: then the reader wants to see it. */
  function uncoverTarget() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const cover = target ? target.closest(".qkv-prediction-answer") : null;
    if (!cover) return;
    uncover(cover);
    target.scrollIntoView();
  }
  addEventListener("hashchange", uncoverTarget);
  uncoverTarget();

  const record = document.querySelector(".qkv-prediction-record");
  if (record) {
    const all = Object.values(load());
    const say = (guesses, when) =>
      `${guesses.filter(({ isRight }) => isRight).length} of the ${guesses.length} that you ${when}`;
    const sure = all.filter(({ isSure }) => isSure);
    const unsure = all.filter(({ isSure }) => !isSure);
    record.textContent = all.length
      ? `Predictions that were right: ${say(sure, "were sure of")}, ${say(unsure, "were not sure of")}.`
      : "";
  }
})();

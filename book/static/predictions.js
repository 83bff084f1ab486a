// Predictions: the answer to one is covered until the reader commits to a guess. The guesses are kept in this browser
// alone. The map of the course shows how often the reader was right when sure, and when not sure.

import { t } from "../../src/qkv/widgets/js/words.js";
import { anchored } from "./anchor.js";

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
      if (format !== FORMAT.format || version !== FORMAT.version) return {};
      return Object.fromEntries(Object.entries(guesses ?? {}).filter(([, guess]) => guess)); // an import could be damaged
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

  /** @param {Element | null | undefined} cover
   * @param {boolean} isOpen */
  const put = (cover, isOpen) => cover?.classList.toggle("qkv-open", isOpen);
  /** Return the cover over what answers a prediction.
   * @param {Event} event */
  const coverOf = ({ target }) => {
    const next = /** @type {Element} */ (target).closest(".cell")?.nextElementSibling;
    const cover = next?.matches(".tag_uncovered") ? next.nextElementSibling : next;
    return cover?.matches(".qkv-prediction-answer") ? cover : null;
  };

  for (const button of document.querySelectorAll(".qkv-uncover button")) {
    button.addEventListener("click", () => {
      const cover = button.closest(".qkv-prediction-answer");
      put(cover, true);
      /** @type {HTMLElement | null | undefined} */
      const first = cover?.querySelector(".cell_output, :scope > .cell ~ :not(.cell)");
      first?.setAttribute("tabindex", "-1");
      first?.focus({ preventScroll: true });
    });
  }

  document.addEventListener("qkv-predicted", (event) => {
    const { target, detail } = /** @type {CustomEvent<Guess> & { target: Element }} */ (event);
    keepFirst(`${page}#${target.closest(".qkv-slot")?.id}`, detail);
    put(coverOf(event), true);
  });
  document.addEventListener("qkv-guesses-again", (event) => put(coverOf(event), false));

  // A reader who follows a link within the page into an answer wants to see it.
  addEventListener("hashchange", () => {
    const target = anchored();
    const cover = target?.closest(".qkv-prediction-answer:not(.qkv-open)");
    put(cover, true);
    if (cover) target?.scrollIntoView();
  });

  const record = document.querySelector(".qkv-prediction-record");
  if (record) {
    const all = Object.values(load());
    /** Return how many guesses of one kind were right, and how many there are.
     * @param {boolean} sure */
    const counts = (sure) => {
      const guesses = all.filter(({ isSure }) => isSure === sure);
      return [guesses.filter(({ isRight }) => isRight).length, guesses.length];
    };
    const [[sureRight, sure], [unsureRight, unsure]] = [counts(true), counts(false)];
    record.textContent = all.length
      ? t`Predictions that were right: ${sureRight} of the ${sure} that you were sure of, ${unsureRight} of the ${unsure} that you were not sure of.`
      : "";
  }
})();

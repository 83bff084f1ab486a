// The script of every page: it runs once the page is parsed. The page can be read without it.

import { t } from "../../src/qkv/widgets/js/words.js";
import { anchored } from "./anchor.js";
import { showTerms } from "./terms.js";

(() => {
  const root = document.documentElement;
  /** @param {string} selector
   * @returns {NodeListOf<HTMLElement>} */
  const all = (selector) => document.querySelectorAll(selector);

  // The theme: light, dark, or as the system has it. Widgets and figures read data-theme.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const buttons = all(".qkv-theme");
  /** Return the title and the label of the button that changes the colours.
   * @param {string | undefined} chosen */
  const coloursOf = (chosen) => {
    if (chosen === "light") return [t`Colours: light`, t`Colours: light. Change them`];
    if (chosen === "dark") return [t`Colours: dark`, t`Colours: dark. Change them`];
    return [t`Colours: as the system`, t`Colours: as the system. Change them`];
  };
  const applyTheme = () => {
    const chosen = root.dataset.chosen;
    const theme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
    root.dataset.theme = document.body.dataset.theme = theme;
    for (const button of buttons) {
      button.hidden = false;
      const [title, label] = coloursOf(chosen);
      button.title = title;
      button.setAttribute("aria-label", label);
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      // After "auto" comes the theme that the system does not have, so that every press changes the colours.
      const order = dark.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
      root.dataset.chosen = order[(order.indexOf(root.dataset.chosen ?? "") + 1) % order.length];
      try {
        localStorage.setItem("theme", root.dataset.chosen);
      } catch {
        // Storage is blocked: the choice holds for this page.
      }
      applyTheme();
    });
  }
  dark.addEventListener("change", applyTheme);
  applyTheme();

  // Read mode folds code to a line; a press on the line opens it. The text in the window does not move.
  const switches = all(".qkv-read-mode");
  const showMode = () => {
    for (const one of switches) {
      one.hidden = false;
      one.setAttribute("aria-checked", String(root.classList.contains("qkv-reads")));
    }
  };
  const switchMode = () => {
    const parts = [...all("article :is(p, h1, h2, h3, .cell_output)")];
    const seen = parts.find((part) => part.getBoundingClientRect().bottom > 60 && part.checkVisibility());
    const before = seen?.getBoundingClientRect().top ?? 0;
    const reads = root.classList.toggle("qkv-reads");
    try {
      localStorage.setItem("qkv-read-mode", reads ? "on" : "off");
    } catch {
      // Storage is blocked: the mode holds for this page.
    }
    showMode();
    if (scrollY > 0 && seen) scrollBy(0, seen.getBoundingClientRect().top - before);
  };
  for (const one of switches) one.addEventListener("click", switchMode);
  showMode();
  for (const line of all(".qkv-unfold")) {
    line.addEventListener("click", () => {
      line.setAttribute("aria-expanded", String(line.getAttribute("aria-expanded") !== "true"));
    });
  }

  // On a phone the rest of an aside is folded. A link into it opens it; many browsers do this by themselves.
  const openTarget = () => {
    const target = anchored();
    const rest = target?.closest("details.qkv-rest:not([open])");
    rest?.setAttribute("open", "");
    if (rest) target?.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  showTerms();

  // The list of all pages is longer than a window: it is scrolled to the page that is open.
  const list = document.querySelector(".sidebar-sticky");
  const here = list?.querySelector("[aria-current]");
  if (list && here) {
    const below = here.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
    if (below > 0) list.scrollTop = below + list.clientHeight / 2;
  }

  // The two drawers of a narrow window.
  const openers = all("[aria-controls][aria-expanded]");
  /** @param {Element} opener
   * @param {boolean} shown */
  const open = (opener, shown) => {
    opener.setAttribute("aria-expanded", String(shown));
    document.getElementById(opener.getAttribute("aria-controls") ?? "")?.classList.toggle("qkv-open", shown);
  };
  const closeAll = () => {
    for (const opener of openers) open(opener, false);
  };
  for (const opener of openers) {
    opener.addEventListener("click", (event) => {
      const shown = opener.getAttribute("aria-expanded") === "true";
      closeAll();
      open(opener, !shown);
      event.stopPropagation();
    });
  }
  addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    for (const one of all(".qkv-languages[open]")) if (!one.contains(target)) one.removeAttribute("open");
    if (target.closest("a") || !target.closest(".qkv-open")) closeAll();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector(".qkv-languages[open]");
    menu?.removeAttribute("open");
    menu?.querySelector("summary")?.focus();
    const opener = [...openers].find((one) => one.getAttribute("aria-expanded") === "true");
    closeAll();
    opener?.focus();
  });

  // The header of a narrow window goes away on the way down the page.
  const header = document.querySelector(".mobile-header");
  let lastTop = scrollY;
  const moveHeader = () => {
    header?.classList.toggle("qkv-away", scrollY > Math.max(lastTop, 200));
    lastTop = scrollY;
  };
  addEventListener("scroll", moveHeader, { passive: true });

  // The page's contents mark the current section: the last one that begins above the upper third of the window.
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const anchors = document.querySelectorAll(".toc-tree a[href^='#']");
  const links = [...anchors].filter((link) => link.hash.length > 1);
  const sections = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const markCurrent = () => {
    const last = sections.findLastIndex((section) => {
      if (!section?.checkVisibility({ contentVisibilityAuto: true })) return false; // it is not laid out
      return section.getBoundingClientRect().top < innerHeight / 3;
    });
    links.forEach((link, i) => {
      if (i === last) link.setAttribute("aria-current", "location");
      else link.removeAttribute("aria-current");
    });
  };
  if (links.length) {
    addEventListener("scroll", () => requestAnimationFrame(markCurrent), { passive: true });
    new ResizeObserver(markCurrent).observe(document.body); // widgets grow as they start
  }

  // The page in another language opens at the section that the reader has reached, with the same state of its widgets.
  const languages = all(".qkv-languages");
  const placeOnPage = () => {
    const here = sections.findLastIndex((section) => section && section.getBoundingClientRect().top < innerHeight / 3);
    return here < 0 ? location.hash : links[here].hash;
  };
  for (const one of languages) {
    one.addEventListener("click", (event) => {
      const link = /** @type {Element} */ (event.target).closest("a");
      if (!link) return;
      link.search = location.search;
      link.hash = placeOnPage();
    });
  }

  // Each block of code has a button that copies it.
  for (const code of all(".cell_input .highlight, div[class*='highlight-python'] > .highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "qkv-copy";
    button.textContent = t`Copy`;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.querySelector("pre")?.textContent ?? "");
        button.textContent = t`Copied`;
      } catch {
        button.textContent = t`Not allowed`;
      }
      setTimeout(() => {
        button.textContent = t`Copy`;
      }, 1500);
    });
    code.append(button);
  }

  // A box that is wider than its column gets a tabindex, so that the arrow keys can scroll it.
  /** @param {ResizeObserverEntry[]} boxes */
  const makeReachable = (boxes) => {
    for (const { target } of boxes) {
      if (target.scrollWidth > target.clientWidth + 1) target.setAttribute("tabindex", "0");
      else target.removeAttribute("tabindex");
    }
  };
  addEventListener("load", () => {
    const sizes = new ResizeObserver(makeReachable); // calls back for a box once it is laid out
    // What is drawn below an editor is no stop of the Tab key: the editor is one.
    for (const box of all("pre:not([aria-hidden]), .table-wrapper, .math-wrapper, .qkv-figure")) sizes.observe(box);
  });

  // The page's head defers the layout of later parts of an article. They are laid out one by one when the page is idle,
  // and all at once before the reader follows a link to a part or folds code. When a part above the window changes its
  // height, the window is scrolled by the difference, so that the text in it does not move.
  const parts = [...all("article > section > section")];
  /** @param {() => void} work */
  const whenIdle = (work) => {
    if ("requestIdleCallback" in window)
      requestIdleCallback(work, { timeout: 1000 }); // Chromium misses idle moments
    else setTimeout(work); // Safari has no such callback
  };
  /** @param {HTMLElement} part */
  const layOut = (part) => {
    const { bottom, height } = part.getBoundingClientRect();
    part.style.contentVisibility = "visible";
    if (bottom < 0) scrollBy(0, part.getBoundingClientRect().height - height);
  };
  const layOutNext = () => {
    const part = parts.shift();
    if (!part) return;
    layOut(part);
    whenIdle(layOutNext);
  };
  addEventListener("load", () => whenIdle(layOutNext));
  const needsAll = "a[href^='#'], .qkv-read-mode";
  /** @param {MouseEvent} event */
  const layOutAll = ({ target }) => {
    if (target instanceof Element && target.closest(needsAll)) parts.splice(0).forEach(layOut);
  };
  addEventListener("click", layOutAll, { capture: true });
})();

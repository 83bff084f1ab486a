// What every page does once it was read. Nothing here is needed to read it.

(() => {
  const root = document.documentElement;

  // The theme: light, dark, or what the system says. Widgets and figures look at data-theme.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const buttons = document.querySelectorAll(".qkv-theme");
  const follow = () => {
    const chosen = root.dataset.chosen;
    const theme = chosen === "auto" ? (dark.matches ? "dark" : "light") : chosen;
    root.dataset.theme = document.body.dataset.theme = theme;
    for (const button of buttons) {
      button.hidden = false;
      button.title = `Colours: ${chosen === "auto" ? "as the system" : chosen}`;
      button.setAttribute("aria-label", `${button.title}. Change them`);
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      // The other colours first, so that one press always shows something.
      const order = dark.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
      root.dataset.chosen = order[(order.indexOf(root.dataset.chosen) + 1) % order.length];
      try {
        localStorage.setItem("theme", root.dataset.chosen);
      } catch {
        // Storage is blocked: the choice holds for this page.
      }
      follow();
    });
  }
  dark.addEventListener("change", follow);
  follow();

  // Read mode: code is folded to a line, which opens it. What the reader looks at stays where it is in the window.
  const switches = document.querySelectorAll(".qkv-read-mode");
  const showMode = () => {
    for (const one of switches) {
      one.hidden = false;
      one.setAttribute("aria-checked", String(root.classList.contains("qkv-reads")));
    }
  };
  const switchMode = () => {
    const parts = [...document.querySelectorAll("article :is(p, h1, h2, h3, .cell_output)")];
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
  for (const line of document.querySelectorAll(".qkv-unfold")) {
    line.addEventListener("click", () => {
      line.setAttribute("aria-expanded", String(line.getAttribute("aria-expanded") !== "true"));
    });
  }

  // The list of all pages is longer than a window: it is shown at the page that is open.
  const list = document.querySelector(".sidebar-sticky");
  const here = list?.querySelector("[aria-current]");
  const below = here ? here.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom : 0;
  if (below > 0) list.scrollTop = below + list.clientHeight / 2;

  // The two drawers of a narrow window.
  const openers = document.querySelectorAll("[aria-controls][aria-expanded]");
  const open = (opener, shown) => {
    opener.setAttribute("aria-expanded", String(shown));
    document.getElementById(opener.getAttribute("aria-controls")).classList.toggle("qkv-open", shown);
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
    if (event.target.closest("a") || !event.target.closest(".qkv-open")) closeAll();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const opener = [...openers].find((one) => one.getAttribute("aria-expanded") === "true");
    closeAll();
    opener?.focus();
  });

  // Where the reader is, in the page's contents: the last heading above the upper third of the window.
  const links = [...document.querySelectorAll(".toc-tree a[href^='#']")].filter((link) => link.hash.length > 1);
  const sections = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const markCurrent = () => {
    const last = sections.findLastIndex((section) => {
      const isLaidOut = section?.checkVisibility({ contentVisibilityAuto: true });
      return isLaidOut && section.getBoundingClientRect().top < innerHeight / 3;
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

  // Code can be copied.
  for (const code of document.querySelectorAll(".cell_input .highlight, div[class*='highlight-python'] > .highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "qkv-copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.querySelector("pre").textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, 1500);
    });
    code.append(button);
  }

  // What is wider than its column can be scrolled by the keyboard.
  const reachable = (boxes) => {
    for (const { target } of boxes) {
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  };
  addEventListener("load", () => {
    const sizes = new ResizeObserver(reachable); // says nothing of a box before it is laid out
    for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, .qkv-figure")) sizes.observe(box);
  });

  // What the page's head leaves for later is laid out part by part, once the page answers, and all at once before a link
  // leads into it or code is folded. Who has gone on past a part meanwhile stays where they are.
  const parts = [...document.querySelectorAll("article > section > section")];
  const whenIdle = (f) => {
    if (!window.requestIdleCallback) return setTimeout(f); // Safari
    requestIdleCallback(f, { timeout: 1000 }); // for Chromium has idle moments that it does not tell of
  };
  const layOut = (part) => {
    const { bottom, height } = part.getBoundingClientRect();
    part.style.contentVisibility = "visible";
    if (bottom < 0) scrollBy(0, part.getBoundingClientRect().height - height);
  };
  const layOutNext = () => {
    if (parts.length === 0) return;
    layOut(parts.shift());
    whenIdle(layOutNext);
  };
  addEventListener("load", () => whenIdle(layOutNext));
  const needsAll = "a[href^='#'], .qkv-read-mode";
  const layOutAll = ({ target }) =>
    target instanceof Element && target.closest(needsAll) && parts.splice(0).forEach(layOut);
  addEventListener("click", layOutAll, { capture: true });
})();

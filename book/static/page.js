// What every page does after it was read: follow the theme, let the keyboard scroll what is wider than the column.

(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const chosen = document.body.dataset.theme;
    document.documentElement.dataset.theme =
      chosen === "dark" || (chosen !== "light" && dark.matches) ? "dark" : "light";
  };
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
  dark.addEventListener("change", follow);
  follow();

  const scrollers = document.querySelectorAll("pre, .table-wrapper, .math-wrapper, .qkv-figure, .text_html");
  const reachable = () => {
    for (const box of scrollers) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reachable);
  reachable();
})();

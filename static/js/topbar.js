// The top bar: menus that close, a menu of pages on small screens, "/" for search, arrow keys in
// what was found; and a word when the panel does not answer. Without this file all of it still
// leads where it should: menus open by themselves, search is a form.
htmx.config.morphIgnore.push("open"); // What the reader unfolded stays so when the page renews.
(() => {
  const close = (menu, focus) => {
    if (!menu.open) return;
    menu.open = false;
    if (focus) menu.querySelector("summary").focus();
  };
  const navSwitch = document.querySelector("[data-nav-switch]");
  const showNav = (shown) => {
    document.getElementById("topnav").classList.toggle("is-open", shown);
    navSwitch.setAttribute("aria-expanded", String(shown));
  };
  navSwitch?.addEventListener("click", () => {
    showNav(navSwitch.getAttribute("aria-expanded") !== "true");
  });

  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("[data-menu]")) {
      const isDone = event.target.closest("[data-menu-done]");
      if (!menu.contains(event.target) || isDone) close(menu, false);
    }
  });

  const field = () => document.querySelector("[data-search-field]");
  const isTyping = (element) =>
    element.isContentEditable || /^(?:input|select|textarea)$/i.test(element.tagName);

  // Arrow keys go through the field and the links under it.
  const step = (search, by) => {
    const stops = [field(), ...search.querySelectorAll(".search-found a")];
    const next = stops[stops.indexOf(document.activeElement) + by];
    next?.focus();
    return Boolean(next);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !isTyping(event.target) && field()) {
      const small = document.querySelector(".search-link");
      event.preventDefault();
      if (small?.checkVisibility()) small.click();
      else field().select();
      return;
    }
    const search = event.target.closest?.("[data-search]");
    if (search && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      if (step(search, event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
      return;
    }
    if (event.key !== "Escape") return;
    if (search) {
      const isField = document.activeElement === field();
      if (isField) search.querySelector(".search-found").replaceChildren();
      field().focus();
      return;
    }
    const menu = event.target.closest?.("[data-menu]");
    if (menu) close(menu, true);
    if (navSwitch && event.target.closest?.("#topnav")) {
      showNav(false);
      navSwitch.focus();
    }
  });

  // "Not now": a hint stays away from this browser for 30 days.
  const KEPT_AWAY_MS = 30 * 24 * 3600 * 1000;
  for (const hint of document.querySelectorAll("[data-dismissable]")) {
    const name = `dismissed-${hint.dataset.dismissable}`;
    try {
      hint.hidden = Date.now() - Number(localStorage.getItem(name) ?? 0) < KEPT_AWAY_MS;
      const button = hint.querySelector("[data-dismiss]");
      button.hidden = false;
      button.addEventListener("click", () => {
        localStorage.setItem(name, String(Date.now()));
        hint.hidden = true;
      });
    } catch {
      continue; // storage is blocked: the hint stays
    }
  }

  // A hidden tab sends no requests; parts of a page ask again once it is visible.
  document.addEventListener("htmx:before:request", (event) => {
    const { ctx } = event.detail;
    if (document.hidden && ctx.sourceEvent?.type === "every") event.preventDefault();
  });

  const offline = document.querySelector("[data-offline]");
  document.addEventListener("htmx:error", () => {
    offline.hidden = false;
  });
  document.addEventListener("htmx:after:request", (event) => {
    offline.hidden = event.detail.ctx.response.status < 500;
  });
})();

// Colour theme: "auto" follows the system, "light" and "dark" are a choice kept in this browser.
// Loaded in <head> without defer, so that the page is never painted in the wrong colours.
(() => {
  const root = document.documentElement;
  root.dataset.script = "on"; // what only a script can open may be folded from the first paint on
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const order = ["auto", "light", "dark"];
  const read = () => {
    try {
      const kept = localStorage.getItem("theme");
      return order.includes(kept) ? kept : "auto";
    } catch {
      return "auto"; // storage is blocked: follow the system
    }
  };
  let choice = read();
  const apply = () => {
    root.dataset.bsTheme = choice === "auto" ? (dark.matches ? "dark" : "light") : choice;
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.hidden = false;
      button.querySelector("[data-theme-name]").textContent = choice;
      button.title = `Colour theme: ${choice}`;
    }
  };
  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    choice = order[(order.indexOf(choice) + 1) % order.length];
    try {
      localStorage.setItem("theme", choice);
    } catch {
      // storage is blocked: the choice lasts for this page
    }
    apply();
  });
})();

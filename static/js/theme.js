// Colour theme: "auto" follows the system, "light" and "dark" are a choice kept in this browser. A page
// with data-own-theme keeps its own one under that name, and is dark at first.
// Likewise how dense tables are, and by what the maps are coloured. The time zone of pages is a cookie, as the server writes times: that
// of the browser, or UTC as the person chose in a chart. Loaded in <head> without defer, so that the page is never painted in the wrong colours.
(() => {
  const root = document.documentElement;
  root.dataset.script = "on"; // what only a script can open may be folded from the first paint on
  const tellZone = () => {
    let isUtc = false;
    try {
      isUtc = localStorage.getItem("charts-zone") === "utc";
    } catch {
      // storage is blocked: the browser's own zone
    }
    const zone = isUtc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
    document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=lax`;
  };
  tellZone();
  document.addEventListener("zone", tellZone);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const own = root.dataset.ownTheme ?? "";
  const orders = {
    theme: own ? ["dark", "light", "auto"] : ["auto", "light", "dark"],
    density: ["comfortable", "compact"],
    map: ["latency", "busy"],
    fleet: ["latency", "busy", "problems"],
  };
  const read = (name) => {
    try {
      const kept = localStorage.getItem(own + name);
      return orders[name].includes(kept) ? kept : orders[name][0];
    } catch {
      return orders[name][0]; // storage is blocked
    }
  };
  const choices = Object.fromEntries(Object.keys(orders).map((name) => [name, read(name)]));
  const apply = () => {
    const { theme, ...others } = choices;
    root.dataset.bsTheme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
    Object.assign(root.dataset, others);
    for (const [name, choice] of Object.entries(choices)) {
      for (const button of document.querySelectorAll(`[data-${name}-switch]`)) {
        button.hidden = false;
        button.querySelector(`[data-${name}-name]`).textContent = button.dataset[choice] ?? choice;
      }
      for (const button of document.querySelectorAll(`[data-choice="${name}"]`)) {
        button.ariaPressed = String(button.value === choice);
      }
    }
  };
  apply();
  dark.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-choice]");
    const isSwitch = (each) => event.target.closest(`[data-${each}-switch]`);
    const name = chosen?.dataset.choice ?? Object.keys(orders).find(isSwitch);
    if (!name) return;
    const order = orders[name];
    choices[name] = chosen?.value ?? order[(order.indexOf(choices[name]) + 1) % order.length];
    try {
      localStorage.setItem(own + name, choices[name]);
    } catch {
      // storage is blocked: the choice lasts for this page
    }
    apply();
  });
})();

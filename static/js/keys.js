// Keyboard shortcuts: "?" shows them, "g" and a letter opens the page whose link has that letter in
// data-jump, "j" and "k" walk through the rows of a list. They can be switched off for a browser.
(() => {
  const dialog = document.getElementById("keys");
  if (!dialog) return;
  const isOff = () => {
    try {
      return localStorage.getItem("keys") === "off";
    } catch {
      return false; // storage is blocked
    }
  };
  const isTyping = (element) =>
    element.isContentEditable || /^(?:input|select|textarea)$/i.test(element.tagName);
  const opener = document.querySelector("[data-keys-open]");
  opener.hidden = false;
  opener.addEventListener("click", () => dialog.showModal());
  const box = dialog.querySelector("[data-keys-switch]");
  box.checked = !isOff();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem("keys", box.checked ? "on" : "off");
    } catch {
      box.checked = true; // storage is blocked: nothing can be remembered
    }
  });

  const walk = (by) => {
    const links = [...document.querySelectorAll("main tbody tr")]
      .map((row) => row.querySelector("a[href]"))
      .filter((link) => link?.checkVisibility());
    const row = document.activeElement.closest?.("main tbody tr");
    const place = links.findIndex((link) => row?.contains(link));
    links[place < 0 ? 0 : Math.min(links.length - 1, Math.max(0, place + by))]?.focus();
  };

  const PATIENCE_MS = 1500;
  let jumpUntil = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (dialog.open || isOff()) return;
    const isJump = performance.now() < jumpUntil;
    jumpUntil = 0;
    if (isJump) {
      const link = document.querySelector(`[data-jump="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        location.assign(link.href);
      }
    } else if (event.key === "g") jumpUntil = performance.now() + PATIENCE_MS;
    else if (event.key === "?") {
      event.preventDefault();
      dialog.showModal();
    } else if (event.key === "j" || event.key === "k") walk(event.key === "j" ? 1 : -1);
  });
})();

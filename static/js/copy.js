// "Copy" buttons: data-copy names the element whose text goes to the clipboard, "" the one before.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const said = button.textContent;
  try {
    const { copy } = button.dataset;
    const copied = copy ? document.getElementById(copy) : button.previousElementSibling;
    await navigator.clipboard.writeText(copied.innerText);
    button.textContent = document.body.dataset.copied;
  } catch {
    button.textContent = document.body.dataset.copyByHand; // no clipboard outside https and localhost
  }
  setTimeout(() => {
    button.textContent = said;
  }, 2000);
});

// "Show" beside a password: what is typed can be read, until it is sent.
for (const button of document.querySelectorAll("[data-show-password]")) {
  const field = document.getElementById(button.getAttribute("aria-controls"));
  button.hidden = false;
  button.addEventListener("click", () => {
    const isShown = field.type === "password";
    field.type = isShown ? "text" : "password";
    button.setAttribute("aria-pressed", String(isShown));
  });
  field.form?.addEventListener("submit", () => {
    field.type = "password";
  });
}

// "Copy" buttons: data-copy names the element whose text goes to the clipboard.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy by hand"; // no clipboard outside https and localhost
  }
  setTimeout(() => {
    button.textContent = said;
  }, 2000);
});

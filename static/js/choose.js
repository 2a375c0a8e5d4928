// A list of boxes: one box for all of them, and how many are ticked. Listens on the document, so that
// lists which htmx puts in later work too.
const boxes = (list) => [...list.querySelectorAll('tbody input[type="checkbox"]:not(:disabled)')];

function show(list) {
  const all = list.querySelector("[data-choose-all]");
  if (!all) return;
  const every = boxes(list);
  const count = every.filter((box) => box.checked).length;
  all.closest("[data-choose-row]").hidden = false;
  all.checked = count > 0 && count === every.length;
  all.indeterminate = count > 0 && count < every.length;
  const found = list.querySelector("[data-choose-every]");
  if (found?.checked) {
    const number = Number(found.dataset.count).toLocaleString("en");
    list.querySelector("[data-choose-count]").textContent = `${number} selected`;
    list.dataset.chosen = "yes";
    for (const box of every) box.checked = true;
    all.checked = true;
    return;
  }
  if (count > 0 || list.dataset.chosen) {
    list.querySelector("[data-choose-count]").textContent = `${count} selected`;
    list.dataset.chosen = "yes";
  }
}

document.addEventListener("change", (event) => {
  const list = event.target.closest("[data-choose]");
  if (!list) return;
  if (event.target.matches("[data-choose-all]")) {
    for (const box of boxes(list)) box.checked = event.target.checked;
  }
  const found = list.querySelector("[data-choose-every]");
  // One box fewer is no longer all of them; and who takes "all" back begins anew.
  if (found && event.target !== found) found.checked = false;
  else if (found && !found.checked) for (const box of boxes(list)) box.checked = false;
  show(list);
});

const showAll = () => document.querySelectorAll("[data-choose]").forEach(show);
document.addEventListener("htmx:after:swap", showAll);
showAll();

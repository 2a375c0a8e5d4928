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
  show(list);
});

const showAll = () => document.querySelectorAll("[data-choose]").forEach(show);
document.addEventListener("htmx:after:swap", showAll);
showAll();

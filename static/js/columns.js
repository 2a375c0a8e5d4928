// Columns of a list that a person does not want to see, by the list's name; the browser remembers
// them. A sheet of its own hides them, so rows that come later are hidden too.
import * as stored from "./stored.js";

const menu = () => document.querySelector("[data-columns]");
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets.push(sheet);

const keyOf = () => `columns-${menu().dataset.columns}`;

// What is hidden on this page, where the browser remembers nothing.
let chosen = null;
const read = () => chosen ?? stored.readSet(keyOf());

const heads = () =>
  [...document.querySelectorAll("#found thead th")]
    .map((head, n) => ({ n: n + 1, title: head.textContent.trim(), isChoice: head.matches(".w-1") }))
    .filter((head) => !head.isChoice)
    .slice(1); // the first column says what the row is

const apply = () => {
  if (!menu()) return;
  const hidden = read();
  const rules = heads()
    .filter(({ title }) => hidden.has(title))
    .map(({ n }) => `#found :is(th, td):nth-child(${n}) { display: none !important; }`);
  sheet.replaceSync(rules.join("\n"));
};

const choose = (title, isShown) => {
  const hidden = read();
  if (isShown) hidden.delete(title);
  else hidden.add(title);
  chosen = hidden;
  stored.writeSet(keyOf(), hidden);
  apply();
};

// "toggle" does not bubble; the list, and the menu with it, is replaced by each search.
document.addEventListener(
  "toggle",
  (event) => {
    if (!event.target.matches("[data-columns]") || !event.target.open) return;
    const hidden = read();
    const body = event.target.querySelector(".menu-body");
    body.replaceChildren(
      ...heads().map(({ title }) => {
        const box = document.createElement("input");
        Object.assign(box, { type: "checkbox", className: "form-check-input" });
        box.checked = !hidden.has(title);
        box.addEventListener("change", () => choose(title, box.checked));
        const label = document.createElement("label");
        label.className = "form-check mb-1";
        label.append(box, Object.assign(document.createElement("span"), { textContent: title }));
        label.lastChild.className = "form-check-label";
        return label;
      }),
    );
  },
  true,
);
apply();

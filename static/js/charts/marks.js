// The jobs and other marks of the time that is shown, as a list below the charts.
import { dated, phrase } from "./format.js";

const MOST_LISTED = 8;

const itemOf = (mark) => {
  const item = document.createElement("li");
  const name = document.createElement(mark.url ? "a" : "span");
  if (mark.url) name.href = mark.url;
  name.textContent = mark.label;
  item.append(`${dated(mark.at)} `, name, `, ${mark.outcome}`);
  return item;
};

export const listMarks = ({ part, view }) => {
  const first = Math.max(0, view.marks.length - MOST_LISTED);
  const items = view.marks.slice(first).map(itemOf);
  if (first > 0) {
    const rest = document.createElement("li");
    rest.textContent = first > 1 ? phrase("earlier", { n: first }) : phrase("one_earlier");
    items.unshift(rest);
  }
  part("marks").replaceChildren(...items);
  part("marks").hidden = items.length === 0;
};

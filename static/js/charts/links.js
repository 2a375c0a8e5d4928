// Brings the links and buttons of a set up to date with the URL.
import { linkOf, linkOver, linkTo, queryOf } from "./range.js";

export const renewLinks = ({ section, figures, part, view }) => {
  for (const link of section.querySelectorAll("[data-range-key]")) {
    link.href = linkOf(link.dataset.rangeKey);
  }
  for (const link of section.querySelectorAll("[data-over]")) {
    link.href = linkOver(link.dataset.over ? { over: link.dataset.over } : {}, view.range);
  }
  for (const { element, panel } of figures) {
    const link = element.querySelector("[data-chart-csv]");
    link.href = `${part("csv").pathname}?${queryOf(view.range)}&panel=${panel.name}`;
  }
  part("csv").search = `?${queryOf(view.range)}`;
  if (view.series) part("link").href = linkTo({ key: view.range.key, ...view.series });
};

export const showButtons = ({ section, part, view }) => {
  const isPart = view.range.part !== null;
  part("custom").previousElementSibling.classList.toggle("active", isPart);
  part("reset").hidden = !isPart;
  for (const link of section.querySelectorAll("[data-range-key]")) {
    const isShown = !isPart && link.dataset.rangeKey === view.range.key;
    link.classList.toggle("active", isShown);
    if (isShown) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
};

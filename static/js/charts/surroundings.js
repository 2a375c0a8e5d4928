// What surrounds the charts: their summary, the figures nearest to an empty time, the time zone,
// and which of the charts there are.
import { dated, inUtc, phrase, rowTime, typed, zone } from "./format.js";
import { renewWho } from "./who.js";

// Where this time has no figures: a link to those nearest to it.
const showNearest = (section, nearest) => {
  const first = section.querySelector("[data-charts-first]");
  if (first) first.hidden = nearest !== null;
  const which = nearest === null ? "" : nearest.is_before ? "last" : "first";
  for (const paragraph of section.querySelectorAll("[data-charts-nearest]")) {
    paragraph.hidden = paragraph.dataset.chartsNearest !== which;
    if (paragraph.hidden) continue;
    const link = paragraph.querySelector("a");
    const query = new URLSearchParams(location.search);
    for (const [name, value] of new URLSearchParams(nearest.query)) query.set(name, value);
    link.textContent = dated(nearest.at);
    link.href = `?${query}#charts`;
  }
};

export const showSummary = ({ section, part }, answer) => {
  const empty = answer.totals.covered_seconds === 0;
  part("empty").hidden = !empty;
  showNearest(section, answer.nearest);
  part("summary").textContent = answer.summary;
  part("summary").hidden = empty;
  part("panels").hidden = empty;
  if (answer.over && part("over-summary")) part("over-summary").textContent = answer.over.summary;
  if (part("no-cache")) part("no-cache").hidden = empty || answer.has_cache;
};

export const showZone = ({ section, part, view }) => {
  part("zone").textContent = phrase("zone", { zone: zone() });
  part("utc").setAttribute("aria-pressed", String(inUtc()));
  part("utc").classList.toggle("active", inUtc());
  for (const name of section.querySelectorAll("[data-charts-zone-name]")) {
    name.textContent = zone();
  }
  for (const time of section.querySelectorAll("[data-charts-row]")) {
    time.textContent = rowTime(time.dateTime);
  }
  renewWho();
  const { from, to } = part("custom").elements;
  if (part("custom").contains(document.activeElement)) return; // a person is typing
  from.value = typed(view.series.start);
  to.value = typed(Math.min(Date.now(), view.series.end));
  from.removeAttribute("max");
};

// Charts without anything to draw are hidden, and a line says which and why.
export const showFigures = ({ figures, part }, { lacking, has_cache }) => {
  const titlesByReason = new Map();
  for (const figure of figures) {
    const { element, panel } = figure;
    const reason = lacking[panel.name];
    // What was not asked for, or is not kept that long, leaves the title and its note.
    figure.isBare = reason !== undefined && panel.is_apart;
    element.toggleAttribute("data-bare", figure.isBare);
    element.hidden = reason !== undefined && !(panel.is_apart && has_cache);
    if (element.hidden) titlesByReason.set(reason, [...(titlesByReason.get(reason) ?? []), panel.title]);
  }
  if (!part("lacking")) return;
  part("lacking").textContent = [...titlesByReason]
    .map(([reason, titles]) => phrase("lacking", { reason, titles: titles.join(", ") }))
    .join(" ");
};

// What stands around the charts: their summary, the figures nearest to an empty time, the time zone,
// and which of the charts there are.
import { dated, inUtc, phrase, rowTime, typed, zone } from "./format.js";
import { isHeat, isMapped } from "./heat.js";
import { hasFigures, linesOf } from "./series.js";
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
  part("no-cache").hidden = empty || answer.has_cache;
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
  if (part("custom").contains(document.activeElement)) return; // somebody is typing
  from.value = typed(view.series.start);
  to.value = typed(Math.min(Date.now(), view.series.end));
  from.removeAttribute("max");
};

export const showFigures = ({ figures, view }, answer) => {
  for (const { element } of figures) {
    element.hidden = "ofCache" in element.dataset && !answer.has_cache;
  }
  // Of a volume at rest the first chart says so, and no other one draws its zeros.
  const isAtRest = !linesOf(figures[0].panel, view.series).some(hasFigures);
  for (const figure of figures) {
    const { element, panel } = figure;
    const isKnown = isHeat(panel)
      ? isMapped(panel, view.series)
      : linesOf(panel, view.series).some(
          (line) => !isAtRest || figure === figures[0] || hasFigures(line),
        );
    // What was not asked for, or is not kept that long, leaves the title and its note.
    figure.isBare = panel.is_apart && !isKnown;
    element.toggleAttribute("data-bare", figure.isBare);
    element.hidden ||= !isKnown && !panel.is_apart;
  }
};

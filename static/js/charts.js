// Draws the charts of <section data-charts>. Panels are described by the server (panel/charts/definitions.py)
// in each figure's data-panel; figures and job marks come from the section's two URLs. Without this
// script the section keeps its summary, its range links, its CSV and its table.
import { colour } from "./charts/colour.js";
import { listen, place } from "./charts/crosshair.js";
import { dated, inUtc, phrase, rowTime, showZoneInUrl, toggleUtc, typed, untyped, zone } from "./charts/format.js";
import { foldable, isFolded } from "./charts/fold.js";
import { heatMap, isHeat, isMapped, mostly } from "./charts/heat.js";
import { renew, spoken } from "./charts/legend.js";
import { bands, lanes, marksAt } from "./charts/notes.js";
import { configuration } from "./charts/options.js";
import {
  linkOf, linkOver, linkTo, MOVES, partOf, queryOf, rangeOf, showInUrl, zoomOptions,
} from "./charts/range.js";
import { save } from "./charts/picture.js";
import { bucketAt, decoded, hasFigures, linesOf, middle } from "./charts/series.js";
import * as state from "./charts/state.js";
import { askOfBucket, listenToWho, renewWho } from "./charts/who.js";

const MOST_LISTED = 8; // of the jobs, below the charts
const EMPTY_SECONDS = 5; // how often to look for the first point

const start = (section) => {
  const part = (name) => section.querySelector(`[data-charts-${name}]`);
  const figures = [...section.querySelectorAll("[data-panel]")].map((element) => ({
    element,
    box: element.querySelector(".chart-box"),
    canvas: element.querySelector("canvas"),
    hair: element.querySelector(".chart-hair"),
    legend: element.querySelector(".chart-legend"),
    words: element.querySelector("[data-heat-words]"),
    readout: element.querySelector(".chart-readout"),
    panel: JSON.parse(element.dataset.panel),
    isBare: false, // nothing of it is drawn
    chart: null,
  }));
  const view = {
    series: null,
    marks: [],
    windows: [],
    bucket: null, // under the crosshair
    hidden: state.list("hide"),
    first: figures[0].panel.name, // the panel with the lanes and the words of bands
    range: rangeOf(section),
  };
  const shown = () =>
    figures.filter((figure) => !figure.element.hidden && !figure.isBare && !isFolded(figure));
  const isApart = () =>
    figures.some((figure) => figure.panel.is_apart && !figure.element.hidden && !isFolded(figure));
  let asked = 0;
  let pointedAt = null; // the time under the crosshair, which a new series may not move
  let timer = null;

  // The time under the crosshair; the first chart names what its lanes have there.
  const pointed = (panel) => {
    const time = dated(middle(view.series, view.bucket), view.series.step);
    const named = panel.name === view.first ? marksAt(view, view.bucket) : [];
    return [time, ...named.map(({ label }) => label)].join(" · ");
  };

  const describe = (figure) => {
    const { panel } = figure;
    renew(figure.legend, panel, view);
    if (isHeat(panel)) figure.words.textContent = mostly(panel, view.series, view.bucket);
    figure.readout.textContent =
      view.bucket === null ? `${phrase("last")} (${view.series.step_words})` : pointed(panel);
    place(figure, view);
  };

  const read = () => shown().forEach(describe);

  const point = (bucket) => {
    if (bucket === view.bucket) return;
    view.bucket = bucket;
    pointedAt = bucket === null ? null : middle(view.series, bucket);
    requestAnimationFrame(read);
  };

  const drawOne = (figure) => {
    const zoom = zoomOptions(colour, (from, to) => show(partOf(from, to)));
    const { data, options } = configuration(figure.panel, view, zoom);
    if (figure.chart === null) {
      const plugins = [heatMap, bands, lanes];
      figure.chart = new Chart(figure.canvas, { type: "line", data, options, plugins }); // it draws itself
    } else {
      Object.assign(figure.chart, { data, options });
      figure.chart.update("none");
    }
    describe(figure);
    const values = spoken(figure.panel, view);
    figure.canvas.setAttribute("aria-label", phrase("spoken", { title: figure.panel.title, values }));
  };

  // Each is made once the one before it is seen, which is a frame after it was drawn.
  let isMaking = false;
  const makeNext = () => {
    isMaking = false; // where one cannot be made, the next figures try again
    const figure = shown().find(({ chart }) => chart === null);
    part("panels").setAttribute("aria-busy", String(figure !== undefined));
    if (figure === undefined) return;
    drawOne(figure);
    isMaking = true;
    requestAnimationFrame(() => requestAnimationFrame(makeNext));
  };

  const draw = () => {
    if (view.series === null || view.series.totals.covered_seconds === 0) return;
    shown().filter(({ chart }) => chart !== null).forEach(drawOne);
    if (!isMaking) makeNext();
  };

  const listMarks = () => {
    const first = Math.max(0, view.marks.length - MOST_LISTED);
    const items = view.marks.slice(first).map((mark) => {
      const item = document.createElement("li");
      const name = document.createElement(mark.url ? "a" : "span");
      if (mark.url) name.href = mark.url;
      name.textContent = mark.label;
      item.append(`${dated(mark.at)} `, name, `, ${mark.outcome}`);
      return item;
    });
    if (first > 0) {
      const rest = document.createElement("li");
      rest.textContent = first > 1 ? phrase("earlier", { n: first }) : phrase("one_earlier");
      items.unshift(rest);
    }
    part("marks").replaceChildren(...items);
    part("marks").hidden = items.length === 0;
  };

  // Where this time has no figures: a link to those nearest to it.
  const showNearest = (nearest) => {
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

  const showZone = () => {
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

  const take = (answer, marks) => {
    const empty = answer.totals.covered_seconds === 0;
    Object.assign(view, { series: decoded(answer), marks });
    view.bucket = pointedAt === null ? null : bucketAt(view.series, pointedAt);
    part("empty").hidden = !empty;
    showNearest(answer.nearest);
    part("summary").textContent = answer.summary;
    part("summary").hidden = empty;
    part("panels").hidden = empty;
    if (answer.over && part("over-summary")) part("over-summary").textContent = answer.over.summary;
    part("no-cache").hidden = empty || answer.has_cache;
    showZone();
    const wasApart = isApart();
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
    listMarks();
    renewLinks();
    draw();
    if (isApart() && !wasApart) refresh(); // a cache came: its figures were not asked for yet
  };

  const fetched = async (url) => {
    const words = `${isApart() ? "&apart=1" : ""}${"plain" in section.dataset ? "&plain=1" : ""}`;
    const response = await fetch(`${url}?${queryOf(view.range)}${words}`, {
      headers: { Accept: "application/json" },
    });
    if (!response.ok) throw new Error(`${response.status}`);
    return response.json();
  };

  const refresh = async () => {
    if (document.hidden) return;
    const turn = ++asked;
    try {
      const { seriesUrl, marksUrl } = section.dataset;
      const [answer, found] = await Promise.all([fetched(seriesUrl), fetched(marksUrl)]);
      if (turn !== asked) return; // somebody zoomed meanwhile
      part("trouble").hidden = true;
      take(answer, found.marks);
    } catch {
      if (turn === asked) part("trouble").hidden = false;
    }
  };

  // The page brought its figures with it, but for those that only an opened chart needs.
  const begin = async () => {
    const turn = ++asked;
    try {
      take(JSON.parse(document.getElementById("charts-answer").textContent), []);
      if (isApart()) return refresh();
      const found = await fetched(section.dataset.marksUrl);
      if (turn !== asked) return;
      view.marks = found.marks;
      listMarks();
      draw();
    } catch {
      if (turn === asked) part("trouble").hidden = false;
    }
  };

  // While nothing is there yet the first point shall be seen soon; a time in the past stays.
  const again = () => {
    const empty = view.series === null || view.series.totals.covered_seconds === 0;
    const usual = Math.max(5, Number(section.dataset.refreshSeconds));
    clearTimeout(timer);
    timer = setTimeout(
      async () => {
        const isWhole = view.series !== null && part("trouble").hidden;
        const settled = view.range.part && isWhole && Date.now() > view.series.end + 60_000;
        if (!settled) await refresh();
        again();
      },
      1000 * (empty ? Math.min(EMPTY_SECONDS, usual) : usual),
    );
  };

  // Links say what the URL says by now.
  const renewLinks = () => {
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

  const showButtons = () => {
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

  const show = (time) => {
    view.range.part = time;
    showInUrl(view.range);
    showButtons();
    clearTimeout(timer);
    refresh().then(again);
  };

  const readWindows = () => {
    const found = document.getElementById("comparison")?.dataset ?? {};
    const windows = ["before", "after"]
      .filter((name) => found[`${name}Start`])
      .map((name) => ({
        name,
        from: Date.parse(found[`${name}Start`]),
        to: Date.parse(found[`${name}End`]),
      }));
    if (JSON.stringify(windows) === JSON.stringify(view.windows)) return; // another part was swapped
    view.windows = windows;
    draw();
  };

  const { whoUrl } = section.dataset;
  const choose = (bucket) => whoUrl && askOfBucket(whoUrl, view.series, bucket);
  for (const figure of figures) listen(figure, view, point, choose);
  if (whoUrl) listenToWho(whoUrl);
  section.addEventListener("click", ({ target }) => {
    const line = target.closest("[data-line]")?.dataset.line;
    const move = target.closest("[data-move]")?.dataset.move;
    if (line) {
      if (!view.hidden.delete(line)) view.hidden.add(line);
      state.write({ hide: [...view.hidden].join(",") });
      draw();
    }
    const figure = target.closest("[data-chart-png]") && figures.find(({ element }) => element.contains(target));
    if (figure?.chart) {
      const file = part("csv").pathname.split("/").slice(-2)[0];
      save(figure, view, `${file}-${figure.panel.name}`);
    }
    if (move && view.series) show(MOVES[move](view.series));
  });
  part("custom").addEventListener("submit", (event) => {
    const { from, to } = part("custom").elements;
    const ends = [untyped(from.value), untyped(to.value)];
    event.preventDefault();
    part("custom").closest("details").open = false;
    show(partOf(Math.min(...ends), Math.max(...ends)));
  });
  for (const form of section.querySelectorAll("[data-over-form]")) {
    form.addEventListener("submit", (event) => {
      const chosen = Object.fromEntries(["over", "with", "job"].map((name) => [name, form.elements[name]?.value]));
      event.preventDefault();
      location.assign(linkOver(chosen, "overMoves" in form.dataset ? { ...view.range, part: null } : view.range));
    });
  }
  part("utc").addEventListener("click", () => {
    toggleUtc();
    location.reload(); // the server tells times too
  });
  document.addEventListener("charts:state", renewLinks);
  foldable(figures, ({ panel }) => (panel.is_apart ? refresh() : draw()));
  if (inUtc()) showZoneInUrl();
  part("utc").hidden = false;
  part("tools").hidden = false;
  showButtons();
  document.addEventListener("htmx:after:swap", () => {
    readWindows();
    if (view.series === null) return;
    const isAsItCame = part("panels").getAttribute("aria-busy") === "true";
    if (isAsItCame && view.series.totals.covered_seconds > 0) take(view.series, view.marks);
    else showZone();
  });
  document.addEventListener("visibilitychange", refresh);
  new MutationObserver(draw).observe(document.documentElement, {
    attributeFilter: ["data-bs-theme"],
  });
  new ResizeObserver(() => requestAnimationFrame(() => view.series && read())).observe(section);
  begin().then(again);
};

document.querySelectorAll("[data-charts]").forEach(start);

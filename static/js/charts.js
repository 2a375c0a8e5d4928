// The linked charts of <section data-charts>: asks for figures and job marks at the section's two URLs,
// shows them, and does what a person clicks. Without this script the section keeps its summary, its
// range links, its CSV and its table.
import { brought, fetchMarks, fetchSeries } from "./charts/answers.js";
import { listen } from "./charts/crosshair.js";
import { drawer, point, read } from "./charts/drawing.js";
import { foldable } from "./charts/fold.js";
import { inUtc, showZoneInUrl, toggleUtc, untyped } from "./charts/format.js";
import { renewLinks, showButtons } from "./charts/links.js";
import { listMarks } from "./charts/marks.js";
import { save } from "./charts/picture.js";
import { linkOver, MOVES, partOf, showInUrl } from "./charts/range.js";
import { bucketAt, decoded } from "./charts/series.js";
import { isApart, isEmpty, setOf } from "./charts/set.js";
import * as state from "./charts/state.js";
import { showFigures, showSummary, showZone } from "./charts/surroundings.js";
import { askOfBucket, listenToWho } from "./charts/who.js";
import { windowsOnPage } from "./charts/windows.js";

const EMPTY_SECONDS = 5; // how often to look for the first point

const start = (section) => {
  const set = setOf(section);
  const { figures, part, view } = set;
  const draw = drawer(set, (time) => show(time));
  let asked = 0;
  let timer = null;

  const take = (answer, marks) => {
    Object.assign(view, { series: decoded(answer), marks });
    view.bucket = view.pointedAt === null ? null : bucketAt(view.series, view.pointedAt);
    showSummary(set, answer);
    showZone(set);
    const wasApart = isApart(set);
    showFigures(set, answer);
    listMarks(set);
    renewLinks(set);
    draw();
    if (isApart(set) && !wasApart) refresh(); // a cache came: its figures were not asked for yet
  };

  const refresh = async () => {
    if (document.hidden) return;
    const turn = ++asked;
    try {
      const [answer, marks] = await Promise.all([fetchSeries(set), fetchMarks(set)]);
      if (turn !== asked) return; // the person zoomed meanwhile
      part("trouble").hidden = true;
      take(answer, marks);
    } catch {
      if (turn === asked) part("trouble").hidden = false;
    }
  };

  // The page brought its figures with it, but for those that only an opened chart needs.
  const begin = async () => {
    const turn = ++asked;
    try {
      take(brought(), []);
      if (isApart(set)) return refresh();
      const marks = await fetchMarks(set);
      if (turn !== asked) return;
      view.marks = marks;
      listMarks(set);
      draw();
    } catch {
      if (turn === asked) part("trouble").hidden = false;
    }
  };

  // While nothing is there yet the first point shall be seen soon; a time in the past stays.
  const again = () => {
    const usual = Math.max(5, Number(section.dataset.refreshSeconds));
    clearTimeout(timer);
    timer = setTimeout(
      async () => {
        const isWhole = view.series !== null && part("trouble").hidden;
        const settled = view.range.part && isWhole && Date.now() > view.series.end + 60_000;
        if (!settled) await refresh();
        again();
      },
      1000 * (isEmpty(view) ? Math.min(EMPTY_SECONDS, usual) : usual),
    );
  };

  const show = (time) => {
    view.range.part = time;
    showInUrl(view.range);
    showButtons(set);
    clearTimeout(timer);
    refresh().then(again);
  };

  const readWindows = () => {
    const windows = windowsOnPage();
    if (JSON.stringify(windows) === JSON.stringify(view.windows)) return; // another part was swapped
    view.windows = windows;
    draw();
  };

  const toggleLine = (line) => {
    if (!view.hidden.delete(line)) view.hidden.add(line);
    state.write({ hide: [...view.hidden].join(",") });
    draw();
  };

  const savePicture = (figure) => {
    const file = part("csv").pathname.split("/").slice(-2)[0];
    save(figure, view, `${file}-${figure.panel.name}`);
  };

  const { whoUrl } = section.dataset;
  const choose = (bucket) => whoUrl && askOfBucket(whoUrl, view.series, bucket);
  for (const figure of figures) listen(figure, view, (bucket) => point(set, bucket), choose);
  if (whoUrl) listenToWho(whoUrl);
  section.addEventListener("click", ({ target }) => {
    const line = target.closest("[data-line]")?.dataset.line;
    const move = target.closest("[data-move]")?.dataset.move;
    const figure = target.closest("[data-chart-png]") && figures.find(({ element }) => element.contains(target));
    if (line) toggleLine(line);
    if (figure?.chart) savePicture(figure);
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
  document.addEventListener("charts:state", () => renewLinks(set));
  foldable(figures, ({ panel }) => (panel.is_apart ? refresh() : draw()));
  if (inUtc()) showZoneInUrl();
  part("utc").hidden = false;
  part("tools").hidden = false;
  showButtons(set);
  document.addEventListener("htmx:after:swap", () => {
    readWindows();
    if (view.series === null) return;
    const isAsItCame = part("panels").getAttribute("aria-busy") === "true";
    if (isAsItCame && view.series.totals.covered_seconds > 0) take(view.series, view.marks);
    else showZone(set);
  });
  document.addEventListener("visibilitychange", refresh);
  new MutationObserver(draw).observe(document.documentElement, {
    attributeFilter: ["data-bs-theme"],
  });
  new ResizeObserver(() => requestAnimationFrame(() => view.series && read(set))).observe(section);
  begin().then(again);
};

document.querySelectorAll("[data-charts]").forEach(start);

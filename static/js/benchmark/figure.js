// One chart of a benchmark: draws its lines, and says what is under its marker.
import { colour } from "../charts/colour.js";
import { saveSheet, wrapped } from "../charts/sheet.js";
import { axesOf, duration } from "./axes.js";
import { build, DASHES, described, renew, said } from "./legend.js";
import { linesOf, placesOf } from "./lines.js";

const FEW = 30; // points of a line: so few are dots, too

const dataset = (line, isHidden) => ({
  label: line.label,
  hidden: isHidden,
  data: line.points,
  borderColor: colour(line.colour),
  backgroundColor: colour(line.colour),
  borderDash: DASHES[line.dash] ?? [],
  borderWidth: line.points.length > FEW ? 1.5 : 2,
  pointRadius: line.points.length > FEW ? 0 : 3,
  spanGaps: false,
});

const zoomOf = (chosen) => ({
  zoom: {
    mode: "x",
    drag: { enabled: true, threshold: 6, backgroundColor: colour("primary", 0.2) },
    wheel: { enabled: true, modifierKey: "ctrl" },
    onZoomComplete: ({ chart }) => chosen(chart.scales.x.min, chart.scales.x.max),
  },
});

// `chosen(from, to)` is called with the seconds that a person zoomed into; null where a chart has no time.
export const figureOf = (element, chart, texts, chosen) => {
  const part = (name) => element.querySelector(name);
  const [canvas, legend, hair, readout] = ["canvas", ".chart-legend", ".chart-hair", ".chart-readout"].map(part);
  const hidden = new Set();
  const figure = { element, chart, isLog: chart.is_log, lines: linesOf(chart), places: [], at: null, drawn: null };

  const words = (x) => {
    if (x === null) return "";
    if (figure.chart.across === "time") return duration(x);
    const near = figure.chart.ticks.find(([value]) => Math.abs(value - x) < 1e-9);
    return near ? near[1] : "";
  };

  const place = () => {
    const area = figure.drawn?.chartArea;
    hair.hidden = figure.at === null || !area;
    if (hair.hidden) return;
    const x = figure.drawn.scales.x.getPixelForValue(figure.at);
    hair.hidden = x < area.left || x > area.right;
    hair.style.left = `${x}px`;
    hair.style.top = `${area.top}px`;
    hair.style.height = `${area.bottom - area.top}px`;
  };

  figure.point = (x) => {
    figure.at = x;
    renew(legend, figure.lines, x, figure.chart.unit);
    readout.textContent = words(x);
    place();
  };

  figure.draw = () => {
    const { lines } = figure;
    const seen = lines.filter(({ name }) => !hidden.has(name));
    const scales = axesOf(figure.chart, seen, figure.isLog);
    const options = {
      animation: false,
      parsing: false,
      normalized: true,
      maintainAspectRatio: false,
      events: [], // the marker and the zoom listen for themselves
      layout: { padding: { right: 8, top: 4 } },
      scales,
      plugins: {
        legend: { display: false },
        tooltip: { enabled: false },
        zoom: chosen ? zoomOf(chosen) : {},
      },
    };
    const data = { datasets: lines.map((line) => dataset(line, hidden.has(line.name))) };
    figure.places = placesOf(seen);
    if (figure.drawn === null) figure.drawn = new Chart(canvas, { type: "line", data, options });
    else {
      Object.assign(figure.drawn, { data, options });
      figure.drawn.update("none");
    }
    build(legend, lines, hidden, texts.line);
    figure.point(figure.at);
    const last = (line) => `${line.label} ${said(line, line.points.at(-1)?.x ?? null, figure.chart.unit)}`;
    canvas.setAttribute("aria-label", `${figure.chart.title}: ${lines.map(last).join(", ")}`);
  };

  figure.take = (newer) => {
    figure.chart = newer;
    figure.lines = linesOf(newer);
    figure.draw();
  };

  figure.toggle = (name) => {
    if (!hidden.delete(name)) hidden.add(name);
    figure.draw();
    legend.querySelector(`[data-line="${CSS.escape(name)}"]`).focus();
  };

  figure.save = () => {
    const shown = figure.lines.filter(({ name }) => !hidden.has(name)).map(described);
    const lines = [`${document.title}: ${figure.chart.title}`, ...wrapped(shown, canvas.clientWidth)];
    saveSheet(canvas, lines, `${texts.file}-${figure.chart.name}`);
  };

  return figure;
};

// The configuration of Chart.js for one panel.
import { colour } from "./colour.js";
import { clock, number } from "./format.js";
import { bandsOf, jobLines } from "./notes.js";
import { linesOf, middle, unitsOf } from "./series.js";

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const MINUTE = 60_000;
const TICK_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, Infinity];
const LEFT_WIDTH = 62; // the same in every panel, so that equal times stand above each other
const FAINT = 0.3;

// Round local times, as many as there is room for.
const timeTicks = ({ min, max, width }) => {
  const shift = new Date(max).getTimezoneOffset() * MINUTE;
  const step = TICK_MINUTES.find((n) => (max - min) / (n * MINUTE) <= width / 60) * MINUTE;
  const first = Math.ceil((min - shift) / step) * step + shift;
  const count = Math.max(0, Math.floor((max - first) / step) + 1);
  return Array.from({ length: count }, (_, n) => ({ value: first + n * step }));
};

const valueAxis = (axis, unit, n, count) => ({
  position: "left",
  min: 0,
  max: axis.scale === "percent" ? 100 : undefined,
  grace: axis.scale === "percent" ? 0 : "10%",
  stack: "left",
  stackWeight: axis.weight,
  weight: count - n,
  title: {
    display: true,
    text: axis.title && innerWidth >= 576 ? `${axis.title}, ${unit}` : unit,
    color: colour("secondary"),
  },
  ticks: {
    color: colour("secondary"),
    maxTicksLimit: count > 1 ? 4 : 6,
    // The top of an axis below another is the bottom of that one, which says 0 there.
    callback: (value, tick, all) => (n && tick && tick === all.length - 1 ? "" : number(value)),
  },
  grid: { color: colour("border-color") },
  border: { display: false },
  afterFit: (scale) => {
    scale.width = LEFT_WIDTH;
  },
});

// A point between two gaps has no line to be seen by. A list for all points is slow: only if need be.
const radius = (values) => {
  const alone = values.map(
    (value, n) =>
      value !== null && (values[n - 1] ?? null) === null && (values[n + 1] ?? null) === null,
  );
  return alone.includes(true) ? alone.map((is) => (is ? 2 : 0)) : 0;
};

const faded = (line, weak) => {
  if (!line.faint.includes(true)) return {};
  const isFaint = ({ p0DataIndex, p1DataIndex }) =>
    line.faint[p0DataIndex] || line.faint[p1DataIndex];
  return { segment: { borderColor: (context) => (isFaint(context) ? weak : undefined) } };
};

const dataset = (line, series, isHidden) => {
  const strong = colour(line.colour);
  return {
    ...faded(line, colour(line.colour, FAINT)),
    name: line.name,
    label: line.label,
    hidden: isHidden,
    yAxisID: `y${line.axis}`,
    data: line.values.map((value, n) => ({
      x: middle(series, n),
      y: value === null ? null : value * line.factor,
    })),
    borderColor: strong,
    backgroundColor: line.dash === "filled" ? colour(line.colour, 0.2) : strong,
    fill: line.dash === "filled" ? "origin" : false,
    borderDash: DASHES[line.dash] ?? [],
    borderWidth: 1.5,
    pointBackgroundColor: strong,
    pointBorderWidth: 0,
    pointRadius: radius(line.values),
    spanGaps: false,
  };
};

export const configuration = (panel, view, zoom) => {
  const { series } = view;
  const isFirst = panel.name === view.first;
  const units = unitsOf(panel, series);
  const scales = Object.fromEntries(
    panel.axes.map((axis, n) => [`y${n}`, valueAxis(axis, units[n], n, panel.axes.length)]),
  );
  scales.x = {
    type: "time",
    min: series.start,
    max: series.end,
    afterBuildTicks: (axis) => void (axis.ticks = timeTicks(axis)),
    ticks: { color: colour("secondary"), maxRotation: 0, callback: (at) => clock(at).slice(0, 5) },
    grid: { color: colour("border-color") },
  };
  return {
    data: {
      datasets: linesOf(panel, series).map((line) =>
        dataset(line, series, view.hidden.has(line.name)),
      ),
    },
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      maintainAspectRatio: false,
      events: [], // the crosshair and the zoom listen for themselves
      layout: { padding: { right: 8 } },
      scales,
      plugins: {
        legend: { display: false },
        tooltip: { enabled: false },
        annotation: { annotations: jobLines(view, isFirst) },
        bands: { list: bandsOf(view, isFirst), color: colour("secondary") },
        zoom,
      },
    },
  };
};

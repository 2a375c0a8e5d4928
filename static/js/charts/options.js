// The configuration of Chart.js for one panel.
import { colour } from "./colour.js";
import { clock, date, number, offset } from "./format.js";
import { bandsOf, jobLines } from "./notes.js";
import { linesOf, middle, unitsOf } from "./series.js";

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const MINUTE = 60_000;
const DAY = 1440;
const TICK_MINUTES = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720],
  ...[DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY, Infinity],
];
const ROUND = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10]; // times a power of ten: half of them is easy to read too
const LEFT_WIDTH = 62; // the same in every panel, so that equal times stand above each other
const FAINT = 0.3;

// Round times of the zone that is shown, as many as there is room for.
const timeTicks = ({ min, max, width }) => {
  const shift = -offset(max);
  const step = TICK_MINUTES.find((n) => (max - min) / (n * MINUTE) <= width / 60) * MINUTE;
  const first = Math.ceil((min - shift) / step) * step + shift;
  const count = Math.max(0, Math.floor((max - first) / step) + 1);
  return Array.from({ length: count }, (_, n) => ({ value: first + n * step }));
};

const titleOf = (title, unit) => {
  if (unit.startsWith("/")) return title + unit;
  return title && innerWidth >= 576 ? `${title}, ${unit}` : unit;
};

const timeText = (at) =>
  (at + offset(at)) % (DAY * MINUTE) === 0 ? date(at) : clock(at);

// The round number at or above the most that an axis has to show.
const roundTop = (most) => {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return power * ROUND.find((times) => times * power >= most * 0.999);
};

// Labels at 0, in the middle and at the top. An axis below another has room above its top, where
// that one writes its 0.
const valueAxis = (axis, unit, n, top, count) => ({
  position: "left",
  min: 0,
  max: n ? 1.25 * top : top,
  stack: "left",
  stackWeight: axis.weight,
  weight: count - n,
  title: {
    display: true,
    text: titleOf(axis.title, unit),
    color: colour("secondary"),
  },
  ticks: {
    color: colour("secondary"),
    autoSkip: false,
    callback: number,
  },
  afterBuildTicks: (scale) => {
    scale.ticks = [0, top / 2, top].map((value) => ({ value }));
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
  return alone.includes(true) ? alone.map((is) => (is ? 3 : 0)) : 0;
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
  const lines = linesOf(panel, series);
  const topOf = (n) =>
    lines
      .filter((line) => line.axis === n && !view.hidden.has(line.name))
      .reduce((most, { values, factor }) => Math.max(most, ...values.map((y) => y * factor)), 0);
  const scales = Object.fromEntries(
    panel.axes.map((axis, n) => {
      const top = axis.scale === "percent" ? 100 : roundTop(topOf(n));
      return [`y${n}`, valueAxis(axis, units[n], n, top, panel.axes.length)];
    }),
  );
  scales.x = {
    type: "time",
    min: series.start,
    max: series.end,
    afterBuildTicks: (axis) => void (axis.ticks = timeTicks(axis)),
    ticks: { color: colour("secondary"), maxRotation: 0, callback: timeText },
    grid: { color: colour("border-color") },
  };
  return {
    data: {
      datasets: lines.map((line) => dataset(line, series, view.hidden.has(line.name))),
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

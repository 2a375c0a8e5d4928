// The configuration of Chart.js for one panel.
import { colour } from "./colour.js";
import { heatAxis, heightOf, isHeat } from "./heat.js";
import { clock, date, number, offset } from "./format.js";
import { limitsOf, withLimit } from "./limits.js";
import { bandsOf, lanesOf } from "./notes.js";
import { roundTop } from "./number.js";
import { linesOf, middle, unitsFor } from "./series.js";

const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const MINUTE = 60_000;
const DAY = 1440;
const TICK_MINUTES = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720],
  ...[DAY, 2 * DAY, 4 * DAY, 7 * DAY],
];
const MONTHS = [1, 2, 3, 6, 12];
const MONTH_MINUTES = 30 * DAY;
const LEFT_WIDTH = 62; // the same in every panel, so that equal times stand above each other
const FAINT = 0.3;
const BAND = 0.16;
const BESIDE = 0.35; // what is laid over: a wide pale line

// The first days of months. The year stands at the first of them and at January.
const monthTicks = ({ min, max }, room) => {
  const most = (max - min) / (MONTH_MINUTES * MINUTE);
  const every = MONTHS.find((n) => most / n <= room) ?? 12;
  const day = new Date(min + offset(min));
  let month = Math.ceil(day.getUTCMonth() / every) * every;
  const ticks = [];
  for (;;) {
    const at = Date.UTC(day.getUTCFullYear(), month, 1);
    const value = at - offset(at);
    if (value > max) return ticks;
    if (value >= min) ticks.push({ value, hasYear: ticks.length === 0 || month % 12 === 0 });
    month += every;
  }
};

// Round times of the zone that is shown, as many as there is room for.
const timeTicks = ({ min, max, width }) => {
  const shift = -offset(max);
  const minutes = TICK_MINUTES.find((n) => (max - min) / (n * MINUTE) <= width / 60);
  if (minutes === undefined) return monthTicks({ min, max }, width / 80);
  const step = minutes * MINUTE;
  const first = Math.ceil((min - shift) / step) * step + shift;
  const count = Math.max(0, Math.floor((max - first) / step) + 1);
  return Array.from({ length: count }, (_, n) => ({ value: first + n * step }));
};

const titleOf = (title, unit) => {
  if (unit.startsWith("/")) return title + unit;
  return title && innerWidth >= 576 ? `${title}, ${unit}` : unit;
};

const timeText = (at, n, ticks) =>
  (at + offset(at)) % (DAY * MINUTE) === 0 ? date(at, ticks[n].hasYear) : clock(at);

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
    padding: 0,
  },
  ticks: {
    color: colour("secondary"),
    autoSkip: false,
    callback: number,
    padding: 4,
  },
  afterBuildTicks: (scale) => {
    scale.ticks = [0, top / 2, top].map((value) => ({ value }));
  },
  grid: { color: colour("border-color"), drawTicks: false }, // no room for them beside the title
  border: { display: false },
  afterFit: (scale) => {
    scale.width = LEFT_WIDTH;
  },
});

const points = (values, series, yOf) =>
  values.map((value, n) => ({ x: middle(series, n), y: value === null ? null : yOf(value) }));

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

// Stacked lines are areas upon each other; elsewhere only what is "filled" is one.
const filling = (line) => {
  if (line.dash === "stacked") return { fill: "stack", alpha: 0.55, stack: `y${line.axis}` };
  return line.dash === "filled" ? { fill: "origin", alpha: 0.2 } : { fill: false, alpha: 1 };
};

const dataset = (line, series, isHidden, yOf) => {
  const strong = colour(line.colour);
  const { alpha, ...area } = filling(line);
  return {
    ...area,
    ...faded(line, colour(line.colour, FAINT)),
    name: line.name,
    label: line.label,
    hidden: isHidden,
    yAxisID: `y${line.axis}`,
    data: points(line.values, series, yOf(line)),
    borderColor: strong,
    backgroundColor: alpha < 1 ? colour(line.colour, alpha) : strong,
    borderDash: DASHES[line.dash] ?? [],
    borderWidth: 1.5,
    pointBackgroundColor: strong,
    pointBorderWidth: 0,
    pointRadius: radius(line.values),
    spanGaps: false,
  };
};

// What is laid over a line: wide and pale below it, so that its shape distinguishes it, too.
const paleDataset = (line, series, isHidden, yOf) => ({
  name: `${line.name} beside`,
  hidden: isHidden,
  stack: "beside",
  yAxisID: `y${line.axis}`,
  data: points(line.overlay, series, yOf(line)),
  borderColor: colour(line.colour, BESIDE),
  borderWidth: 4,
  pointRadius: 0,
  spanGaps: false,
});

// Two edges without lines, the second filled down to the first.
const bandDatasets = (line, series, isHidden, yOf) =>
  ["least", "most"].map((edge) => ({
    name: `${line.name} ${edge}`,
    hidden: isHidden,
    yAxisID: `y${line.axis}`,
    data: points(line.band[edge], series, yOf(line)),
    borderWidth: 0,
    pointRadius: 0,
    spanGaps: false,
    fill: edge === "most" ? "-1" : false,
    backgroundColor: colour(line.colour, BAND),
  }));

// The most that an axis has to show: of its lines, and of those that are stacked together.
const mostOf = (lines, points) => {
  const single = lines.reduce(
    (most, { values, overlay, band, factor }) =>
      [...values, ...overlay, ...(band?.most ?? [])].reduce((top, y) => Math.max(top, y * factor), most),
    0,
  );
  const stacked = lines.filter((line) => line.dash === "stacked");
  const sums = Array.from({ length: stacked.length > 0 ? points : 0 }, (_none, n) =>
    stacked.reduce((sum, line) => sum + line.values[n] * line.factor, 0),
  );
  return sums.reduce((most, sum) => Math.max(most, sum), single);
};

export const configuration = (panel, view, zoom) => {
  const { series } = view;
  const isFirst = panel.name === view.first;
  const units = unitsFor(panel, series);
  const lines = linesOf(panel, series);
  const below = isFirst ? lanesOf(view) : { list: [], height: 0 };
  const isSeen = (line) => !view.hidden.has(line.name);
  const yOf = isHeat(panel)
    ? () => (ms) => heightOf(ms, series.heat.bounds_ms)
    : ({ factor }) => (value) => value * factor;
  const scaleOf = (axis, n) => {
    const seen = lines.filter((line) => line.axis === n && isSeen(line));
    const top = axis.scale === "percent" ? 100 : roundTop(withLimit(axis, mostOf(seen, series.points), units[n].factor));
    const scale = valueAxis(axis, units[n].unit, n, top, panel.axes.length);
    if (isHeat(panel)) return heatAxis(scale, series.heat.bounds_ms);
    return { ...scale, stacked: seen.some((line) => line.dash === "stacked") };
  };
  const scales = Object.fromEntries(panel.axes.map((axis, n) => [`y${n}`, scaleOf(axis, n)]));
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
      datasets: [
        ...lines.map((line) => dataset(line, series, !isSeen(line), yOf)),
        ...lines
          .filter((line) => line.overlay.length > 0)
          .map((line) => paleDataset(line, series, !isSeen(line), yOf)),
        ...lines
          .filter((line) => line.band !== null)
          .flatMap((line) => bandDatasets(line, series, !isSeen(line), yOf)),
      ],
    },
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      maintainAspectRatio: false,
      events: [], // the crosshair and the zoom listen for themselves
      layout: { padding: { right: 8, bottom: below.height } },
      scales,
      plugins: {
        legend: { display: false },
        tooltip: { enabled: false },
        lanes: below,
        heat: isHeat(panel)
          ? { panel, series, paint: (strength) => colour("blue", strength) }
          : { series: null },
        bands: { list: bandsOf(view, isFirst), color: colour("secondary") },
        limits: { list: limitsOf(panel, series, units) },
        zoom,
      },
    },
  };
};

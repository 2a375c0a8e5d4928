// The axes of a benchmark's charts: seconds since the measurement began, percentiles by their nines, or
// the ratio of data to cache; IOPS, milliseconds or shares upwards.
import { colour } from "../charts/colour.js";
import { number, roundTop } from "../charts/number.js";

const LEFT_WIDTH = 62; // the same in every chart, so that equal times stand above each other
const TICK_PIXELS = 70;
const TICK_SECONDS = [
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800],
  ...[3600, 7200, 14_400, 21_600, 43_200, 86_400],
];
const MINUTE = 60;
const HOUR = 3600;

// "30 s", "5 min", "2 h", "2 h 30 min".
export const duration = (seconds) => {
  if (seconds === 0) return "0";
  if (Math.abs(seconds) < MINUTE) return `${number(seconds)} s`;
  const hours = Math.floor(seconds / HOUR);
  const minutes = Math.floor((seconds % HOUR) / MINUTE);
  const rest = Math.floor(seconds % MINUTE);
  const parts = [hours && `${hours} h`, minutes && `${minutes} min`, !hours && rest && `${rest} s`];
  return parts.filter(Boolean).join(" ");
};

const timeTicks = ({ min, max, width }) => {
  const step = TICK_SECONDS.find((each) => (max - min) / each <= width / TICK_PIXELS) ?? TICK_SECONDS.at(-1);
  const first = Math.ceil(min / step);
  const count = Math.max(0, Math.floor(max / step) - first + 1);
  return Array.from({ length: count }, (_none, n) => ({ value: (first + n) * step }));
};

const lower = (chart, [min, max]) => {
  const isTime = chart.across === "time";
  const named = new Map(chart.ticks);
  return {
    type: "linear",
    min,
    max,
    afterBuildTicks: (axis) => {
      axis.ticks = isTime ? timeTicks(axis) : chart.ticks.map(([value]) => ({ value }));
    },
    ticks: {
      color: colour("secondary"),
      maxRotation: 0,
      autoSkip: !isTime,
      callback: (value) => (isTime ? duration(value) : named.get(value)),
    },
    title: { display: chart.across_title !== "", text: chart.across_title, color: colour("secondary"), padding: 0 },
    grid: { color: colour("border-color") },
  };
};

const decades = (least, most) => {
  const from = Math.floor(Math.log10(least));
  const to = Math.max(from + 1, Math.ceil(Math.log10(most)));
  return Array.from({ length: to - from + 1 }, (_none, n) => 10 ** (from + n));
};

const upright = (chart, values, isLog) => {
  const above = values.filter((value) => value > 0);
  const ticks = isLog
    ? decades(Math.min(...above), Math.max(...above))
    : [0, 0.5, 1].map((part) => part * (chart.top ?? roundTop(Math.max(0, ...above))));
  return {
    type: isLog ? "logarithmic" : "linear",
    min: ticks[0],
    max: ticks.at(-1),
    title: { display: true, text: chart.unit, color: colour("secondary"), padding: 0 },
    ticks: { color: colour("secondary"), autoSkip: false, callback: number, padding: 4 },
    afterBuildTicks: (axis) => {
      axis.ticks = ticks.map((value) => ({ value }));
    },
    grid: { color: colour("border-color"), drawTicks: false },
    border: { display: false },
    afterFit: (axis) => {
      axis.width = LEFT_WIDTH;
    },
  };
};

// Both, for the lines that are shown. Nothing above 0 has no logarithm: such a chart begins at 0.
export const axesOf = (chart, lines, isLog) => {
  const values = lines.flatMap((line) => line.points.map(({ y }) => y).filter((y) => y !== null));
  return { x: lower(chart, chart.span), y: upright(chart, values, isLog && values.some((y) => y > 0)) };
};

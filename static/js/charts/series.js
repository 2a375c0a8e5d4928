// The server's answer (storage/metrics/series.py) as charts draw it.
import { unitOf } from "./format.js";

// Bucket n lasts from `start + n * step` to `start + (n + 1) * step`, in milliseconds.
export const decoded = (answer) => {
  const start = Date.parse(answer.t0);
  const step = answer.step_seconds * 1000;
  return { ...answer, start, step, end: start + answer.points * step };
};

export const middle = (series, n) => series.start + (n + 0.5) * series.step;

export const bucketAt = (series, at) =>
  Math.max(0, Math.min(series.points - 1, Math.floor((at - series.start) / series.step)));

// A line's values, with those in their gaps that too few accesses made; `faint` says which.
export const valuesOf = (series, name) => {
  const told = series.series[name];
  const few = series.faint[name];
  if (!few) return { values: told, faint: told.map(() => false) };
  return {
    values: told.map((value, n) => value ?? few[n]),
    faint: told.map((value, n) => value === null && few[n] !== null),
  };
};

// The lines of a panel of which anything is known, each with the unit of its axis.
export const linesOf = (panel, series) => {
  const units = panel.axes.map((axis, n) => {
    const lines = panel.lines.filter((line) => line.axis === n);
    return unitOf(axis.scale, lines.flatMap((line) => series.series[line.name]));
  });
  return panel.lines
    .map((line) => ({ ...line, ...units[line.axis], ...valuesOf(series, line.name) }))
    .filter((line) => line.values.some((value) => value !== null));
};

export const unitsOf = (panel, series) =>
  panel.axes.map((axis, n) => {
    const lines = panel.lines.filter((line) => line.axis === n);
    return unitOf(axis.scale, lines.flatMap((line) => series.series[line.name])).unit;
  });

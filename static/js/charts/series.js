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
  const measured = series.series[name];
  const few = series.faint[name];
  if (!few) return { values: measured, faint: measured.map(() => false) };
  return {
    values: measured.map((value, n) => value ?? few[n]),
    faint: measured.map((value, n) => value === null && few[n] !== null),
  };
};

// What is laid over a line, each value at that of the same number; none where nothing is.
const overlay = (series, name) => series.over?.series[name] ?? [];

export const unitsFor = (panel, series) =>
  panel.axes.map((axis, n) => {
    const lines = panel.lines.filter((line) => line.axis === n);
    const values = lines.flatMap(({ name }) => [...series.series[name], ...overlay(series, name)]);
    return unitOf(axis.scale, values);
  });

// From the least to the most of the samples within each point; none where a point is one sample.
const bandOf = (series, name) => {
  const least = series.least?.[name];
  const most = series.most?.[name];
  const isWide = least?.some((value, n) => value !== null && most[n] > 1.02 * value);
  return isWide ? { least, most } : null;
};

const isKnown = (values) => values.some((value) => value !== null);

// The lines of a panel of which anything is known, each with the unit of its axis.
export const linesOf = (panel, series) => {
  const units = unitsFor(panel, series);
  return panel.lines
    .map((line) => ({
      ...line,
      label: series.labels[line.name] ?? line.label,
      ...units[line.axis],
      ...valuesOf(series, line.name),
      overlay: overlay(series, line.name),
      band: bandOf(series, line.name),
    }))
    .filter((line) => isKnown(line.values) || isKnown(line.overlay));
};

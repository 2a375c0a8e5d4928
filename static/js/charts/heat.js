// How long I/O took, as a map: the time to the right, latencies upwards in the classes that the kernel
// counts, and the stronger the colour, the more I/O. One hue, which also works for colour-blind people. Percentiles are lines upon it.
import { number, phrase } from "./format.js";

const FAINTEST = 0.06;

export const isHeat = (panel) => panel.is_heat;

// The histogram of each bucket, none where the panel has none of this time.
const countsOf = (panel, { heat }) => heat?.counts[panel.name] ?? [];

// Where a latency lies: class n from n to n + 1, within it on a scale of ratios. The first class
// begins at 0, the last one has no end.
export const heightOf = (ms, bounds) => {
  const n = bounds.findIndex((bound) => ms <= bound);
  if (n < 0) return bounds.length + 0.5;
  if (n === 0) return ms / bounds[0];
  return n + Math.log(ms / bounds[n - 1]) / Math.log(bounds[n] / bounds[n - 1]);
};

// Labels at 0.1, 1, 10 ms and so on, as far as they are bounds.
export const heatAxis = (axis, bounds) => ({
  ...axis,
  min: 0,
  max: bounds.length + 1,
  ticks: { ...axis.ticks, callback: (at) => number(bounds[at - 1]) },
  afterBuildTicks: (scale) => {
    scale.ticks = bounds.flatMap((bound, n) =>
      Number.isInteger(Math.log10(bound)) ? [{ value: n + 1 }] : [],
    );
  },
});

// What most I/O of bucket n took, in words; of the last bucket with any where n is null.
export const mostly = (panel, series, n) => {
  const { heat } = series;
  const counts = countsOf(panel, series);
  const row = counts[n ?? counts.findLastIndex((each) => each !== null)];
  const all = (row ?? []).reduce((sum, count) => sum + count, 0);
  if (all === 0) return "-";
  const top = row.indexOf(Math.max(...row));
  const low = top === 0 ? 0 : heat.bounds_ms[top - 1];
  const share = number((100 * row[top]) / all);
  const high = heat.bounds_ms[top];
  if (high === undefined) return phrase("above", { low: number(low), share });
  return phrase("between", { low: number(low), high: number(high), share });
};

// The plugin of Chart.js that draws the map below the lines; `paint(strength)` is a colour.
export const heatMap = {
  id: "heat",
  beforeDatasetsDraw: ({ ctx, chartArea, scales }, _args, { panel, series, paint }) => {
    if (!series) return;
    const counts = countsOf(panel, series);
    const most = counts.reduce((top, row) => Math.max(top, ...(row ?? [])), 1);
    ctx.save();
    ctx.beginPath();
    ctx.rect(chartArea.left, chartArea.top, chartArea.width, chartArea.height);
    ctx.clip();
    counts.forEach((row, n) => {
      if (row === null) return;
      // Whole pixels: neighbours would show seams between them.
      const [left, right] = [n, n + 1].map((each) =>
        Math.round(scales.x.getPixelForValue(series.start + each * series.step)),
      );
      row.forEach((count, level) => {
        if (count === 0) return;
        const top = scales.y0.getPixelForValue(level + 1);
        const bottom = scales.y0.getPixelForValue(level);
        ctx.fillStyle = paint(FAINTEST + (1 - FAINTEST) * Math.sqrt(count / most));
        ctx.fillRect(left, top, Math.max(1, right - left), bottom - top);
      });
    });
    ctx.restore();
  },
};

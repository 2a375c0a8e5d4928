// From which figure on something is wrong (panel/charts/definitions.py: Limit), as a line with its words.
import { colour } from "./colour.js";
import { heightOf, isHeat } from "./heat.js";

const DASH = [2, 4];
const NEAR = 0.5; // figures that reach half of it make room for it
const ROOM = 1.05;

// The most that an axis has to show, with its limit where figures come near it.
export const withLimit = (axis, most, factor) => {
  const limit = (axis.limit?.figure ?? Infinity) * factor;
  return most >= NEAR * limit ? Math.max(most, ROOM * limit) : most;
};

// The lines of a panel, in the units of its axes.
export const limitsOf = (panel, series, units) =>
  panel.axes.flatMap(({ limit }, n) => {
    if (!limit) return [];
    const y = isHeat(panel) ? heightOf(limit.figure, series.heat?.bounds_ms ?? []) : limit.figure * units[n].factor;
    return [{ axis: `y${n}`, y, text: limit.text }];
  });

// The plugin of Chart.js that draws those that lie within their axis, upon the figures.
export const limits = {
  id: "limits",
  afterDatasetsDraw: ({ ctx, chartArea: { left, right }, scales }, _args, { list }) => {
    ctx.save();
    ctx.font = "11px sans-serif";
    ctx.textAlign = "left"; // the newest figures are on the right
    ctx.lineWidth = 1;
    ctx.setLineDash(DASH);
    for (const { axis, y, text } of list ?? []) {
      if (y > scales[axis].max) continue;
      const height = Math.round(scales[axis].getPixelForValue(y)) + 0.5;
      ctx.strokeStyle = colour("red");
      ctx.beginPath();
      ctx.moveTo(left, height);
      ctx.lineTo(right, height);
      ctx.stroke();
      // Its ground is read through lines that cross it.
      const { width } = ctx.measureText(text);
      ctx.fillStyle = colour("bg-surface", 0.8);
      ctx.fillRect(left, height - 13, width + 4, 12);
      ctx.fillStyle = colour("body-color");
      ctx.fillText(text, left + 2, height - 3);
    }
    ctx.restore();
  },
};

// What is drawn over the charts: jobs as lines and bands, and the two times that a person compares.
import { colour } from "./colour.js";

const MOST_LABELS = 6;
const LONG_JOB_STEPS = 3; // shorter than that, a band is no more than its line

const began = (mark) => Date.parse(mark.at);
const ended = (mark, series) => (mark.until === null ? series.end : Date.parse(mark.until));
const tone = (mark) => (mark.state === "failed" ? "red" : "primary");

const label = (text, line, borderColor) => ({
  display: true,
  content: text,
  position: "start",
  yAdjust: (line % 3) * 22, // neighbours' labels do not cover each other
  backgroundColor: colour("bg-surface"),
  borderColor,
  borderWidth: 1,
  color: colour("body-color"),
  font: { size: 11, weight: "normal" },
  padding: { x: 4, y: 2 },
});

// A line where each job began. Only the first panel has words: its lines go on through all.
export const jobLines = ({ marks, series }, isFirst) => {
  const shown = marks.filter((mark) => began(mark) >= series.start && began(mark) <= series.end);
  const labelled = isFirst && shown.length <= (innerWidth < 576 ? 3 : MOST_LABELS);
  return shown.map((mark, n) => {
    const borderColor = colour(tone(mark));
    const line = { type: "line", scaleID: "x", value: began(mark), borderWidth: 1, borderColor };
    line.borderDash = [4, 3];
    return labelled ? { ...line, label: label(mark.label, n, borderColor) } : line;
  });
};

// Times as shaded bands through all axes of a panel: long jobs, and what is compared.
export const bandsOf = ({ marks, windows, series }, isFirst) => [
  ...marks
    .filter((mark) => ended(mark, series) - began(mark) >= LONG_JOB_STEPS * series.step)
    .map((mark) => ({
      from: began(mark),
      to: ended(mark, series),
      fill: colour(tone(mark), 0.06),
      text: "",
    })),
  ...windows.map(({ name, from, to }) => ({
    from,
    to,
    fill: colour(name === "before" ? "orange" : "green", 0.15),
    text: isFirst ? name : "",
  })),
];

// The plugin of Chart.js that draws them, below the lines.
export const bands = {
  id: "bands",
  beforeDatasetsDraw: ({ ctx, chartArea, scales }, _args, { list, color }) => {
    const { left, right, top, bottom } = chartArea;
    ctx.save();
    ctx.font = "11px sans-serif";
    ctx.textAlign = "center";
    for (const band of list ?? []) {
      const from = Math.max(left, scales.x.getPixelForValue(band.from));
      const to = Math.min(right, scales.x.getPixelForValue(band.to));
      if (to <= from) continue;
      ctx.fillStyle = band.fill;
      ctx.fillRect(from, top, to - from, bottom - top);
      ctx.fillStyle = color;
      if (band.text) ctx.fillText(band.text, (from + to) / 2, top + 12);
    }
    ctx.restore();
  },
};

// What is drawn over the charts: jobs, restarts and alerts as lines, long jobs as bands, and the two
// times that a person compares.
import { colour } from "./colour.js";
import { phrase } from "./format.js";

const NEAR = 30; // so many numbers have room side by side
const NEAR_ON_PHONE = 10;
const LONG_JOB_STEPS = 3; // shorter than that, a band is no more than its line

const began = (mark) => Date.parse(mark.at);
const ended = (mark, series) => (mark.until === null ? series.end : Date.parse(mark.until));
const tones = { failed: "red", restart: "orange" };
const tone = (mark) => tones[mark.state] ?? "primary";

const label = (text, borderColor) => ({
  display: true,
  content: text,
  position: "start",
  backgroundColor: colour("bg-surface"),
  borderColor,
  borderWidth: 1,
  color: colour("body-color"),
  font: { size: 11, weight: "normal" },
  padding: { x: 4, y: 2 },
});

// By number of a job: the label at its line, with those of the jobs right after it, such as "2-4".
const numbers = (shown, { start, end }) => {
  const near = (end - start) / (innerWidth < 576 ? NEAR_ON_PHONE : NEAR);
  const groups = [];
  for (const { mark, number } of shown) {
    const last = groups.at(-1);
    if (last && began(mark) - last.at < near) last.to = number;
    else groups.push({ at: began(mark), from: number, to: number });
  }
  return new Map(
    groups.map(({ from, to }) => [from, from === to ? `${from}` : `${from}-${to}`]),
  );
};

// A line where each job began, with its number in the list below the charts. Only the first panel
// has numbers: its lines go on through all.
export const jobLines = ({ marks, series }, isFirst) => {
  const shown = marks
    .map((mark, n) => ({ mark, number: n + 1 }))
    .filter(({ mark }) => began(mark) >= series.start && began(mark) <= series.end);
  const labels = isFirst ? numbers(shown, series) : new Map();
  return shown.map(({ mark, number }) => {
    const borderColor = colour(tone(mark));
    const line = { type: "line", scaleID: "x", value: began(mark), borderWidth: 1, borderColor };
    line.borderDash = [4, 3];
    const text = labels.get(number);
    return text ? { ...line, label: label(text, borderColor) } : line;
  });
};

// Times as shaded bands through all axes of a panel: long jobs, and what is compared.
export const bandsOf = ({ marks, windows, series }, isFirst) => [
  ...marks
    .filter((mark) => mark.state !== "alert")
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
    text: isFirst ? phrase(name) : "",
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

// What is drawn beside the lines: jobs, restarts and alerts in lanes below the first chart, long jobs
// as bands through all of them, and the two times that a person compares.
import { colour } from "./colour.js";
import { phrase } from "./format.js";

const LONG_JOB_STEPS = 3; // shorter than that, a band is no more than its line
const LANES = ["job", "restart", "alert"];
const LANE_PIXELS = 6;
const LEAST_PIXELS = 3; // what took a moment is seen too
const NEAR_SHARE = 0.01; // of the time that is shown: as near as a pointer hits

const began = (mark) => Date.parse(mark.at);
const ended = (mark, series) => (mark.until === null ? series.end : Date.parse(mark.until));
const tones = { failed: "red", restart: "orange", alert: "red" };
const tone = (mark) => tones[mark.state] ?? "primary";
const laneOf = ({ state }) => (LANES.includes(state) ? state : "job");

// Lanes below the first chart: jobs, restarts and alerts that began in this time, as long as each
// lasted. Only those that there are take room.
export const lanesOf = ({ marks, series }) => {
  const shown = marks.filter((mark) => began(mark) >= series.start && began(mark) <= series.end);
  const names = LANES.filter((name) => shown.some((mark) => laneOf(mark) === name));
  return {
    height: names.length * LANE_PIXELS,
    list: shown.map((mark) => ({
      from: began(mark),
      to: ended(mark, series),
      row: names.indexOf(laneOf(mark)),
      fill: colour(tone(mark)),
    })),
  };
};

// The plugin of Chart.js that draws them, in the room that the layout leaves.
export const lanes = {
  id: "lanes",
  afterDraw: ({ ctx, chartArea, height, scales }, _args, { list, height: room }) => {
    ctx.save();
    for (const { from, to, row, fill } of list ?? []) {
      const left = scales.x.getPixelForValue(from);
      const right = Math.min(chartArea.right, scales.x.getPixelForValue(to));
      ctx.fillStyle = fill;
      ctx.fillRect(left, height - room + row * LANE_PIXELS, Math.max(LEAST_PIXELS, right - left), LANE_PIXELS - 2);
    }
    ctx.restore();
  },
};

// What began in bucket n, or so near to it that it is pointed at too.
export const marksAt = ({ marks, series }, n) => {
  const near = NEAR_SHARE * (series.end - series.start);
  const from = series.start + n * series.step;
  return marks.filter((mark) => began(mark) >= from - near && began(mark) <= from + series.step + near);
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

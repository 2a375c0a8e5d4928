// What is written over the charts: jobs as lines, and the two times that a person compares.
import { colour } from "./colour.js";

const MOST_LABELS = 6;
const LONG_JOB_STEPS = 3; // shorter than that, a band is no more than its line

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

const ofJobs = (marks, series, isFirst) => {
  const shown = marks.filter(
    (mark) => Date.parse(mark.at) >= series.start && Date.parse(mark.at) <= series.end,
  );
  const labelled = isFirst && shown.length <= (innerWidth < 576 ? 3 : MOST_LABELS);
  return shown.flatMap((mark, n) => {
    const name = mark.state === "failed" ? "red" : "primary";
    const at = Date.parse(mark.at);
    const until = mark.until === null ? series.end : Date.parse(mark.until);
    const line = { type: "line", scaleID: "x", value: at, borderWidth: 1, borderDash: [4, 3] };
    line.borderColor = colour(name);
    if (labelled) line.label = label(mark.label, n, line.borderColor);
    if (until - at < LONG_JOB_STEPS * series.step) return [line];
    const band = { type: "box", xMin: at, xMax: until, borderWidth: 0 };
    return [line, { ...band, backgroundColor: colour(name, 0.06) }];
  });
};

const ofWindows = (windows, isFirst) =>
  windows.map(({ name, from, to }) => ({
    type: "box",
    xMin: from,
    xMax: to,
    borderWidth: 0,
    backgroundColor: colour(name === "before" ? "orange" : "green", 0.13),
    drawTime: "beforeDatasetsDraw",
    label: {
      display: isFirst,
      content: name,
      position: { x: "center", y: "end" },
      color: colour("secondary"),
      font: { size: 11, weight: "normal" },
    },
  }));

// The annotations of a panel. Only the first panel has words: its lines go on through all.
export const notes = (view, isFirst) => [
  ...ofWindows(view.windows, isFirst),
  ...ofJobs(view.marks, view.series, isFirst),
];

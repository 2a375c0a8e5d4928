// The time that is shown: a range up to now, or a part of it that a person zoomed into. It is kept
// in the page's URL as panel/charts/time_range.py reads it.
import { moment } from "./format.js";
import * as state from "./state.js";

const SHORTEST = 60_000;
const SECTION = document.querySelector("[data-charts]");
const LONGEST = 1000 * Number(SECTION.dataset.longestSeconds);

export const rangeOf = (section) => {
  const { range, from, to } = section.dataset;
  return { key: range, part: from ? { from: Date.parse(from), to: Date.parse(to) } : null };
};

const names = ({ key, part }) => ({
  range: key,
  from: part && moment(part.from),
  to: part && moment(part.to),
});

// What the server is asked: the time, and whatever else of the page's URL it reads.
export const queryOf = (range) => {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(names(range))) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  return query.toString();
};

export const showInUrl = (range) => state.write(names(range));

// The same picture by the ends of its time, and another range with all else as it is.
export const linkTo = ({ key, start, end }) => `?${queryOf({ key, part: { from: start, to: end } })}#charts`;

export const linkOf = (key) => `?${queryOf({ key, part: null })}#charts`;

// The same time with other figures laid over; `chosen` has the parameters that say which.
export const linkOver = (chosen, range) => {
  const query = new URLSearchParams(queryOf(range));
  for (const name of ["over", "with", "job"]) {
    if (chosen[name]) query.set(name, chosen[name]);
    else query.delete(name);
  }
  return `?${query}#charts`;
};

// The part from `from` to `to`, not too short, not too long, and not in the future.
export const partOf = (from, to) => {
  const length = Math.min(LONGEST, Math.max(SHORTEST, to - from));
  const end = Math.min(Date.now(), (from + to + length) / 2);
  return { from: end - length, to: end };
};

// What the buttons do, with the time that is shown now.
export const MOVES = {
  in: ({ start, end }) => partOf(start + (end - start) / 4, end - (end - start) / 4),
  out: ({ start, end }) => partOf(start - (end - start) / 2, end + (end - start) / 2),
  earlier: ({ start, end }) => partOf(start - (end - start) / 2, end - (end - start) / 2),
  later: ({ start, end }) => partOf(start + (end - start) / 2, end + (end - start) / 2),
  reset: () => null,
};

// The zoom plugin's options; `zoomed(from, to)` is called when a person has chosen a time.
export const zoomOptions = (colour, zoomed) => ({
  limits: { x: { minRange: SHORTEST } },
  zoom: {
    mode: "x",
    drag: { enabled: true, threshold: 6, backgroundColor: colour("primary", 0.2) },
    wheel: { enabled: true, modifierKey: "ctrl" },
    onZoomComplete: ({ chart }) => zoomed(chart.scales.x.min, chart.scales.x.max),
  },
});

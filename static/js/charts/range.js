// The time that is shown: a range up to now, or a part of it that somebody zoomed into. It is kept
// in the page's URL as panel/charts/time_range.py reads it.
import { moment } from "./format.js";

const SHORTEST = 60_000;
export const LONGEST = 30 * 86_400_000; // samples are kept no longer

export const rangeOf = (section) => {
  const { range, from, to } = section.dataset;
  return { key: range, part: from ? { from: Date.parse(from), to: Date.parse(to) } : null };
};

const write = (range, query) => {
  query.set("range", range.key);
  for (const name of ["from", "to"]) {
    if (range.part) query.set(name, moment(range.part[name]));
    else query.delete(name);
  }
  return query;
};

export const queryOf = (range) => write(range, new URLSearchParams()).toString();

export const showInUrl = (range) => {
  const query = write(range, new URLSearchParams(location.search));
  history.replaceState(history.state, "", `?${query}${location.hash}`);
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

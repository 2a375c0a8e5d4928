// The lines of a chart as the server sends them (panel/benchmarks/drawn_charts.py), ready to draw.

// A line has its places (`xs`), or begins at `start` and goes on by `step`.
export const linesOf = (chart) =>
  chart.lines.map((line) => ({
    ...line,
    points: line.values.map((y, n) => ({ x: line.xs ? line.xs[n] : line.start + n * line.step, y })),
  }));

// The number of the point of a line that lies nearest to x.
export const nearest = ({ points }, x) => {
  let low = 0;
  let high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].x < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - points[low - 1].x < points[low].x - x ? low - 1 : low;
};

// Every x at which some line has a point, from left to right.
export const placesOf = (lines) =>
  [...new Set(lines.flatMap((line) => line.points.map(({ x }) => x)))].sort((a, b) => a - b);

// One crosshair through all panels: by the pointer, by touch, and by the arrow keys.
import { bucketAt, middle } from "./series.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 };

const CLICK = 6; // pixels; who moves further, drags

// `move(bucket)` is called with the number of a bucket, or null where nothing is pointed at;
// `choose(bucket)` with the one that was clicked, or on which Enter was pressed.
export const listen = (figure, view, move, choose) => {
  let downAt = 0;
  figure.box.addEventListener("pointerdown", ({ clientX }) => {
    downAt = clientX;
  });
  figure.box.addEventListener("click", ({ clientX }) => {
    if (view.series === null || !figure.chart || Math.abs(clientX - downAt) > CLICK) return;
    const { left, right } = figure.chart.chartArea;
    const x = clientX - figure.canvas.getBoundingClientRect().left;
    if (x < left || x > right) return;
    choose(bucketAt(view.series, figure.chart.scales.x.getValueForPixel(x)));
  });
  figure.box.addEventListener("pointermove", (event) => {
    if (view.series === null || !figure.chart) return;
    const { left, right } = figure.chart.chartArea;
    const x = event.clientX - figure.canvas.getBoundingClientRect().left;
    const inside = x >= left && x <= right;
    move(inside ? bucketAt(view.series, figure.chart.scales.x.getValueForPixel(x)) : null);
  });
  figure.box.addEventListener("pointerleave", () => move(null));
  figure.box.addEventListener("blur", () => move(null));
  figure.box.addEventListener("keydown", (event) => {
    if (view.series === null) return;
    const last = view.series.points - 1;
    if (event.key === "Escape") return move(null);
    if (event.key === "Enter") return view.bucket === null ? undefined : choose(view.bucket);
    if (event.key === "Home") move(0);
    else if (event.key === "End") move(last);
    else if (event.key in STEPS) {
      move(Math.max(0, Math.min(last, (view.bucket ?? last) + STEPS[event.key])));
    } else return;
    event.preventDefault();
  });
};

export const place = (figure, view) => {
  const area = figure.chart?.chartArea;
  figure.hair.hidden = view.bucket === null || !area;
  if (figure.hair.hidden) return;
  const x = figure.chart.scales.x.getPixelForValue(middle(view.series, view.bucket));
  figure.hair.hidden = x < area.left || x > area.right;
  figure.hair.style.left = `${x}px`;
  figure.hair.style.top = `${area.top}px`;
  figure.hair.style.height = `${area.bottom - area.top}px`;
};

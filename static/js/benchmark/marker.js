// The marker of a chart: by the pointer, by touch, and by the arrow keys.
const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 };

// `move(x)` is called with a place of the lower axis, or null where nothing is pointed at.
export const listen = (figure, move) => {
  const box = figure.element.querySelector(".chart-box");
  box.addEventListener("pointermove", ({ clientX }) => {
    const { chartArea, scales, canvas } = figure.drawn;
    const x = clientX - canvas.getBoundingClientRect().left;
    move(x < chartArea.left || x > chartArea.right ? null : near(figure, scales.x.getValueForPixel(x)));
  });
  box.addEventListener("pointerleave", () => move(null));
  box.addEventListener("blur", () => move(null));
  box.addEventListener("keydown", (event) => {
    const { places, at } = figure;
    const last = places.length - 1;
    if (last < 0) return;
    const now = at === null ? last : places.indexOf(near(figure, at));
    if (event.key === "Escape") move(null);
    else if (event.key === "Home") move(places[0]);
    else if (event.key === "End") move(places[last]);
    else if (event.key in STEPS) move(places[Math.max(0, Math.min(last, now + STEPS[event.key]))]);
    else return;
    event.preventDefault();
  });
};

const near = ({ places }, x) =>
  places.reduce((best, each) => (Math.abs(each - x) < Math.abs(best - x) ? each : best), places[0] ?? x);

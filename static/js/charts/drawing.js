// Draws the figures of a set, and says in each what is under the crosshair.
import { colour } from "./colour.js";
import { place } from "./crosshair.js";
import { dated, phrase } from "./format.js";
import { heatMap, isHeat, mostly } from "./heat.js";
import { renew, spoken } from "./legend.js";
import { limits } from "./limits.js";
import { bands, lanes, marksAt } from "./notes.js";
import { configuration } from "./options.js";
import { partOf, zoomOptions } from "./range.js";
import { middle } from "./series.js";
import { isEmpty, shown } from "./set.js";

// The time under the crosshair; the first chart names what its lanes have there.
const pointed = (panel, view) => {
  const time = dated(middle(view.series, view.bucket), view.series.step);
  const named = panel.name === view.first ? marksAt(view, view.bucket) : [];
  return [time, ...named.map(({ label }) => label)].join(" · ");
};

const describe = (figure, view) => {
  const { panel } = figure;
  renew(figure.legend, panel, view);
  if (isHeat(panel)) figure.words.textContent = mostly(panel, view.series, view.bucket);
  figure.readout.textContent =
    view.bucket === null ? `${phrase("last")} (${view.series.step_words})` : pointed(panel, view);
  place(figure, view);
};

export const read = (set) => shown(set).forEach((figure) => describe(figure, set.view));

// Lets the crosshair of all charts stand in a bucket, or in none.
export const point = (set, bucket) => {
  const { view } = set;
  if (bucket === view.bucket) return;
  view.bucket = bucket;
  view.pointedAt = bucket === null ? null : middle(view.series, bucket);
  requestAnimationFrame(() => read(set));
};

// `zoomed(part)` is called when a person has chosen a time in a chart; the result draws all charts.
export const drawer = (set, zoomed) => {
  const { view } = set;

  const drawOne = (figure) => {
    const zoom = zoomOptions(colour, (from, to) => zoomed(partOf(from, to)));
    const { data, options } = configuration(figure.panel, view, zoom);
    if (figure.chart === null) {
      const plugins = [heatMap, bands, lanes, limits];
      figure.chart = new Chart(figure.canvas, { type: "line", data, options, plugins }); // it draws itself
    } else {
      Object.assign(figure.chart, { data, options });
      figure.chart.update("none");
    }
    describe(figure, view);
    const values = spoken(figure.panel, view);
    figure.canvas.setAttribute("aria-label", phrase("spoken", { title: figure.panel.title, values }));
  };

  // Each is made once the one before it is seen, which is a frame after it was drawn.
  let isMaking = false;
  const makeNext = () => {
    isMaking = false; // where one cannot be made, the next figures try again
    const figure = shown(set).find(({ chart }) => chart === null);
    set.part("panels").setAttribute("aria-busy", String(figure !== undefined));
    if (figure === undefined) return;
    drawOne(figure);
    isMaking = true;
    requestAnimationFrame(() => requestAnimationFrame(makeNext));
  };

  return () => {
    if (isEmpty(view)) return;
    shown(set).filter(({ chart }) => chart !== null).forEach(drawOne);
    if (!isMaking) makeNext();
  };
};

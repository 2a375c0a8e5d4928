// The linked charts of a page: their section, its parts, a figure for each panel, and the view of them
// all. Panels are described by the server (panel/charts/definitions.py) in each figure's data-panel.
import { isFolded } from "./fold.js";
import { rangeOf } from "./range.js";
import * as state from "./state.js";

const figureOf = (element) => ({
  element,
  box: element.querySelector(".chart-box"),
  canvas: element.querySelector("canvas"),
  hair: element.querySelector(".chart-hair"),
  legend: element.querySelector(".chart-legend"),
  words: element.querySelector("[data-heat-words]"),
  readout: element.querySelector(".chart-readout"),
  panel: JSON.parse(element.dataset.panel),
  isBare: false, // nothing of it is drawn
  chart: null,
});

export const setOf = (section) => {
  const figures = [...section.querySelectorAll("[data-panel]")].map(figureOf);
  return {
    section,
    figures,
    part: (name) => section.querySelector(`[data-charts-${name}]`),
    view: {
      series: null,
      marks: [],
      windows: [],
      bucket: null, // under the crosshair
      pointedAt: null, // its time, which a new series may not move
      hidden: state.list("hide"),
      first: figures[0].panel.name, // the panel with the lanes and the words of bands
      range: rangeOf(section),
    },
  };
};

export const shown = ({ figures }) =>
  figures.filter((figure) => !figure.element.hidden && !figure.isBare && !isFolded(figure));

// Whether a chart is open whose figures are asked for apart from the others'.
export const isApart = ({ figures }) =>
  figures.some((figure) => figure.panel.is_apart && !figure.element.hidden && !isFolded(figure));

export const isEmpty = ({ series }) => series === null || series.totals.covered_seconds === 0;

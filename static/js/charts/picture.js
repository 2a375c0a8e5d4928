// A chart as a PNG file: its title, its time, its legend and what is drawn.
import { dated, zone } from "./format.js";
import { described } from "./legend.js";
import { linesOf } from "./series.js";
import { saveSheet, wrapped } from "./sheet.js";

export const save = ({ canvas, panel }, view, name) => {
  const { start, end, step, over } = view.series;
  const lines = [
    `${document.title}: ${panel.title}`,
    `${dated(start, step)} - ${dated(end, step)} (${zone()})`,
    ...wrapped(linesOf(panel, view.series).map(described), canvas.clientWidth),
    ...(over ? [over.words] : []),
  ];
  saveSheet(canvas, lines, name);
};

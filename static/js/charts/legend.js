// The legend of a panel: a button for each line, with its value under the crosshair or its last.
import { colour } from "./colour.js";
import { number, phrase, withUnit } from "./format.js";
import { linesOf } from "./series.js";

const SVG = "http://www.w3.org/2000/svg";
const AREAS = { filled: 0.35, stacked: 0.7 }; // how strong their samples are
const DASHES = { dashed: "5 3", dotted: "2 2" };

const sample = (line) => {
  const svg = document.createElementNS(SVG, "svg");
  const stroke = document.createElementNS(SVG, "line");
  const attributes = { x1: 0, x2: 18, y1: 5, y2: 5, stroke: colour(line.colour) };
  attributes["stroke-width"] = AREAS[line.dash] ? 8 : 2;
  attributes["stroke-opacity"] = AREAS[line.dash] ?? 1;
  attributes["stroke-dasharray"] = DASHES[line.dash] ?? "none";
  for (const [name, value] of Object.entries(attributes)) stroke.setAttribute(name, value);
  for (const [name, value] of Object.entries({ width: 18, height: 10, "aria-hidden": true })) {
    svg.setAttribute(name, value);
  }
  svg.append(stroke);
  return svg;
};

const entry = (line, view) => {
  const item = document.createElement("li");
  const button = document.createElement("button");
  const value = document.createElement("span");
  button.type = "button";
  button.dataset.line = line.name;
  button.setAttribute("aria-pressed", String(!view.hidden.has(line.name)));
  button.title = phrase("line");
  value.className = "num legend-value";
  button.append(sample(line), line.label, value);
  item.append(button);
  return item;
};

const written = (line, value) => withUnit(number(value * line.factor), line.unit);

// The value of a line in bucket n, or its last known one where n is null; with what is laid over.
const said = (line, n, over) => {
  const at = n ?? line.values.findLastIndex((value) => value !== null);
  const value = line.values[at] ?? null;
  const few = line.faint[at] ? ` ${phrase("few")}` : "";
  const text = value === null ? "-" : written(line, value) + few;
  const other = line.overlay[at] ?? null;
  if (!over || other === null) return text;
  return phrase("beside", { value: text, other: over.short, beside: written(line, other) });
};

// A line and how it is drawn, for the exported picture.
export const described = (line) => {
  const dash = { dashed: "- - ", dotted: "··· ", filled: "■ ", stacked: "■ " }[line.dash] ?? "— ";
  return `${dash}${line.label}, ${line.unit}`;
};

// The lines as text, for those who hear them.
export const spoken = (panel, view) =>
  linesOf(panel, view.series)
    .map((line) => `${line.label} ${said(line, view.bucket, view.series.over)}`)
    .join(", ");

export const renew = (list, panel, view) => {
  const lines = linesOf(panel, view.series);
  const shown = [...list.querySelectorAll("[data-line]")].map((button) => button.dataset.line);
  const theme = document.documentElement.dataset.bsTheme;
  if (shown.join() !== lines.map((line) => line.name).join() || list.dataset.theme !== theme) {
    list.replaceChildren(...lines.map((line) => entry(line, view)));
    list.dataset.theme = theme;
  }
  const buttons = list.querySelectorAll("[data-line]");
  lines.forEach((line, n) => {
    buttons[n].setAttribute("aria-pressed", String(!view.hidden.has(line.name)));
    buttons[n].querySelector(".legend-value").textContent = said(line, view.bucket, view.series.over);
  });
};

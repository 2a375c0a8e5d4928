// The legend of a benchmark's chart: a button for each line, with its value under the marker.
import { colour } from "../charts/colour.js";
import { number } from "../charts/number.js";
import { nearest } from "./lines.js";

const SVG = "http://www.w3.org/2000/svg";
export const DASHES = { dashed: [7, 4], dotted: [2, 3], mixed: [8, 3, 2, 3] };

const sample = (line) => {
  const svg = document.createElementNS(SVG, "svg");
  const stroke = document.createElementNS(SVG, "line");
  const attributes = { x1: 0, x2: 22, y1: 5, y2: 5, stroke: colour(line.colour), "stroke-width": 2.5 };
  attributes["stroke-dasharray"] = DASHES[line.dash]?.join(" ") ?? "none";
  for (const [name, value] of Object.entries(attributes)) stroke.setAttribute(name, value);
  for (const [name, value] of Object.entries({ width: 22, height: 10, "aria-hidden": true })) {
    svg.setAttribute(name, value);
  }
  svg.append(stroke);
  return svg;
};

const entry = (line, isShown, title) => {
  const item = document.createElement("li");
  const button = document.createElement("button");
  const value = document.createElement("span");
  button.type = "button";
  button.dataset.line = line.name;
  button.title = title;
  button.setAttribute("aria-pressed", String(isShown));
  value.className = "num legend-value";
  button.append(sample(line), line.label, value);
  item.append(button);
  return item;
};

// What a line has at x; nothing is said of a place that is beyond its ends.
export const said = (line, x, unit) => {
  if (x === null || line.points.length === 0) return "";
  const { y } = line.points[nearest(line, x)];
  return y === null ? "-" : `${number(y)} ${unit}`;
};

export const build = (list, lines, hidden, title) =>
  list.replaceChildren(...lines.map((line) => entry(line, !hidden.has(line.name), title)));

export const renew = (list, lines, x, unit) => {
  const values = list.querySelectorAll(".legend-value");
  lines.forEach((line, n) => {
    values[n].textContent = said(line, x, unit);
  });
};

export const described = (line) => {
  const dash = { dashed: "- - ", dotted: "··· ", mixed: "-·- " }[line.dash] ?? "— ";
  return dash + line.label;
};

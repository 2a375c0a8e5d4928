// A canvas as a PNG file, below lines of text that say what it shows.
import { colour } from "./colour.js";

const FONT = "13px sans-serif";
const LINE = 20;
const EDGE = 12;

// The words in lines that are no wider than the picture.
export const wrapped = (words, width) => {
  const context = document.createElement("canvas").getContext("2d");
  context.font = FONT;
  const lines = [""];
  for (const word of words) {
    const longer = lines.at(-1) ? `${lines.at(-1)} · ${word}` : word;
    if (context.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
};

const drawn = (canvas, lines) => {
  const width = canvas.clientWidth;
  const scale = canvas.width / width;
  const picture = document.createElement("canvas");
  const context = picture.getContext("2d");
  const top = EDGE + lines.length * LINE;
  picture.width = (width + 2 * EDGE) * scale;
  picture.height = (top + canvas.clientHeight + EDGE) * scale;
  context.scale(scale, scale);
  context.fillStyle = colour("bg-surface");
  context.fillRect(0, 0, picture.width, picture.height);
  context.fillStyle = colour("body-color");
  context.font = FONT;
  context.textBaseline = "top";
  lines.forEach((line, n) => context.fillText(line, EDGE, EDGE + n * LINE));
  context.drawImage(canvas, EDGE, top, width, canvas.clientHeight);
  return picture;
};

export const saveSheet = (canvas, lines, name) =>
  drawn(canvas, lines).toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.png`;
    link.click();
    URL.revokeObjectURL(link.href);
  });

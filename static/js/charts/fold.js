// Charts that a person has folded away, and those that begin folded and were opened, by their
// panels' names; the browser remembers both. The URL names those that are not as they begin, and
// counts more than what is remembered.
import * as stored from "../stored.js";
import * as state from "./state.js";

const keyOf = (panel) => (panel.is_folded ? "charts-opened" : "charts-folded");

const read = (panel) => stored.readSet(keyOf(panel));

const show = ({ element }, isFolded) => {
  element.toggleAttribute("data-folded", isFolded);
  element.querySelector("[data-fold]").setAttribute("aria-expanded", String(!isFolded));
};

export const isFolded = ({ element }) => element.hasAttribute("data-folded");

// `unfolded(figure)` is called when a chart is shown again.
export const foldable = (figures, unfolded) => {
  const isGiven = state.read("fold") !== null;
  const turned = isGiven
    ? state.list("fold")
    : new Set(figures.filter(({ panel }) => read(panel).has(panel.name)).map(({ panel }) => panel.name));
  const tell = () => state.write({ fold: [...turned].join(",") });
  for (const figure of figures) {
    const { panel } = figure;
    show(figure, turned.has(panel.name) !== panel.is_folded);
    figure.element.querySelector("[data-fold]").addEventListener("click", () => {
      if (!turned.delete(panel.name)) turned.add(panel.name);
      const names = read(panel);
      if (turned.has(panel.name)) names.add(panel.name);
      else names.delete(panel.name);
      stored.writeSet(keyOf(panel), names);
      show(figure, turned.has(panel.name) !== panel.is_folded);
      tell();
      unfolded(figure);
    });
  }
  if (turned.size > 0 && !isGiven) tell();
};

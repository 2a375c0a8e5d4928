// Charts that a person has folded away, and those that begin folded and were opened, by their
// panels' names; the browser remembers both.
const keyOf = (panel) => (panel.is_folded ? "charts-opened" : "charts-folded");

const read = (panel) => {
  try {
    return new Set(JSON.parse(localStorage.getItem(keyOf(panel)) ?? "[]"));
  } catch {
    return new Set(); // another version wrote it
  }
};

const show = ({ element }, isFolded) => {
  element.toggleAttribute("data-folded", isFolded);
  element.querySelector("[data-fold]").setAttribute("aria-expanded", String(!isFolded));
};

export const isFolded = ({ element }) => element.hasAttribute("data-folded");

// `unfolded()` is called when a chart is shown again.
export const foldable = (figures, unfolded) => {
  for (const figure of figures) {
    const { panel } = figure;
    show(figure, read(panel).has(panel.name) !== panel.is_folded);
    figure.element.querySelector("[data-fold]").addEventListener("click", () => {
      const names = read(panel);
      if (!names.delete(panel.name)) names.add(panel.name);
      localStorage.setItem(keyOf(panel), JSON.stringify([...names]));
      show(figure, names.has(panel.name) !== panel.is_folded);
      unfolded();
    });
  }
};

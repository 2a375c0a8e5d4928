// Charts that a person has folded away, by their panels' names; the browser remembers them.
const KEPT = "charts-folded";

const read = () => {
  try {
    return new Set(JSON.parse(localStorage.getItem(KEPT) ?? "[]"));
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
  const folded = read();
  for (const figure of figures) {
    const { name } = figure.panel;
    show(figure, folded.has(name));
    figure.element.querySelector("[data-fold]").addEventListener("click", () => {
      const now = read();
      if (!now.delete(name)) now.add(name);
      localStorage.setItem(KEPT, JSON.stringify([...now]));
      show(figure, now.has(name));
      unfolded();
    });
  }
};

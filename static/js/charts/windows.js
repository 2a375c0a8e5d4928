// The two times that the card "Before and after a job" compares, which the charts shade.
export const windowsOnPage = () => {
  const found = document.getElementById("comparison")?.dataset ?? {};
  return ["before", "after"]
    .filter((name) => found[`${name}Start`])
    .map((name) => ({
      name,
      from: Date.parse(found[`${name}Start`]),
      to: Date.parse(found[`${name}End`]),
    }));
};

// What the server answers for the time that is shown.
import { queryOf } from "./range.js";
import { isApart } from "./set.js";

const fetched = async (set, url) => {
  const words = `${isApart(set) ? "&apart=1" : ""}${"plain" in set.section.dataset ? "&plain=1" : ""}`;
  const response = await fetch(`${url}?${queryOf(set.view.range)}${words}`, {
    headers: { Accept: "application/json" },
  });
  if (!response.ok) throw new Error(`${response.status}`);
  return response.json();
};

export const fetchSeries = (set) => fetched(set, set.section.dataset.seriesUrl);

export const fetchMarks = async (set) => (await fetched(set, set.section.dataset.marksUrl)).marks;

// The figures that the page brought with it.
export const brought = () => JSON.parse(document.getElementById("charts-answer").textContent);

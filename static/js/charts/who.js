// Who kept the disks of a host busy: a click on one of its charts asks for that moment, and the part
// of the page below the charts answers. Without this script its form does the same.
import { dated, moment, typed, untyped, zone } from "./format.js";
import * as state from "./state.js";

const part = () => document.getElementById("who");

// Its times in the zone that is shown.
export const renewWho = () => {
  if (!part()) return;
  for (const time of part().querySelectorAll("[data-who-time]")) {
    time.textContent = dated(Date.parse(time.dateTime));
  }
  for (const name of part().querySelectorAll("[data-charts-zone-name]")) name.textContent = zone();
  const { at } = part().querySelector("[data-who-form]").elements;
  if (at.dataset.whoAt && at !== document.activeElement) {
    at.value = typed(Date.parse(at.dataset.whoAt));
  }
};

const ask = async (url, names) => {
  const response = await fetch(`${url}?${new URLSearchParams(names)}`).catch(() => undefined);
  state.write(names);
  if (!response?.ok) {
    // The page asks for the same, and says what is wrong: the session has ended, or nothing answers.
    location.reload();
    return;
  }
  part().outerHTML = await response.text();
  renewWho();
  part().scrollIntoView({ block: "nearest", behavior: "instant" });
};

// The bucket that was chosen in a chart.
export const askOfBucket = (url, { start, step }, bucket) => {
  const end = Math.min(Date.now(), start + (bucket + 1) * step);
  return ask(url, { at: moment(end), for: step / 1000 });
};

export const listenToWho = (url) =>
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-who-form]");
    if (!form) return;
    event.preventDefault();
    ask(url, { at: moment(untyped(form.elements.at.value)), for: 300 });
  });

// Numbers, units, times and texts as charts write them.
import * as stored from "../stored.js";
import { LANGUAGE, number } from "./number.js";
import * as state from "./state.js";

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const TIMES = LANGUAGE === "en" ? "en-GB" : LANGUAGE;
const KEPT = "charts-zone";
const DAY = 86_400_000;
const TEXTS = JSON.parse(document.querySelector("[data-charts]").dataset.texts);

// A text from the server, in the page's language, with its gaps filled.
export const phrase = (name, gaps = {}) =>
  TEXTS[name].replace(/\{(\w+)\}/g, (_whole, gap) => gaps[gap]);

// The factor and the unit that make these values readable; `scale` is one of panel/charts/definitions.py.
export const unitOf = (scale, values) => {
  if (scale === "iops") return { factor: 1, unit: "IOPS" };
  if (scale === "per_second") return { factor: 1, unit: "/s" };
  if (scale === "in_flight") return { factor: 1, unit: "I/Os" };
  if (scale === "ms") return { factor: 1, unit: "ms" };
  if (scale === "percent") return { factor: 100, unit: "%" };
  const largest = values.reduce((most, value) => Math.max(most, value ?? 0), 0);
  const power = Math.min(BINARY.length - 1, Math.floor(Math.log2(Math.max(1, largest)) / 10));
  return { factor: 1 / 1024 ** power, unit: BINARY[power] + (scale === "speed" ? "/s" : "") };
};

export { number };

export const withUnit = (text, unit) => (unit.startsWith("/") ? text + unit : `${text}\u00a0${unit}`);

// Times are those of the browser's zone or UTC as the URL says, or else as the person chose before,
// which is remembered.
let isUtc = (state.read("tz") ?? stored.read(KEPT)) === "utc";

export const inUtc = () => isUtc;

export const toggleUtc = () => {
  isUtc = !isUtc;
  stored.write(KEPT, isUtc ? "utc" : "local");
  state.write({ tz: isUtc ? "utc" : "local" });
  document.dispatchEvent(new Event("zone"));
};

export const showZoneInUrl = () => state.write({ tz: isUtc ? "utc" : null });

const written = (at, fields) =>
  new Date(at).toLocaleString(TIMES, { ...fields, timeZone: isUtc ? "UTC" : undefined });

// How far the zone is from UTC at that time, in milliseconds to add to UTC.
export const offset = (at) => (isUtc ? 0 : -60_000 * new Date(at).getTimezoneOffset());

const isThisYear = (at) => written(at, { year: "numeric" }) === written(Date.now(), { year: "numeric" });

export const date = (at, hasYear = !isThisYear(at)) =>
  written(at, { day: "numeric", month: "short", year: hasYear ? "numeric" : undefined });

// The time of the day, in seconds only where `step` milliseconds say so much.
export const clock = (at, step = 60_000) =>
  written(at, {
    hour: "2-digit",
    minute: "2-digit",
    second: step < 60_000 ? "2-digit" : undefined,
    hourCycle: "h23",
  });

const isToday = (at) => date(at) === date(Date.now());

export const dated = (at, step) => {
  if (step >= DAY) return date(at);
  return isToday(at) ? clock(at, step) : `${date(at)} ${clock(at, step)}`;
};

// The end of a row of the table: the day of the week and the time.
export const rowTime = (at) => `${written(at, { weekday: "short" })} ${clock(at, 1000)}`;

export const zone = () =>
  isUtc
    ? "UTC"
    : new Date().toLocaleTimeString("en", { timeZoneName: "longOffset" }).replace(/.*GMT/, "UTC");

// RFC 3339 in whole seconds, as the page's URL has it.
export const moment = (at) => `${new Date(at).toISOString().slice(0, 19)}Z`;

// As <input type="datetime-local"> has it, and back.
export const typed = (at) => new Date(at + offset(at)).toISOString().slice(0, 16);

export const untyped = (text) => (isUtc ? Date.parse(`${text}Z`) : new Date(text).getTime());

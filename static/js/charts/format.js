// Numbers, units and times as charts write them.
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// The factor and the unit that make these values readable; `scale` is one of panel/charts/definitions.py.
export const unitOf = (scale, values) => {
  if (scale === "iops") return { factor: 1, unit: "IOPS" };
  if (scale === "per_second") return { factor: 1, unit: "per s" };
  if (scale === "ms") return { factor: 1, unit: "ms" };
  if (scale === "percent") return { factor: 100, unit: "%" };
  const largest = values.reduce((most, value) => Math.max(most, value ?? 0), 0);
  const power = Math.min(BINARY.length - 1, Math.floor(Math.log2(Math.max(1, largest)) / 10));
  return { factor: 1 / 1024 ** power, unit: BINARY[power] + (scale === "speed" ? "/s" : "") };
};

export const number = (value) =>
  value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 });

export const clock = (at) => new Date(at).toLocaleTimeString("en-GB");

export const day = (at) =>
  new Date(at).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export const zone = () =>
  new Date().toLocaleTimeString("en", { timeZoneName: "longOffset" }).replace(/.*GMT/, "UTC");

// RFC 3339 in whole seconds, as the page's URL has it.
export const moment = (at) => `${new Date(at).toISOString().slice(0, 19)}Z`;

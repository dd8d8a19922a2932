// Numbers and times for people.

import type { Metric, MetricEntry } from "./data";

const grouped = (value: number) => Math.round(value).toLocaleString("en-US");

// Three digits that mean something: 0.042, 4.21, 42.1, 421, 4,210.
export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 999.5) return grouped(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : size === 0 ? 0 : size < 0.1 ? 3 : 2);
}

export function duration(ns: number): string {
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  if (ns === 0) return "0";
  const [factor, unit] = units.find(([each]) => ns >= each) ?? [1, "ns"];
  return `${short(ns / factor)} ${unit}`;
}

export function value(number: number, unit: string): string {
  switch (unit) {
    case "µs": return duration(number * 1e3);
    case "ms": return duration(number * 1e6);
    case "%": return `${number.toFixed(number < 9.95 ? 1 : 0)} %`;
    case "KiB": return `${(number / 1024).toFixed(1)} MiB`;
    case "/s": return `${short(number)} /s`;
    default: return short(number) + (unit ? ` ${unit}` : "");
  }
}

export const metricText = (metric: Metric | undefined, entry: MetricEntry) =>
  metric?.value == null ? "n/a" : value(metric.value, entry.unit);

export const DIRECTIONS = {
  higher: "higher is better",
  lower: "lower is better",
  none: "for reading only",
};

// Memory is told in KiB and shown in MiB.
export const unitOf = (entry: MetricEntry) => (entry.unit === "KiB" ? "MiB" : entry.unit);

// The unit, unless the title says it.
export const unitAndDirection = (entry: MetricEntry) =>
  [entry.title.includes(unitOf(entry)) ? "" : unitOf(entry), DIRECTIONS[entry.direction]].filter(Boolean).join(", ");

// "79.1 – 81.0 µs", the unit said once where both have it.
export function span(low: number, high: number, unit: string): string {
  const [from, to] = [value(low, unit), value(high, unit)];
  const symbol = / [^ ]*$/.exec(to)?.[0] ?? "";
  return `${symbol && from.endsWith(symbol) ? from.slice(0, -symbol.length) : from} – ${to}`;
}

export const bytes = (count: number) =>
  count < 1024 ? `${count} B`
    : count < 2 ** 20 ? `${short(count / 1024)} KiB`
    : count < 2 ** 30 ? `${short(count / 2 ** 20)} MiB` : `${short(count / 2 ** 30)} GiB`;

export const when = (utc: string) => utc.replace("T", " ").replace(/:\d\dZ$/, " UTC");
export const seconds = (ns: number) => `${ns / 1e9} s`;
export const plural = (count: number, one: string, many = `${one}s`) =>
  `${count} ${count === 1 ? one : many}`;
export const percentileName = (quantile: number) =>
  quantile >= 1 ? "max" : `${+(quantile * 100).toFixed(6)} %`;

// Plots, drawn by Observable Plot. Each is a figure with a caption; the page puts a table with the same
// numbers beside it. Colour, symbol and dash come from colours.ts.

import * as Plot from "@observablehq/plot";

import type { Cell, MetricEntry } from "./data";
import { colourOf, dashOf, plotSymbolOf } from "./colours";
import { type Child, h } from "./dom";
import { duration, unitAndDirection, value } from "./format";
import type { Model } from "./model";
import { clientName } from "./parts";

type Draw = (width: number) => Element;

const drawn = new Map<HTMLElement, Draw>();

// Draws again at the new width what is on the page.
export function redraw(): void {
  for (const [holder, draw] of drawn)
    if (holder.isConnected) fit(holder, draw);
    else drawn.delete(holder);
}

function fit(holder: HTMLElement, draw: Draw): void {
  holder.replaceChildren(draw(Math.max(280, Math.min(760, holder.clientWidth || 640))));
}

export function figure(caption: Child, label: string, draw: Draw, clients: string[]): HTMLElement {
  const holder = h("div", { class: "plot" });
  const labelled: Draw = (width) => {
    const svg = draw(width);
    svg.setAttribute("role", "img"); // what is in it is drawing: marks keep their names, but for nobody's ears
    for (const mark of svg.querySelectorAll("[aria-label]")) {
      mark.setAttribute("data-mark", mark.getAttribute("aria-label") ?? "");
      mark.removeAttribute("aria-label");
    }
    svg.setAttribute("aria-label", `${label} The table has the same numbers.`);
    return svg;
  };
  drawn.set(holder, labelled);
  queueMicrotask(() => fit(holder, labelled)); // once it is on the page and has a width
  return h("figure", {}, h("figcaption", {}, caption), holder,
    clients.length > 0 && h("p", { class: "legend" }, clients.map(clientName)));
}

export const STYLE = { background: "none", color: "inherit", fontFamily: "inherit", fontSize: "12px", overflow: "visible" };

// Round ticks in the unit that is shown.
const scaleOf = (entry: MetricEntry) => (entry.unit === "KiB" ? 1 / 1024 : 1);

const nameMargin = (names: string[]) => 16 + 7 * Math.max(...names.map((name) => name.length));

// One bar a client from 0, best first, with its interval, or the range of runs that are too few for one.
export function bars(model: Model, cells: Cell[], id: string): HTMLElement | null {
  const entry = model.metric(id);
  const rows = model.ranked(cells, id).flatMap((cell) => {
    const metric = cell.metrics[id];
    const [low, high] = metric?.interval ?? [metric?.lowest, metric?.highest];
    return metric?.value == null ? [] : [{ value: metric.value, low, high, client: cell.client }];
  });
  if (rows.length === 0) return null;
  const scale = scaleOf(entry);
  const text = (row: { value: number }) => value(row.value, entry.unit);
  const spread = rows.some((row) => row.low !== undefined)
    && (cells.some((cell) => cell.metrics[id]?.interval) ? "; the line is the interval" : "; the line spans the runs");
  return figure([h("b", {}, entry.title), ` ${unitAndDirection(entry)}`, spread],
    `Bars: ${entry.title}, ${unitAndDirection(entry)}.`, (width) => Plot.plot({
      width, height: 34 + 26 * rows.length, marginLeft: nameMargin(rows.map((row) => row.client)), marginRight: 80,
      marginTop: 4, style: STYLE,
      x: { label: null, ticks: 4, grid: true, zero: true, tickFormat: (x: number) => x.toLocaleString("en-US") },
      y: { label: null, domain: rows.map((row) => row.client), tickSize: 0, padding: 0.3 },
      marks: [
        Plot.barX(rows, { x: (row) => row.value * scale, y: "client", fill: (row) => colourOf(row.client),
          title: (row) => `${row.client}: ${text(row)}` }),
        Plot.ruleY(rows.filter((row) => row.low !== undefined), { x1: (row) => (row.low ?? 0) * scale,
          x2: (row) => (row.high ?? 0) * scale, y: "client", strokeWidth: 2 }),
        Plot.text(rows, { x: (row) => Math.max(row.value, row.high ?? 0) * scale, y: "client", text,
          textAnchor: "start", dx: 6 }),
        Plot.ruleX([0]),
      ],
      color: { type: "identity" },
    }), []);
}

const TAILS: [number, string][] = [[2, "50"], [10, "90"], [100, "99"], [1000, "99.9"], [1e4, "99.99"], [1e5, "99.999"]];

// Latency over the percentile; both axes logarithmic, the right end is the tail.
export function percentileCurves(model: Model, cells: Cell[], histogram: string, title: string): HTMLElement | null {
  const shown = cells.filter((cell) => (cell.curves[histogram]?.steps.length ?? 0) > 0);
  if (shown.length === 0) return null;
  const entry = model.methodology.metrics.find((each) => each.histogram === histogram) as MetricEntry;
  const rows = shown.flatMap((cell) => {
    const steps = cell.curves[histogram]?.steps ?? [];
    const count = cell.curves[histogram]?.count ?? 1;
    // The maximum stands where one sample in all of them stands.
    return steps.map(([quantile, ns]) => ({
      client: cell.client, ns: Math.max(ns, 1), tail: Math.min(1 / (1 - quantile), count), quantile,
    }));
  });
  const last = Math.max(...rows.map((row) => row.tail));
  return figure([h("b", {}, title), ` ${unitAndDirection(entry)}, logarithmic`], `Percentile curves: ${title}, lower is better.`,
    (width) => Plot.plot({
      width, height: 300, marginLeft: 64, marginRight: 24, marginTop: 12, marginBottom: 44, style: STYLE,
      x: { type: "log", label: "messages that were no later, %", domain: [1, last], labelArrow: "none", labelOffset: 38,
        ticks: TAILS.map(([tail]) => tail).filter((tail) => tail <= last), grid: true,
        tickFormat: (tail: number) => TAILS.find(([each]) => each === tail)?.[1] ?? "" },
      y: { type: "log", label: null, grid: true, ticks: 5, tickFormat: (ns: number) => duration(ns) },
      marks: shown.flatMap((cell) => {
        const own = rows.filter((row) => row.client === cell.client);
        return [
          Plot.line(own, { x: "tail", y: "ns", stroke: colourOf(cell.client), strokeWidth: 2,
            strokeDasharray: dashOf(cell.client) }),
          Plot.dot(own.slice(-1), { x: "tail", y: "ns", fill: colourOf(cell.client), symbol: plotSymbolOf(cell.client),
            r: 5, title: (row) => `${row.client}, max: ${duration(row.ns)}` }),
        ];
      }).concat([Plot.tip(rows, Plot.pointer({ x: "tail", y: "ns",
        title: (row) => `${row.client}\n${(100 * row.quantile).toFixed(3)} %: ${duration(row.ns)}` }))]),
    }), shown.map((cell) => cell.client));
}

export interface Sample {
  client: string;
  x: number | string;
  value: number;
  low?: number; // its interval
  high?: number;
  isHollow?: boolean;
}

// A metric over the offered rate, or over campaigns.
export function lines(entry: MetricEntry, samples: Sample[], xLabel: string, isLogarithmic: boolean): HTMLElement | null {
  if (samples.length === 0) return null;
  const clients = [...new Set(samples.map((sample) => sample.client))];
  const isTime = entry.unit === "µs" || entry.unit === "ms";
  const xs = [...new Set(samples.map((sample) => sample.x))];
  const scale = scaleOf(entry);
  const isNumber = typeof xs[0] === "number";
  const isLog = isTime && Math.max(...samples.map((s) => s.value)) > 5 * Math.min(...samples.map((s) => s.value));
  return figure([h("b", {}, entry.title), ` ${unitAndDirection(entry)}`, isLog && ", logarithmic"],
    `Lines: ${entry.title} over ${xLabel}, ${unitAndDirection(entry)}.`, (width) => Plot.plot({
      width, height: 230, marginLeft: 72, marginRight: 24, marginTop: 12, marginBottom: 44, style: STYLE,
      x: { type: isNumber ? (isLogarithmic ? "log" : "linear") : "point", label: xLabel, labelArrow: "none", labelOffset: 38,
        ticks: isNumber ? (xs as number[]) : undefined, grid: true, inset: 12,
        tickFormat: (x: number | string) => x.toLocaleString("en-US") },
      y: { type: isLog ? "log" : "linear", zero: !isLog, label: null, grid: true, ticks: 4, transform: (number: number) => number * scale,
        tickFormat: (number: number) => value(number / scale, entry.unit) },
      marks: clients.flatMap((client) => {
        const own = samples.filter((sample) => sample.client === client);
        return [
          Plot.ruleX(own.filter((sample) => sample.low !== undefined && (!isLog || sample.low > 0)),
            { x: "x", y1: "low", y2: "high", stroke: colourOf(client), strokeOpacity: 0.6 }),
          Plot.line(own, { x: "x", y: "value", stroke: colourOf(client), strokeWidth: 2, strokeDasharray: dashOf(client) }),
          Plot.dot(own, { x: "x", y: "value", stroke: colourOf(client), r: 4, symbol: plotSymbolOf(client),
            fill: (sample: Sample) => (sample.isHollow ? "none" : colourOf(client)),
            title: (sample: Sample) => `${client}, ${sample.x.toLocaleString("en-US")}: ${value(sample.value, entry.unit)}` }),
        ];
      }),
      color: { type: "identity" },
    }), clients);
}

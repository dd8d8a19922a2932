// A point over time: what each client's run did in every interval of its schedule. A rate over a whole window
// hides a pause in it.

import * as Plot from "@observablehq/plot";

import type { Cell, Point, RunSeries } from "./data";
import { colourOf, dashOf, plotSymbolOf } from "./colours";
import { type Child, h, joined } from "./dom";
import { short, value } from "./format";
import { clientName, note, table } from "./parts";
import { figure, STYLE } from "./plots";

interface Kind {
  list: "rate" | "slowest_us" | "client_cores";
  title: (series: RunSeries) => string;
  says: string; // unit and direction
  unit: string;
  isLogarithmic: boolean;
}

const KINDS: Kind[] = [
  { list: "rate", title: () => "Messages that arrived", says: "/s", unit: "/s", isLogarithmic: false },
  { list: "slowest_us", says: "lower is better, logarithmic; a gap: nothing arrived", unit: "µs", isLogarithmic: true,
    title: ({ latency }) => `Slowest message, ${latency === "since_due" ? "since it was due" : "since its publish"}` },
  { list: "client_cores", title: () => "Processor time of the client", says: "cores, lower is better", unit: "cores",
    isLogarithmic: false },
];

// Above this many, each interval is a step of the line and no longer a mark of its own.
const MOST_MARKS = 60;

interface Interval {
  client: string;
  from: number;
  to: number;
  value: number | null;
}

interface Line {
  client: string;
  series: RunSeries;
}

const intervalsOf = ({ client, series }: Line, kind: Kind): Interval[] =>
  series[kind.list].map((each, at) => ({
    client, from: series.bounds_s[at] ?? 0, to: series.bounds_s[at + 1] ?? 0,
    // A logarithm has no 0; nothing that arrives is faster than a nanosecond.
    value: each !== null && kind.isLogarithmic ? Math.max(each, 1e-3) : each,
  }));

const span = ({ from, to }: { from: number; to: number }) => `${short(from)} to ${short(to)} s`;

function plot(lines: Line[], kind: Kind, point: Point): Child {
  const shown = lines.filter(({ series }) => series[kind.list].some((each) => each !== null));
  const first = shown[0];
  if (!first) return null;
  const title = kind.title(first.series);
  const rows = shown.flatMap((line) => intervalsOf(line, kind));
  const hasMarks = first.series.bounds_s.length <= MOST_MARKS;
  const offered = kind.list === "rate" && point.kind !== "duplex" ? point.rate : null;
  return figure([h("b", {}, title), ` ${kind.says}`], `Lines: ${title} by interval of the run, ${kind.says}.`, (width) => Plot.plot({
    width, height: 200, marginLeft: 84, marginRight: 16, marginTop: 12, marginBottom: 44, style: STYLE,
    x: { label: "seconds from the window's start", labelArrow: "none", labelOffset: 38, ticks: 6,
      domain: [Math.min(...rows.map((row) => row.from)), Math.max(...rows.map((row) => row.to))] },
    y: { type: kind.isLogarithmic ? "log" : "linear", zero: !kind.isLogarithmic, label: null, grid: true, ticks: 4,
      tickFormat: (number: number) => value(number, kind.unit) },
    marks: [
      Plot.ruleX([0], { stroke: "currentColor", strokeOpacity: 0.5, strokeDasharray: "2 3" }),
      offered === null ? null : Plot.ruleY([offered], { stroke: "currentColor", strokeOpacity: 0.5, strokeDasharray: "2 3",
        title: () => `offered: ${value(offered, kind.unit)}` }),
      ...shown.flatMap((line) => {
        const own = rows.filter((row) => row.client === line.client);
        const steps = own.flatMap((row) => [{ x: row.from, y: row.value }, { x: row.to, y: row.value }]);
        return [
          Plot.line(steps, { x: "x", y: "y", stroke: colourOf(line.client), strokeWidth: 2, strokeDasharray: dashOf(line.client) }),
          Plot.dot(hasMarks ? own.filter((row) => row.value !== null) : [], { x: (row: Interval) => (row.from + row.to) / 2,
            y: "value", fill: colourOf(line.client), r: 3, symbol: plotSymbolOf(line.client),
            title: (row: Interval) => `${row.client}, ${span(row)}: ${value(row.value ?? 0, kind.unit)}` }),
        ];
      }),
    ],
    color: { type: "identity" },
  }), shown.map((line) => line.client));
}

function numbers(lines: Line[], kind: Kind): Child {
  const shown = lines.filter(({ series }) => series[kind.list].length > 0);
  const longest = shown.reduce((a, b) => (b.series[kind.list].length > a.series[kind.list].length ? b : a), shown[0] as Line);
  if (!longest) return null;
  return h("details", {}, h("summary", {}, "The same numbers"),
    table(`${kind.title(longest.series)}, ${kind.says}. Seconds count from the window's start.`,
      [{ title: "interval" }, ...shown.map((line) => ({ title: clientName(line.client), isNumber: true }))],
      intervalsOf(longest, kind).map((row, at) => ({
        cells: [span(row), ...shown.map(({ series }) => {
          const each = series[kind.list][at] ?? null;
          return { text: each === null ? "" : value(each, kind.unit), sort: each };
        })],
      }))));
}

function ofRun(cells: Cell[], run: number, point: Point): Child[] {
  const lines = cells.flatMap((cell) => cell.series.filter((series) => series.run === run)
    .map((series) => ({ client: cell.client, series })));
  const failed = lines.filter(({ series }) => series.status !== "valid");
  return [
    failed.length > 0 && note("plain", "Not sustained: ", joined(failed.map((line) => clientName(line.client)), ", "), "."),
    KINDS.map((kind) => [plot(lines, kind, point), numbers(lines, kind)]),
  ];
}

// Of all cells of a point, runs of one number together, because they ran side by side. Nothing for a campaign
// of before runs were recorded over time.
export function overTime(point: Point, cells: Cell[]): Child {
  const runs = [...new Set(cells.flatMap((cell) => cell.series.map((series) => series.run)))].sort((a, b) => a - b);
  const first = runs[0];
  if (first === undefined) return null;
  const shown = h("div", { class: "over-time" }, ofRun(cells, first, point));
  const choice = h("select", {}, runs.map((run) => h("option", { value: run }, run)));
  choice.addEventListener("change", () => {
    const made = h("div", {}, ofRun(cells, Number(choice.value), point));
    shown.replaceChildren(...made.childNodes);
  });
  return [
    h("h2", {}, "Over time"),
    h("p", { class: "small" }, "One run of each client, by interval. The window begins at 0; left of it is the warm-up, ",
      "and after it nothing is sent any more."),
    runs.length > 1 && h("p", { class: "over-time-run" }, h("label", {}, "Run ", choice)),
    shown,
  ];
}

// Load curves: points that differ in nothing but the offered rate.

import type { Point } from "../data";
import { type Child, h, joined } from "../dom";
import { type Model } from "../model";
import { clientName, explained, metricCell, metricTitle, note, pointLink, table } from "../parts";
import { lines, type Sample } from "../plots";

const METRICS = ["cpu_us_per_message", "cpu_percent", "transit_p50_us", "transit_p99_us", "since_due_p99_us", "lag_p99_us", "rss_peak_kib"];

function families(points: Point[]): Point[][] {
  const groups = new Map<string, Point[]>();
  for (const point of points.filter((each) => each.rate !== null)) {
    const alike = JSON.stringify({ ...point, id: "", question: "", suite: "", rate: 0 });
    groups.set(alike, [...(groups.get(alike) ?? []), point]);
  }
  return [...groups.values()].filter((group) => new Set(group.map((point) => point.rate)).size > 1)
    .map((group) => group.sort((a, b) => (a.rate ?? 0) - (b.rate ?? 0)));
}

function curve(model: Model, points: Point[]): Child {
  const clients = model.clients.filter((client) => points.some((point) => model.cell(client.id, point.id)?.status === "valid"));
  const metrics = METRICS.filter((id) => points.some((point) => model.validCells(point).some((cell) => cell.metrics[id])));
  const samples = (id: string): Sample[] => clients.flatMap((client) => points.flatMap((point) => {
    const cell = model.cell(client.id, point.id);
    const metric = cell?.status === "valid" ? cell.metrics[id] : undefined;
    return metric?.value == null ? []
      : [{ client: client.id, x: point.rate ?? 0, value: metric.value, low: metric.interval?.[0], high: metric.interval?.[1] }];
  }));
  const ratio = (points[points.length - 1]?.rate ?? 1) / (points[0]?.rate ?? 1);
  return [
    h("h2", {}, joined(points.map((point) => pointLink(model, point.id)), ", ")),
    h("p", { class: "lead" }, model.campaign.points_in_words[points[0]?.id ?? ""]?.replace(/[\d,.]+ (messages|requests)\/s/, "rising $1/s")),
    h("div", { class: "plots" }, metrics.map((id) => lines(model.metric(id), samples(id), "offered, /s", ratio >= 8))),
    table("The same numbers. A client without a value at a rate did not hold it or was not run: see coverage.",
      [{ title: "client" }, { title: "offered", isNumber: true }, ...metrics.map((id) => ({ title: metricTitle(model, id), isNumber: true }))],
      clients.flatMap((client) => points.map((point) => {
        const cell = model.cell(client.id, point.id);
        return { cells: [clientName(client.id), { text: `${(point.rate ?? 0).toLocaleString("en-US")} /s`, sort: point.rate },
          ...metrics.map((id) => (cell?.status === "valid" ? metricCell(model, cell, id) : cell?.status.replace("_", " ") ?? "not run"))] };
      }))),
  ];
}

export function loadPage(model: Model): Child {
  const groups = families(model.points);
  if (groups.length === 0)
    return note("plain", "No two points of this campaign differ in nothing but the offered rate, so there is no curve to draw.");
  return [
    h("p", { class: "lead" }, "How cost and latency change with the offered rate. Capacity points are not here: their rate is a result, not an offer."),
    groups.map((points) => curve(model, points)),
    explained(model, METRICS.filter((id) => model.points.some((point) => model.validCells(point).some((cell) => cell.metrics[id])))),
  ];
}

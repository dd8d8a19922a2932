// One point: who is how fast, how late, how dear.

import type { Cell, Point } from "../data";
import { type Child, h, joined } from "../dom";
import { metricText, unitOf } from "../format";
import { BARS, LOADS, loadOf, type Model } from "../model";
import { clientLink, clientName, controlTexts, explained, firstsTexts, flagNames, flagsOf, list, metricCell, metricTitle, note, placeCell, table, whyNotValid } from "../parts";
import { bars, percentileCurves } from "../plots";
import { overTime } from "../series";

const CURVES: [string, string][] = [
  ["transit", "Transit: from the publish to the arrival"],
  ["since_due", "Since due: from when the schedule asked for it to the arrival"],
  ["lag", "Lag: how late the client sent"],
  ["receive_transit", "Transit of what the client received"],
  ["receive_since_due", "Since due of what the client received"],
];

// What the runs bear: who may be first, and what keeps more from being said.
function findings(model: Model, point: Point, cells: Cell[], lead: string): Child[] {
  const regimes = new Set(cells.map((cell) => cell.regime).filter(Boolean));
  const bound = model.bound(cells, lead);
  const differences = controlTexts(model, model.controls(point));
  const firsts = firstsTexts(model, point, model.columns(loadOf(point)));
  return [
    firsts.length > 0 ? note("plain", h("p", {}, "What the runs bear, by"), list(firsts))
      : cells.length > 1 && !model.hasFewRuns() && note("plain", `Not ranked: no two clients have ${model.methodology.runs_for_interval} valid runs in common blocks. The order is what was seen, which may be chance.`),
    differences.length > 0 && note("warning", list(differences)),
    regimes.size > 1 && note("warning", "The clients met the schedule in different regimes (", [...regimes].join(", "),
      "): their lags and costs do not compare."),
    bound.length > 0 && note("warning", "Not the client's own limit, but the broker's or the offer's: ",
      joined(bound.map((cell) => clientName(cell.client)), ", "), ". Their order among each other says nothing about the clients."),
  ];
}

function percentiles(model: Model, cells: Cell[], histogram: string): Child {
  const ids = model.methodology.metrics.filter((entry) => entry.histogram === histogram).map((entry) => entry.id);
  return table("Percentiles of all valid runs' messages together.",
    [{ title: "client" }, ...ids.map((id) => ({ title: metricTitle(model, id), isNumber: true })), { title: "messages", isNumber: true }],
    cells.filter((cell) => cell.curves[histogram]).map((cell) => ({
      cells: [clientName(cell.client), ...ids.map((id) => metricCell(model, cell, id)),
        { text: (cell.curves[histogram]?.count ?? 0).toLocaleString("en-US"), sort: cell.curves[histogram]?.count ?? null }],
    })));
}

// Why a metric has no value, once for all clients with the same reason.
function unavailable(model: Model, cells: Cell[], ids: string[]): Child[] {
  const reasons = new Map<string, { clients: Set<string>; titles: Set<string> }>();
  for (const id of ids)
    for (const cell of cells) {
      const why = cell.metrics[id]?.value === null ? cell.metrics[id]?.unavailable : undefined;
      if (why === undefined) continue;
      const known = reasons.get(why) ?? { clients: new Set(), titles: new Set() };
      known.clients.add(cell.client);
      known.titles.add(model.metric(id).title);
      reasons.set(why, known);
    }
  return [...reasons].map(([why, { clients, titles }]) =>
    h("span", { class: "small" }, `n/a: ${[...titles].join(", ")} of `, joined([...clients].map(clientName), ", "), `: ${why || "no reason is stored"}`));
}

export function pointPage(model: Model, id: string, chosen?: string): Child {
  const point = model.points.find((each) => each.id === id);
  if (!point) return note("warning", `This campaign has no point '${id}'.`);
  const load = loadOf(point);
  const lead = model.lead(load);
  const cells = model.ranked(model.validCells(point), lead);
  const others = model.cellsOf(point).filter((cell) => cell.status !== "valid");
  const has = (metric: string) => cells.some((cell) => cell.metrics[metric]);
  const columns = model.columns(load).filter(has);
  const hasPlaces = model.hasPlaces(point, lead);
  const hasRegime = cells.some((cell) => cell.regime);
  const shown = new Set([...columns, ...BARS[load]]);
  const more = model.methodology.metrics
    .filter((entry) => entry.histogram === null && !shown.has(entry.id) && has(entry.id)).map((entry) => entry.id);
  const missing = model.missing().filter((pair) => pair.point === id);
  const curves = CURVES.filter(([histogram]) => cells.some((cell) => cell.curves[histogram]));
  return [
    h("p", { class: "lead" }, model.campaign.points_in_words[id], " ", h("span", { class: "badge" }, LOADS[load].title)),
    h("p", {}, point.question, " ", h("span", { class: "small" }, LOADS[load].says)),
    findings(model, point, cells, lead),
    chosen !== undefined && !cells.some((cell) => cell.client === chosen) && note("plain", `'${chosen}' has no value here; below it says why.`),
    cells.length > 0 && [
      table(`Best ${model.metric(lead).title} first.`,
        [...(hasPlaces ? [{ title: "#", isNumber: true }] : []), { title: "client", isHeader: true }, ...columns.map((metric) => ({ title: metricTitle(model, metric), isNumber: true })),
          { title: hasRegime ? "valid runs, regime" : "valid runs", isNumber: true }, { title: "flags", isText: true }],
        cells.map((cell) => ({
          id: `cell-${cell.client}`,
          cells: [...(hasPlaces ? [placeCell(model, cell, lead)] : []), clientLink(model, cell.client), ...columns.map((metric) => metricCell(model, cell, metric)),
            { text: [`${cell.valid_runs} of ${cell.runs}`, cell.regime && h("span", { class: "range" }, cell.regime)], sort: cell.valid_runs }, flagNames(model, cell)],
        }))),
      h("div", { class: "plots" }, BARS[load].filter(has).map((metric) => bars(model, cells, metric))),
    ],
    (others.length > 0 || missing.length > 0) && [
      h("h2", {}, "No value from"),
      list([...others.map((cell) => [clientLink(model, cell.client), " ", whyNotValid(cell)]),
        ...missing.map((pair) => [clientLink(model, pair.client), " ", h("span", { class: "status" }, pair.lacks ? "unsupported" : "not run"),
          pair.lacks && `: does not claim ${pair.lacks.join(", ")}`])]),
    ],
    curves.length > 0 && [h("h2", {}, "Latency"), load === "capacity" &&
      note("plain", "At capacity a message waits behind all that are in flight: this is the queue's length, not how fast a client answers."),
      curves.map(([histogram, title]) => [percentileCurves(model, cells, histogram, title), percentiles(model, cells, histogram)])],
    overTime(point, model.cellsOf(point)),
    more.length > 0 && [
      h("h2", {}, "More"),
      table("Everything else that was measured.",
        [{ title: "metric" }, { title: "unit" }, ...cells.map((cell) => ({ title: clientName(cell.client), isNumber: true }))],
        more.map((metric) => ({
          cells: [metricTitle(model, metric), unitOf(model.metric(metric)),
            ...cells.map((cell) => h("span", { title: cell.metrics[metric]?.unavailable }, metricText(cell.metrics[metric], model.metric(metric))))],
        }))),
      list(unavailable(model, cells, more)),
    ],
    explained(model, [...columns, ...BARS[load].filter(has), ...more], flagsOf(cells)),
  ];
}

// One client: what it is, what it can, all its cells.

import { type Child, h, joined, route } from "../dom";
import { LOADS, type Load, type Model, loadOf } from "../model";
import { explained, facts, flagNames, flagsOf, list, metricCell, metricTitle, note, placeCell, pointLink, table, whyNotValid } from "../parts";

// How the driver hands a message to the library.
const SHAPES: Record<string, string> = {
  sync: "sync: the call returns when the library has taken the message, in one thread",
  nowait: "nowait: the call returns at once, the completion comes later",
  awaited: "awaited: a coroutine waits for the completion",
};

const words = (value: unknown): string =>
  Array.isArray(value) ? value.join(", ")
    : value !== null && typeof value === "object" ? Object.entries(value).map(([key, each]) => `${key} ${words(each)}`).join(", ")
    : String(value ?? "");

function cellsTable(model: Model, client: string, load: Load): Child {
  const cells = model.pointsOf(load).flatMap((point) => model.cell(client, point.id) ?? []).filter((cell) => cell.status === "valid");
  if (cells.length === 0) return null;
  const lead = model.lead(load);
  const columns = model.columns(load).filter((id) => cells.some((cell) => cell.metrics[id]));
  return [h("h2", {}, LOADS[load].title),
    table(LOADS[load].says,
      [{ title: "point" }, ...columns.map((id) => ({ title: metricTitle(model, id), isNumber: true })), { title: "#", isNumber: true }, { title: "flags", isText: true }],
      cells.map((cell) => {
        const point = model.point(cell.point);
        const place = placeCell(model, cell, lead);
        const others = point ? model.validCells(point).filter((each) => each.metrics[lead]?.place).length : 0;
        return { cells: [h("a", { href: route("c", model.key, "point", cell.point, client) }, h("code", {}, cell.point)),
          ...columns.map((id) => metricCell(model, cell, id)),
          place.sort === null ? place : { ...place, text: [place.text, ` of ${others}`] }, flagNames(model, cell)] };
      })),
    h("p", { class: "small" }, "#: the places that it may hold by ", model.metric(lead).title, " among the clients with a valid run of the point.")];
}

export function clientPage(model: Model, id: string): Child {
  const client = model.clients.find((each) => each.id === id);
  if (!client) return note("warning", `This campaign has no client '${id}'.`);
  const own = model.campaign.cells.filter((cell) => cell.client === id);
  const flags = flagsOf(own.filter((cell) => cell.status === "valid"));
  const failed = own.filter((cell) => cell.status !== "valid");
  const refused = model.missing().filter((pair) => pair.client === id);
  const { claims, environment } = client;
  return [
    h("p", { class: "lead" }, client.summary),
    facts([
      ["library", `${client.library} ${model.versionOf(client)}`],
      ["shape", SHAPES[String(claims.shape)] ?? words(claims.shape)],
      ["MQTT", words(claims.protocols)],
      ["publish QoS", words(claims.publish_qos)],
      ["subscribe QoS", words(claims.subscribe_qos)],
      ["features", words(claims.features)],
      ["QoS 0 is complete when", words(claims.qos0_completion)],
      ["interpreter", words(environment?.interpreter)],
      ["packages", words(environment?.packages)],
      ["options", words(client.options)],
    ]),
    h("p", {}, h("a", { href: route("history", id) }, "Its history over campaigns")),
    flags.length > 0 && [h("h2", {}, "Mind"), list(flags.map((flag) => {
      const cells = own.filter((cell) => flag in cell.flags);
      return [h("a", { href: route("c", model.key, "methodology", flag) }, h("code", {}, flag)), ": ", `${model.flag(flag).title}. ${model.flag(flag).says} `,
        h("span", { class: "small" }, `On ${cells.length} of ${own.length} points; for instance: ${cells[0]?.flags[flag]?.detail ?? ""}.`)];
    }))],
    (["capacity", "fixed", "idle"] as Load[]).map((load) => cellsTable(model, id, load)),
    (failed.length > 0 || refused.length > 0) && [h("h2", {}, "No value on"), list([
      ...failed.map((cell) => [pointLink(model, cell.point), " ", whyNotValid(cell)]),
      ...refused.map((pair) => [pointLink(model, pair.point), pair.lacks ? joined([" unsupported: does not claim ", pair.lacks.join(", ")], "") : " not run"]),
    ])],
    explained(model, [...new Set(own.flatMap((cell) => {
      const point = model.point(cell.point);
      return point ? model.columns(loadOf(point)).filter((metric) => cell.metrics[metric]) : [];
    }))]),
  ];
}

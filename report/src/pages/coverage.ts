// Every pair without a valid run, and why.

import { type Child, h, route } from "../dom";
import { plural } from "../format";
import type { Model } from "../model";
import { clientLink, clientName, pointLink, table } from "../parts";

export function coveragePage(model: Model): Child {
  const missing = model.missing();
  const failed = model.campaign.cells.filter((cell) => cell.status !== "valid");
  const partly = model.campaign.cells.filter((cell) => cell.status === "valid" && cell.valid_runs < cell.runs);
  const state = (client: string, point: string): Child => {
    const cell = model.cell(client, point);
    if (cell) return h("span", { class: `status ${cell.status}` }, cell.status === "valid" ? "✓ valid" : cell.status.replace("_", " "));
    return missing.find((pair) => pair.client === client && pair.point === point)?.lacks ? "unsupported" : "not run";
  };
  return [
    h("p", { class: "lead" }, plural(model.points.length * model.clients.length, "pair"), " of a client and a point: ",
      model.campaign.cells.length - failed.length, " valid, ", failed.length, " run without a valid result, ",
      missing.length, " not run."),
    h("h2", {}, "Without a valid run"),
    failed.length + missing.length === 0 ? h("p", {}, "None: every client has a valid run on every point.")
      : table("Each with its reason, and the party that it blames.",
        [{ title: "point" }, { title: "client" }, { title: "status" }, { title: "party" }, { title: "reason", isText: true }],
        [...failed.map((cell) => ({ cells: [pointLink(model, cell.point), clientLink(model, cell.client),
          h("span", { class: `status ${cell.status}` }, cell.status.replace("_", " ")), cell.party, cell.reason] })),
        ...missing.map((pair) => ({ cells: [pointLink(model, pair.point), clientLink(model, pair.client),
          pair.lacks ? "unsupported" : "not run", pair.lacks ? "driver" : null,
          pair.lacks ? `does not claim ${pair.lacks.join(", ")}` : "the campaign ended before it"] }))], "stacked"),
    partly.length > 0 && [h("h2", {}, "Valid, but not in every run"),
      table("Only the valid runs are in the numbers.", [{ title: "point" }, { title: "client" }, { title: "runs by status" }],
        partly.map((cell) => ({ cells: [pointLink(model, cell.point), clientLink(model, cell.client),
          Object.entries(cell.by_status).map(([status, count]) => `${count} ${status.replace("_", " ")}`).join(", ")] })))],
    h("h2", {}, "All pairs"),
    table(["What the words mean is in the ", h("a", { href: route("c", model.key, "methodology") }, "methodology"), "."],
      [{ title: "point" }, ...model.clients.map((client) => ({ title: clientName(client.id) }))],
      model.points.map((point) => ({ cells: [pointLink(model, point.id), ...model.clients.map((client) => state(client.id, point.id))] }))),
  ];
}

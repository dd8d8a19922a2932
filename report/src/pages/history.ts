// One client over the campaigns of this site.

import type { Index, MetricEntry } from "../data";
import { type Child, h, joined, route } from "../dom";
import { span, value, when } from "../format";
import type { Model } from "../model";
import { clientName, explained, metricTitle, note, table } from "../parts";
import { lines } from "../plots";

// In this order; the first that a point has is drawn.
const METRICS = ["rate", "connect_us", "cpu_us_per_message", "transit_p50_us", "transit_p99_us", "since_due_p99_us", "rss_peak_kib"];

export function historyPage(model: Model, index: Index, client: string): Child {
  const campaigns = [...index.campaigns].sort((a, b) => a.created.localeCompare(b.created))
    .filter((campaign) => campaign.cells.some((cell) => cell.client === client));
  if (campaigns.length === 0) return note("warning", `No campaign of this site measured a client '${client}'.`);
  const points = [...new Set(campaigns.flatMap((campaign) =>
    campaign.cells.filter((cell) => cell.client === client).map((cell) => cell.point)))];
  const cellOf = (campaign: (typeof campaigns)[number], point: string) =>
    campaign.cells.find((cell) => cell.client === client && cell.point === point);
  const loose = campaigns.filter((campaign) => !campaign.comparable);
  return [
    loose.length > 0 && note("warning", h("p", {}, h("b", {}, "NOT COMPARABLE: "),
      `${loose.length} of ${campaigns.length} campaigns, drawn hollow. A change between them may be the machine's. `),
      h("ul", {}, [...new Set(loose.flatMap((campaign) => campaign.not_comparable_because))].map((why) => h("li", {}, why)))),
    h("p", { class: "lead" }, clientName(client), ` in ${campaigns.length} of ${index.campaigns.length} campaigns of this site. Campaigns of different machines or versions of mqcore do not compare, whatever their labels say.`),
    campaigns.length === 1 && note("plain", "One campaign is no history yet: put several into one folder and give that to mqcore report."),
    points.map((point) => {
      const metrics = METRICS.filter((id) => campaigns.some((campaign) => cellOf(campaign, point)?.metrics[id] !== undefined));
      const first = metrics[0];
      const entry: MetricEntry | null = first === undefined ? null : model.metric(first);
      return [
        h("h2", {}, h("code", {}, point)),
        entry && campaigns.length > 1 && lines(entry, campaigns.flatMap((campaign) => {
          const metric = cellOf(campaign, point)?.metrics[entry.id];
          return metric === undefined ? []
            : [{ client, x: when(campaign.created), value: metric[0], low: metric[1], high: metric[2], isHollow: !campaign.comparable }];
        }), "campaign", false),
        table("Oldest campaign first.",
          [{ title: "campaign" }, { title: "created" }, { title: "comparable" }, { title: "status" }, ...metrics.map((id) => ({ title: metricTitle(model, id), isNumber: true }))],
          campaigns.filter((campaign) => cellOf(campaign, point)).map((campaign) => {
            const cell = cellOf(campaign, point);
            return { cells: [h("a", { class: "client", href: route("c", campaign.key, "point", point, client) }, campaign.id), h("span", { class: "client" }, when(campaign.created)),
              [campaign.comparable ? "yes" : "no", campaign.standing && `, ${campaign.standing.standing}`], cell?.status.replace("_", " "),
              ...metrics.map((id) => {
                const [number, low, high] = cell?.metrics[id] ?? [];
                const { unit } = model.metric(id);
                return { sort: number ?? null, text: number !== undefined && [value(number, unit),
                  low !== undefined && high !== undefined && h("span", { class: "range" }, span(low, high, unit))] };
              })] };
          })),
      ];
    }),
    h("h2", {}, "Other clients"),
    h("p", {}, joined([...new Set(index.campaigns.flatMap((campaign) => campaign.cells.map((cell) => cell.client)))].sort()
      .map((id) => h("a", { href: route("history", id) }, clientName(id))), ", ")),
    explained(model, METRICS),
  ];
}

export function campaignsPage(index: Index): Child {
  return [
    index.left_out.length > 0 && note("warning", "Left out, because they could not be read: ", index.left_out.join(", "), "."),
    table("Newest first.", [{ title: "campaign" }, { title: "created" }, { title: "state" }, { title: "comparable" }, { title: "clients", isNumber: true }, { title: "pairs", isNumber: true }],
      [...index.campaigns].sort((a, b) => b.created.localeCompare(a.created)).map((campaign) => ({
        cells: [h("a", { href: route("c", campaign.key) }, campaign.id), when(campaign.created), campaign.standing?.standing ?? campaign.state, campaign.comparable ? "yes" : "no",
          new Set(campaign.cells.map((cell) => cell.client)).size, campaign.cells.length],
      }))),
  ];
}

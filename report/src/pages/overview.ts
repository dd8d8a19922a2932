// What was measured, on what, what to conclude, what not.

import type { Cell, Point } from "../data";
import { type Child, h, joined, route } from "../dom";
import { metricText, plural, seconds, when } from "../format";
import { BOUND_ELSEWHERE, COLUMNS, LOADS, type Load, loadOf, type Model } from "../model";
import { clientLink, clientName, explained, facts, flagsOf, list, metricTitle, pointLink, table } from "../parts";

// What people choose a client for: a metric over some of the points.
interface Theme {
  title: string;
  metric: string;
  covers: (point: Point) => boolean;
}
const THEMES: Theme[] = [
  { title: "Publishing at a high rate", metric: "rate", covers: (p) => p.capacity && p.kind === "pub" },
  { title: "Receiving at a high rate", metric: "rate", covers: (p) => p.capacity && p.kind === "sub" },
  { title: "Little CPU at a fixed rate", metric: "cpu_us_per_message", covers: (p) => p.rate !== null },
  { title: "Low latency, typical (p50)", metric: "transit_p50_us", covers: (p) => p.rate !== null },
  // From when it was due: a client that sends late must not look fast.
  { title: "Low latency, tail (p99)", metric: "since_due_p99_us", covers: (p) => p.rate !== null },
  { title: "Little memory", metric: "rss_peak_kib", covers: () => true },
];
// Times the best, up to which a lead is not called one: more where nothing tells how far runs scatter.
const closeOf = (model: Model) => (model.campaign.manifest.profile.runs < 3 ? 1.25 : 1.1);

interface Standing {
  client: string;
  ratio: number; // geometric mean over its points of how many times worse than the best
  points: number;
  wins: number;
}

function standings(model: Model, theme: Theme): { all: Standing[]; points: number; bound: number } {
  const ratios = new Map<string, number[]>();
  let points = 0, bound = 0;
  for (const point of model.points.filter(theme.covers)) {
    const cells = model.ranked(model.validCells(point), theme.metric)
      .filter((cell) => (cell.metrics[theme.metric]?.value ?? 0) > 0);
    const best = cells[0];
    if (!best || cells.length < 2) continue;
    if (theme.metric === "rate" && BOUND_ELSEWHERE.some((flag) => flag in best.flags)) {
      ++bound; // the leader met another party's limit: no order of clients
      continue;
    }
    ++points;
    for (const cell of cells)
      ratios.set(cell.client, [...(ratios.get(cell.client) ?? []),
        model.ratio(theme.metric, cell.metrics[theme.metric]?.value ?? 1, best.metrics[theme.metric]?.value ?? 1)]);
  }
  const all = [...ratios].map(([client, each]) => ({
    client,
    ratio: Math.exp(each.reduce((sum, ratio) => sum + Math.log(ratio), 0) / each.length),
    points: each.length,
    wins: each.filter((ratio) => ratio === 1).length,
  }));
  return { all: all.sort((a, b) => a.ratio - b.ratio), points, bound };
}

function answer(model: Model, theme: Theme): Child {
  const { all, points, bound } = standings(model, theme);
  const skipped = bound > 0 && ` Left out: ${plural(bound, "point")} where the leader met the broker's or the offer's limit, not its own.`;
  const [first, second] = all;
  if (!first || !second) return [h("b", {}, theme.title), ": the data cannot answer it.", skipped];
  const close = all.filter((each) => each.ratio <= first.ratio * closeOf(model));
  const times = second.ratio / first.ratio;
  const isHigher = model.metric(theme.metric).direction === "higher";
  return [
    h("b", {}, theme.title), ": ",
    close.length > 1
      ? ["no clear lead: ", joined(close.map((each) => clientLink(model, each.client)), ", "), ` are within ${Math.round(100 * (closeOf(model) - 1))} % of each other.`]
      : [clientLink(model, first.client), `, best on ${first.wins} of ${plural(points, "point")}; next `, clientLink(model, second.client),
        isHigher ? ` reaches ${Math.round(100 / times)} % of it.` : ` has ${times.toFixed(1)} times as much.`],
    skipped,
  ];
}

function standingsTable(model: Model): HTMLElement {
  const rows = THEMES.map((theme) => ({ theme, ...standings(model, theme) })).filter((row) => row.all.length > 1);
  return table("How many times worse than the best, the mean over points; 1.00 is best on all of them.",
    [{ title: "question" }, { title: "metric" }, ...model.clients.map((client) => ({ title: clientName(client.id), isNumber: true }))],
    rows.map(({ theme, all }) => ({
      cells: [theme.title, metricTitle(model, theme.metric), ...model.clients.map((client) => {
        const own = all.find((each) => each.client === client.id);
        return own
          ? h("span", { class: own === all[0] ? "best" : null },
            `×${own.ratio.toFixed(own.ratio < 9.95 ? 2 : 0)}`, h("span", { class: "range" }, ` ${plural(own.points, "point")}`))
          : h("span", { class: "unknown" }, "none");
      })],
    })));
}

function doubts(model: Model): Child[] {
  const { manifest, cells } = model.campaign;
  const valid = cells.filter((cell) => cell.status === "valid");
  const flagged = flagsOf(valid).map((id) => {
    const clients = model.clients.map((client) => ({
      client: client.id,
      count: valid.filter((cell) => cell.client === client.id && id in cell.flags).length,
    })).filter(({ count }) => count > 0);
    return [h("a", { href: route("c", model.key, "methodology", id) }, h("code", {}, id)), ": ", model.flag(id).says, " ",
      h("span", { class: "small" }, joined(clients.map(({ client, count }) => [clientName(client), ` ${plural(count, "point")}`]), ", "))];
  });
  const missing = model.missing();
  const notValid = cells.filter((cell) => cell.status !== "valid").length;
  return [
    !manifest.comparable && ["The order of clients on another machine, or by a few percent: this campaign is ",
      h("b", {}, "not comparable"), ", the reasons are on top."],
    manifest.profile.runs < 3 && [`How far the values scatter: ${plural(manifest.profile.runs, "run")} of each pair `,
      "gives no interval, so two values that are close cannot be told apart."],
    (missing.length > 0 || notValid > 0) && ["Anything about ",
      h("a", { href: route("c", model.key, "coverage") }, plural(missing.length + notValid, "pair")),
      " without a valid run: refused, not run, not sustained or invalid, each with its reason."],
    "Networks: everything ran over loopback on one host. No packet loss, no distance, no thousands of connections.",
    "CPU per message at capacity against CPU per message at a fixed rate: a busy client shares its wake-ups among more messages.",
    ...flagged,
  ].filter(Boolean);
}

function pointsTable(model: Model, load: Load): Child {
  const points = model.pointsOf(load);
  if (points.length === 0) return null;
  const lead = COLUMNS[load][0] as string;
  return [
    h("h3", {}, LOADS[load].title),
    table(LOADS[load].says,
      [{ title: "point" }, { title: "question" }, { title: "best" }, { title: metricTitle(model, lead), isNumber: true }, { title: "next" },
        { title: "times", isNumber: true }, { title: "mind" }],
      points.map((point) => {
        const [first, second] = model.ranked(model.validCells(point), lead);
        const [best, next] = [first?.metrics[lead]?.value, second?.metrics[lead]?.value];
        return { cells: [pointLink(model, point.id), point.question,
          first ? clientName(first.client) : "none valid",
          { text: first && metricText(first.metrics[lead], model.metric(lead)), sort: best ?? null },
          second && clientName(second.client),
          { text: best && next ? `×${model.ratio(lead, next, best).toFixed(2)}` : "", sort: best && next ? model.ratio(lead, next, best) : null },
          mind(model, point, first)] };
      })),
  ];
}

// What keeps the order of a point from being taken as the clients' own.
function mind(model: Model, point: Point, best: Cell | undefined): Child {
  const bound = best && BOUND_ELSEWHERE.filter((flag) => flag in best.flags);
  const left = model.clients.length - model.validCells(point).length;
  return joined([
    ...(bound ?? []).map((id) => h("a", { href: route("c", model.key, "methodology", id), title: model.flag(id).says }, id)),
    left > 0 && h("a", { href: route("c", model.key, "coverage") }, `${plural(left, "client")} without a value`),
  ].filter(Boolean), ", ");
}

export function overview(model: Model): Child {
  const { manifest, cells } = model.campaign;
  const { profile, machine } = manifest;
  const validRuns = cells.reduce((sum, cell) => sum + cell.valid_runs, 0);
  return [
    h("p", { class: "lead" }, manifest.scenarios.map((scenario) => scenario.title).join("; "), ". ",
      plural(manifest.clients.length, "client"), " on ", plural(manifest.points.length, "point"), ", ",
      plural(validRuns, "valid run"), ", ", when(manifest.created), "."),
    h("h2", {}, "What to conclude", !manifest.comparable && " (indications only)"),
    list(THEMES.filter((theme) => model.points.some(theme.covers)).map((theme) => answer(model, theme))),
    standingsTable(model),
    h("p", { class: "small" }, "For orientation. The mean is the geometric one over the points where a client is valid and has company; points differ, their pages have the values."),
    h("h2", {}, "What not to conclude"),
    list(doubts(model)),
    h("h2", {}, "Points"),
    (["capacity", "fixed", "idle"] as Load[]).map((load) => pointsTable(model, load)),
    h("h2", {}, "Clients"),
    table("Libraries under test, each driven in its own idiom.",
      [{ title: "client" }, { title: "library" }, { title: "version" }, { title: "what it is" }, { title: "valid points", isNumber: true }],
      manifest.clients.map((client) => {
        const valid = model.points.filter((point) => model.cell(client.id, point.id)?.status === "valid").length;
        return { cells: [clientLink(model, client.id), client.library, model.versionOf(client) || "not known", client.summary,
          { text: `${valid} of ${model.points.length}`, sort: valid }] };
      })),
    h("h2", {}, "On what"),
    facts([
      ["machine", [machine.cpu_model, machine.cores && `${machine.cores} cores`, machine.distribution, machine.kernel && `kernel ${machine.kernel}`].filter(Boolean).join(", ")],
      ["virtual", [machine.hypervisor && machine.hypervisor !== "none" && `virtual machine (${machine.hypervisor})`, machine.container && machine.container !== "none" && `container (${machine.container})`].filter(Boolean).join(", ")],
      ["cores", manifest.cores.sharing || "each of the four parties has a core of its own"],
      ["broker", `Mosquitto ${manifest.broker.version}`],
      ["profile", `${profile.name}: ${seconds(profile.warmup_ns)} warm-up, ${seconds(profile.window_ns)} window, ${plural(profile.runs, "run")} of each pair`],
      ["mqcore", manifest.mqcore.version],
      ["state", manifest.state],
    ]),
    explained(model, [...THEMES.map((theme) => theme.metric), ...new Set(model.points.map((point) => COLUMNS[loadOf(point)][0] as string))]),
  ];
}

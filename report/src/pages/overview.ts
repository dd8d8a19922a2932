// What was measured, on what, what to conclude, what not. Every sentence is made from the places, intervals
// and flags in the data.

import type { Cell, Point } from "../data";
import { type Child, h, joined, route } from "../dom";
import { bytes, metricText, plural, seconds, when } from "../format";
import { BOUND_ELSEWHERE, LOADS, type Load, type Model } from "../model";
import { clientLink, clientName, controlTexts, explained, facts, flagsOf, folded, list, metricTitle, placeCell, pointLink, spreadText, table } from "../parts";

// What people choose a client for: a metric over some of the points.
interface Theme {
  title: string;
  metric: string;
  covers: (point: Point) => boolean;
}
const THEMES: Theme[] = [
  { title: "Publishing at a high rate", metric: "rate", covers: (p) => p.capacity && p.kind === "pub" },
  { title: "Receiving at a high rate", metric: "rate", covers: (p) => p.capacity && p.kind === "sub" },
  { title: "Both ways at a high rate", metric: "rate", covers: (p) => p.capacity && (p.kind === "rtt" || p.kind === "duplex") },
  { title: "Low latency, typical (p50)", metric: "transit_p50_us", covers: (p) => p.rate !== null },
  // From when it was due: a client that sends late must not look fast.
  { title: "Low latency, tail (p99)", metric: "since_due_p99_us", covers: (p) => p.rate !== null },
  { title: "Little CPU at a fixed rate", metric: "cpu_us_per_message", covers: (p) => p.rate !== null },
  { title: "Little memory", metric: "rss_peak_kib", covers: () => true },
  { title: "Connecting quickly", metric: "connect_us", covers: (p) => p.kind === "idle" },
];

// One point's part in an answer.
interface Evidence {
  point: Point;
  firsts: Cell[]; // no client is certainly ahead of them
  behind: Cell[]; // a client certainly is
  bound: Cell[]; // met another party's limit
}
interface Answer {
  theme: Theme;
  evidence: Evidence[]; // of the points that bear a ranking
  unranked: Point[];
  unbeaten: string[]; // never certainly behind, on any of these points
}

function evidenceOf(model: Model, point: Point, metric: string): Evidence {
  const cells = model.ranked(model.validCells(point), metric).filter((cell) => cell.metrics[metric]?.place);
  const firsts = model.firsts(point, metric);
  return { point, firsts, behind: cells.filter((cell) => !firsts.includes(cell)), bound: model.bound(cells, metric) };
}

function answerOf(model: Model, theme: Theme): Answer {
  const points = model.points.filter(theme.covers).filter((point) =>
    model.validCells(point).some((cell) => cell.metrics[theme.metric]));
  const evidence = points.filter((point) => model.hasPlaces(point, theme.metric))
    .map((point) => evidenceOf(model, point, theme.metric));
  const isFirst = (each: Evidence, client: string) => each.firsts.some((cell) => cell.client === client);
  return {
    theme, evidence,
    unranked: points.filter((point) => !model.hasPlaces(point, theme.metric)),
    unbeaten: model.clients.map((client) => client.id)
      .filter((client) => evidence.length > 0 && evidence.every((each) => isFirst(each, client))),
  };
}

const clients = (model: Model, ids: string[]) => joined(ids.map((id) => clientLink(model, id)), ", ");

// The conclusion as a sentence.
function sentence(model: Model, { theme, evidence, unbeaten, unranked }: Answer): Child {
  const onAll = evidence.length === 1 ? "on the one point that asks it" : `on all ${evidence.length} points`;
  const alone = evidence.filter(({ firsts: [first, other] }) => !other && first?.metrics[theme.metric]?.place?.[1] === 1).length;
  if (evidence.length === 0)
    return unranked.length === 0 ? "The data cannot answer it: no client has a valid run."
      : "The data cannot answer it: too few valid runs for an interval, so no client is known to be ahead of another.";
  if (unbeaten.length === 0)
    return `It depends on the point: on at least one of the ${evidence.length}, each client is certainly behind another.`;
  if (unbeaten.length > 1)
    return [clients(model, unbeaten), `: indistinguishable, and no client certainly ahead of them, ${onAll}.`];
  return [clients(model, unbeaten), alone === evidence.length ? `: certainly first ${onAll}.`
    : alone > 0 ? `: certainly first on ${alone} of ${plural(evidence.length, "point")}, and no client certainly ahead of it on the others.`
    : `: no client certainly ahead of it ${onAll}, but on none is it ahead of all others.`];
}

const SHOWN_POINTS = 4; // of an answer that holds on all of them; if there are more, the first stands for them
const SHOWN = 4; // clients in a row; the point's page has all of them

function standing(model: Model, cell: Cell, metric: string): Child {
  const entry = model.metric(metric);
  const own = cell.metrics[metric];
  const spread = own ? spreadText(own, entry) : "";
  return h("div", { class: "standing" }, own?.place && [h("span", { class: "place" }, placeCell(model, cell, metric).text), " "],
    clientName(cell.client), " ", metricText(own, entry), spread && h("span", { class: "range" }, ` ${spread}`));
}

function standingsCell(model: Model, point: Point, cells: Cell[], metric: string): Child {
  const more = cells.length - SHOWN;
  return [cells.slice(0, more === 1 ? SHOWN + 1 : SHOWN).map((cell) => standing(model, cell, metric)),
    more > 1 && h("a", { href: route("c", model.key, "point", point.id) }, `and ${more} more`)];
}

// Flags of the point's valid cells, with whose they are.
function mind(model: Model, point: Point): Child {
  const cells = model.validCells(point);
  const left = model.clients.length - cells.length;
  return joined([
    ...flagsOf(cells).map((id) => [
      h("a", { href: route("c", model.key, "methodology", id), title: model.flag(id).says }, id), ": ",
      cells.filter((cell) => id in cell.flags).map((cell) => cell.client).join(", ")]),
    left > 0 && h("a", { href: route("c", model.key, "coverage") }, `${plural(left, "client")} without a value`),
  ].filter(Boolean), "; ");
}

function conclusion(model: Model, answer: Answer): Child {
  const { theme, evidence, unranked } = answer;
  const bound = evidence.filter((each) => each.bound.some((cell) => each.firsts.includes(cell)));
  const flagged = (model.metric(theme.metric).histogram !== null || theme.metric === "rate")
    ? evidence.filter((each) => mind(model, each.point)) : [];
  const isFolded = evidence.length > SHOWN_POINTS && answer.unbeaten.length > 0;
  const rows = (some: Evidence[]) => table("Place, value and interval; best first.",
    [{ title: "point" }, { title: "no client certainly ahead" }, { title: "certainly behind another" },
      ...(flagged.length > 0 ? [{ title: "mind", isText: true }] : [])],
    some.map(({ point, firsts, behind }) => ({
      cells: [pointLink(model, point.id), standingsCell(model, point, firsts, theme.metric),
        standingsCell(model, point, behind, theme.metric), ...(flagged.length > 0 ? [mind(model, point)] : [])],
    })), "stacked");
  return h("section", { class: "conclusion" },
    h("h3", {}, theme.title, h("span", { class: "unit" }, " ", metricTitle(model, theme.metric))),
    h("p", { class: "answer" }, sentence(model, answer)),
    bound.length > 0 && h("p", {}, "On ", joined(bound.map((each) => pointLink(model, each.point.id)), ", "),
      " the leaders met the broker's or the offer's limit, not their own: the data cannot say which of them is the fastest."),
    evidence.length > 0 && (isFolded
      ? [rows(evidence.slice(0, 1)), folded(`The other ${evidence.length - 1} points`, rows(evidence.slice(1)))] : rows(evidence)),
    unranked.length > 0 && table("Not ranked: what was seen, best first, which may be chance.",
      [{ title: "point" }, { title: "seen" }, { title: "mind", isText: true }],
      unranked.map((point) => ({
        cells: [pointLink(model, point.id),
          standingsCell(model, point, model.ranked(model.validCells(point), theme.metric), theme.metric), mind(model, point)],
      })), "stacked"));
}

// On how many points of each question a client may be first: all conclusions at a glance.
function glance(model: Model, answers: Answer[]): Child {
  const ranked = answers.filter(({ evidence }) => evidence.length > 0);
  if (ranked.length === 0) return null;
  const own = model.clients.filter((client) => !client.control_of);
  return table("Points on which no client is certainly ahead of this one, of those where it has a place.",
    [{ title: "question" }, ...own.map((client) => ({ title: clientName(client.id) }))],
    ranked.map(({ theme, evidence, unbeaten }) => ({
      cells: [theme.title, ...own.map(({ id }) => {
        const has = (cells: Cell[]) => cells.some((cell) => cell.client === id);
        const first = evidence.filter((each) => has(each.firsts)).length;
        const all = first + evidence.filter((each) => has(each.behind)).length;
        return all === 0 ? h("span", { class: "unknown" }, "no place")
          : h("span", { class: unbeaten.includes(id) ? "best" : null }, `${first} of ${all}`);
      })],
    })));
}

// What keeps the data from answering more, each item only where it is so.
function doubts(model: Model, answers: Answer[]): Child[] {
  const { manifest, cells } = model.campaign;
  const valid = cells.filter((cell) => cell.status === "valid");
  const points = (ids: string[]) => joined([...new Set(ids)].map((id) => pointLink(model, id)), ", ");
  const coverage = (count: number) => h("a", { href: route("c", model.key, "coverage") }, plural(count, "pair"));
  const ranked = answers.flatMap(({ evidence }) => evidence);
  const open = ranked.filter((each) => each.firsts.length > 1).length;
  const bound = ranked.filter((each) => each.bound.length > 0);
  const regimes = model.points.filter((point) =>
    new Set(model.validCells(point).map((cell) => cell.regime).filter(Boolean)).size > 1);
  const controls = model.controls();
  const differences = controlTexts(model, controls);
  const refused = model.missing().filter((pair) => pair.lacks !== null).length;
  const notRun = model.missing().length - refused;
  const failed = cells.filter((cell) => cell.status !== "valid").length;
  const partly = valid.filter((cell) => cell.valid_runs < cell.runs).length;
  const told = new Set([...BOUND_ELSEWHERE]);
  const flagged = flagsOf(valid).filter((id) => !told.has(id)).map((id) => [
    h("a", { href: route("c", model.key, "methodology", id) }, h("code", {}, id)), ": ", model.flag(id).says, " ",
    h("span", { class: "small" }, joined(model.clients.map((client) => ({
      client: client.id, count: valid.filter((cell) => cell.client === client.id && id in cell.flags).length,
    })).filter(({ count }) => count > 0).map(({ client, count }) => [clientName(client), ` ${plural(count, "point")}`]), ", "))]);
  return [
    !manifest.comparable && ["What holds on a machine fit for it: this campaign is ", h("b", {}, "not comparable"),
      ", for the reasons on top. Its places say what was seen here."],
    model.hasFewRuns() && `Which of two clients is ahead: no pair ran ${model.methodology.runs_for_interval} times, so there are no intervals and no places.`,
    open > 0 && [`Who is first in ${open} of ${ranked.length} rankings: several clients are indistinguishable there with ${plural(manifest.profile.runs, "run")} of each. `,
      "More runs narrow the intervals: ", h("code", {}, "mqcore run --until 5%"), "."],
    bound.length > 0 && ["How fast these clients are without their surroundings: ",
      joined(bound.map((each) => [pointLink(model, each.point.id), " (", joined(each.bound.map((cell) => clientName(cell.client)), ", "), ")"]), ", "),
      " met the broker's or the offer's limit. ", h("code", {}, "mqcore run --direct"), " ranks them without a broker."],
    ...differences,
    controls.length === 0 && !model.hasFewRuns() && ["How much this campaign finds between a client and itself: it has no A/A pair (",
      h("code", {}, "mqcore run --control"), ")."],
    regimes.length > 0 && ["Costs and lags on ", points(regimes.map((point) => point.id)), " across pacing regimes: one client slept between messages where another never got to."],
    refused > 0 && ["Anything about what was refused, because the client does not claim what the point needs: ", coverage(refused), "."],
    failed > 0 && ["Anything but the reason about what ran without a valid run: ", coverage(failed), "."],
    notRun > 0 && ["Anything about what was not run: ", coverage(notRun), "."],
    partly > 0 && ["How a client does in general where some of its runs were not valid, which the numbers leave out: ", coverage(partly), "."],
    manifest.broker.managed === false && "What the broker did: it was not mqcore's own, so its configuration and load are not known.",
    model.points.some((point) => point.direct) && "Anything beside runs across a broker: the clients talked to the peer itself.",
    "Networks: everything ran over loopback on one host. No packet loss, no distance, no thousands of connections.",
    "CPU per message at capacity against CPU per message at a fixed rate: a busy client shares its wake-ups among more messages.",
    ...flagged,
  ].filter(Boolean);
}

function pointsTable(model: Model, load: Load): Child {
  const points = model.pointsOf(load);
  return points.length > 0 && table([h("b", {}, LOADS[load].title), `: ${LOADS[load].says}`],
    [{ title: "point" }, { title: "in words" }, { title: "question" }],
    points.map((point) => ({ cells: [pointLink(model, point.id), model.campaign.points_in_words[point.id], point.question] })), "stacked");
}

const machineText = (machine: Record<string, unknown>): string =>
  [machine.cpu_model, machine.cores && plural(Number(machine.cores), "core"),
    typeof machine.memory_kib === "number" && `${bytes(1024 * machine.memory_kib)} of memory`, machine.distribution,
    machine.kernel && `kernel ${machine.kernel}`,
    machine.hypervisor && machine.hypervisor !== "none" && "virtual machine",
    machine.container && machine.container !== "none" && `container (${machine.container})`].filter(Boolean).join(", ");

export function overview(model: Model): Child {
  const { manifest, cells } = model.campaign;
  const { profile } = manifest;
  const validRuns = cells.reduce((sum, cell) => sum + cell.valid_runs, 0);
  const answers = THEMES.filter((theme) => model.points.some(theme.covers)).map((theme) => answerOf(model, theme));
  return [
    h("p", { class: "lead" }, manifest.scenarios.map((scenario) => scenario.title).join("; "), ". ",
      plural(manifest.clients.length, "client"), " on ", plural(manifest.points.length, "point"), ", ",
      plural(validRuns, "valid run"), ", ", when(manifest.created), "."),
    facts([
      ["clients", joined(manifest.clients.map((client) => [clientLink(model, client.id), ` ${model.versionOf(client)}`]), ", ")],
      ["machine", machineText(manifest.machine)],
      ["cores", manifest.cores.sharing || "each of the four parties has a core of its own"],
      ["broker", `Mosquitto ${manifest.broker.version}`],
      ["profile", `${profile.name}: ${seconds(profile.warmup_ns)} warm-up, ${seconds(profile.window_ns)} window, ${plural(profile.runs, "run")} of each pair`],
      ["mqcore", manifest.mqcore.version],
    ]),
    h("h2", {}, "What to conclude", !manifest.comparable && " (of this machine, not of others)"),
    glance(model, answers),
    answers.some(({ evidence }) => evidence.length > 0) && h("p", { class: "small" },
      `Certainly: compared run by run, the ${100 * model.methodology.confidence} % interval of the ratio of the two excludes that they are the same. `,
      "One such verdict in twenty is chance. Indistinguishable: the runs bear no difference, which is not to say that there is none."),
    answers.map((answer) => conclusion(model, answer)),
    h("h2", {}, "What the data cannot answer"),
    list(doubts(model, answers)),
    h("h2", {}, "Points"),
    (["capacity", "fixed", "idle"] as Load[]).map((load) => pointsTable(model, load)),
    h("h2", {}, "Clients"),
    table("Libraries under test, each driven in its own idiom.",
      [{ title: "client" }, { title: "library" }, { title: "version" }, { title: "what it is" }, { title: "valid points", isNumber: true }],
      manifest.clients.map((client) => {
        const valid = model.points.filter((point) => model.cell(client.id, point.id)?.status === "valid").length;
        return { cells: [clientLink(model, client.id), client.library, model.versionOf(client) || "not known", client.summary,
          { text: `${valid} of ${model.points.length}`, sort: valid }] };
      }), "stacked"),
    explained(model, [...new Set(answers.map(({ theme }) => theme.metric))]),
  ];
}

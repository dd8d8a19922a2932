// Looking things up in a campaign.

import type { Campaign, Cell, Client, Control, Entry, Methodology, Metric, MetricEntry, Point } from "./data";

export type Load = "capacity" | "fixed" | "idle";

export const loadOf = (point: Point): Load =>
  point.capacity ? "capacity" : point.rate !== null ? "fixed" : "idle";

export const LOADS: Record<Load, { title: string; says: string }> = {
  capacity: {
    title: "Capacity",
    says: "As many messages as possible: ranks throughput. What a message costs here is not what it costs at a fixed rate.",
  },
  fixed: {
    title: "Fixed rate",
    says: "Every client does the same work, so cost and latency compare.",
  },
  idle: { title: "Idle", says: "A connection without messages: time to connect and footprint." },
};

// What is drawn as bars.
export const BARS: Record<Load, string[]> = {
  capacity: ["rate", "cpu_us_per_message", "rss_peak_kib"],
  fixed: ["cpu_us_per_message", "rss_peak_kib"],
  idle: ["connect_us", "rss_peak_kib"],
};

// Flags after which a capacity is not the client's own.
export const BOUND_ELSEWHERE = ["broker_bound", "offer_bound"];

export class Model {
  readonly points: Point[];
  readonly clients: Client[];
  private readonly cells = new Map<string, Cell>();
  private readonly entries = new Map<string, MetricEntry>();
  private readonly flags = new Map<string, Entry>();

  constructor(readonly key: string, readonly campaign: Campaign, readonly methodology: Methodology) {
    this.points = campaign.manifest.points;
    this.clients = campaign.manifest.clients;
    for (const cell of campaign.cells) this.cells.set(JSON.stringify([cell.client, cell.point]), cell);
    for (const entry of methodology.metrics) this.entries.set(entry.id, entry);
    for (const entry of methodology.flags) this.flags.set(entry.id, entry);
  }

  cell(client: string, point: string): Cell | undefined {
    return this.cells.get(JSON.stringify([client, point]));
  }
  metric(id: string): MetricEntry {
    const entry = this.entries.get(id);
    if (!entry) throw new Error(`the report has no metric '${id}'`);
    return entry;
  }
  flag(id: string): Entry {
    return this.flags.get(id) ?? { id, title: id, says: "", computed: "", applies_to: "" };
  }
  // The columns of a load's table; the first one orders it.
  columns(load: Load): string[] {
    return this.methodology.columns[load];
  }
  lead(load: Load): string {
    return this.columns(load)[0] as string;
  }
  point(id: string): Point | undefined {
    return this.points.find((point) => point.id === id);
  }
  // In the manifest's order of clients.
  cellsOf(point: Point): Cell[] {
    return this.clients.flatMap((client) => this.cell(client.id, point.id) ?? []);
  }
  validCells(point: Point): Cell[] {
    return this.cellsOf(point).filter((cell) => cell.status === "valid");
  }
  pointsOf(load: Load): Point[] {
    return this.points.filter((point) => loadOf(point) === load);
  }
  // Best first; cells without a value last.
  ranked(cells: Cell[], id: string): Cell[] {
    const sign = this.metric(id).direction === "higher" ? -1 : 1;
    const of = (cell: Cell) => cell.metrics[id]?.value ?? null;
    return [...cells].sort((a, b) => {
      const [x, y] = [of(a), of(b)];
      return x === null || y === null ? Number(x === null) - Number(y === null) : sign * (x - y);
    });
  }
  // Whether the runs bear places on this point; without them the order is what was seen.
  hasPlaces(point: Point, id: string): boolean {
    return this.validCells(point).some((cell) => cell.metrics[id]?.place);
  }
  // Rates that another party limited: what the client can do is at least this.
  bound(cells: Cell[], id: string): Cell[] {
    return id === "rate" ? cells.filter((cell) => BOUND_ELSEWHERE.some((flag) => flag in cell.flags)) : [];
  }
  // Those of which no client is certainly ahead, best first; none of them can be told from another. Who met
  // another party's limit might be faster than whoever came before it.
  firsts(point: Point, id: string): Cell[] {
    const placed = this.ranked(this.validCells(point), id).filter((cell) => cell.metrics[id]?.place);
    const leads = placed.filter((cell) => cell.metrics[id]?.place?.[0] === 1);
    const bound = this.bound(placed, id);
    return leads.some((cell) => bound.includes(cell))
      ? placed.filter((cell) => leads.includes(cell) || bound.includes(cell)) : leads;
  }
  isControl(client: string): boolean {
    return this.clients.some((each) => each.id === client && each.control_of);
  }
  controls(point?: Point): Control[] {
    return this.campaign.controls.filter((control) => !point || control.point === point.id);
  }
  // Too few runs for any interval.
  hasFewRuns(): boolean {
    const most = Math.max(0, ...this.campaign.cells.map((cell) => cell.runs));
    return most > 0 && most < this.methodology.runs_for_interval;
  }
  // Too few samples lie above the percentile.
  isThin(id: string, metric: Metric): boolean {
    const { quantile } = this.metric(id);
    return quantile !== null && quantile < 1 && metric.samples !== undefined &&
      metric.samples * (1 - quantile) < this.methodology.samples_behind - 1e-6;
  }
  // As the library itself told it in a run, else as its environment does.
  versionOf(client: Client): string {
    const told = this.campaign.cells.find((cell) => cell.client === client.id && cell.library_version);
    return told?.library_version ?? client.environment?.packages?.[client.package] ?? "";
  }
  // Pairs that were not run at all: refused, or not reached.
  missing(): { client: string; point: string; lacks: string[] | null }[] {
    return this.points.flatMap((point) =>
      this.clients.filter((client) => !this.cell(client.id, point.id)).map((client) => ({
        client: client.id,
        point: point.id,
        lacks: this.campaign.manifest.refused.find(
          (pair) => pair.client === client.id && pair.point === point.id)?.missing ?? null,
      })));
  }
}


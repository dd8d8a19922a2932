// What core/report writes: docs/results.md, "The report's data". Keys that are not used are not named.

export const FORMAT = "mqcore-report/1";

export interface Metric {
  value: number | null;
  lowest?: number; // of the valid runs, where they differ
  highest?: number;
  interval?: [low: number, high: number]; // where there are runs enough
  place?: [best: number, worst: number]; // places that the client may hold on the point
  floor?: number; // what of it is mqcore's own
  samples?: number;
  unavailable?: string;
}

export interface Curve {
  count: number;
  steps: [quantile: number, value_ns: number][];
}

// One run over time; a list has one value an interval, or none where it was not recorded.
export interface RunSeries {
  run: number;
  status: Status;
  bounds_s: number[];
  rate: (number | null)[];
  latency: "since_due" | "transit" | null;
  slowest_us: (number | null)[];
  client_cores: (number | null)[];
}

export type Status = "valid" | "not_sustained" | "invalid" | "unsupported";

export interface Cell {
  client: string;
  point: string;
  status: Status;
  reason: string | null;
  party: string | null;
  library_version: string | null;
  runs: number;
  valid_runs: number;
  by_status: Partial<Record<Status, number>>;
  regime: string | null;
  flags: Record<string, { runs: number; detail: string }>;
  metrics: Record<string, Metric>;
  curves: Record<string, Curve>;
  series: RunSeries[];
}

export interface Entry {
  id: string;
  title: string;
  says: string;
  computed: string;
  applies_to: string;
}

export interface MetricEntry extends Entry {
  unit: string;
  direction: "higher" | "lower" | "none";
  histogram: string | null;
  quantile: number | null;
}

export interface Point {
  id: string;
  kind: "pub" | "sub" | "rtt" | "duplex" | "idle";
  qos: number;
  rate: number | null;
  capacity: boolean;
  direct?: boolean;
  question: string;
}

export interface Client {
  id: string;
  control_of?: string | null;
  library: string;
  summary: string;
  package: string;
  claims: Record<string, unknown>;
  environment: null | {
    interpreter?: Record<string, unknown>;
    packages?: Record<string, string>;
    lock?: string | null;
  };
  options: Record<string, unknown>;
}

export interface Manifest {
  id: string;
  created: string;
  state: string;
  comparable: boolean;
  not_comparable_because: string[];
  mqcore: { version: string; revision?: string; programs?: Record<string, string> };
  profile: { name: string; warmup_ns: number; window_ns: number; drain_ns: number; runs: number };
  scenarios: { suite: string; title: string; file: string; sha256: string }[];
  points: Point[];
  clients: Client[];
  refused: { client: string; point: string; missing: string[]; at_run_time?: boolean }[];
  machine: Record<string, unknown>;
  cores: { cpus: Record<string, number[]>; shares_cores: boolean; sharing: string };
  broker: { version: string; managed?: boolean; config?: string } & Record<string, unknown>;
  ceilings?: { qos: number; protocol: string; payload_bytes: number; rate: number; receive_offer: number }[];
  acknowledgement?: { qos: number; payload_bytes: number; unavailable?: string; mean_ns?: number; p50_ns?: number; p99_ns?: number; max_ns?: number } | null;
  harness_floor?: {
    unavailable?: Record<string, string>;
    rows?: {
      client: string;
      clients: string[];
      publish: { best_ns: number };
      receive: { best_ns: number };
    }[];
  } | null;
}

export interface Methodology {
  statuses: { id: string; says: string }[];
  checks: Entry[];
  flags: Entry[];
  metrics: MetricEntry[];
  columns: Record<"capacity" | "fixed" | "idle", string[]>;
  confidence: number;
  resamples: number;
  runs_for_interval: number;
  samples_behind: number;
}

// A client measured twice under two names, on one point.
export interface Control {
  point: string;
  client: string;
  control: string;
  compared: number;
  differs: { metric: string; ratio: number; interval: [number, number] }[];
}

// That a campaign was superseded or retracted.
export type Standing = { standing: string; reason: string; at: string } | null;

export interface Campaign {
  format: string;
  manifest: Manifest;
  standing: Standing;
  points_in_words: Record<string, string>;
  controls: Control[];
  cells: Cell[];
  files: { name: string; bytes: number }[];
}

export interface Summary {
  key: string;
  id: string;
  created: string;
  state: string;
  comparable: boolean;
  not_comparable_because: string[];
  standing: Standing;
  cells: { client: string; point: string; status: Status; metrics: Record<string, [value: number, low?: number, high?: number]> }[];
}

export interface Index {
  campaigns: Summary[];
  left_out: string[];
  methodology: Methodology;
}

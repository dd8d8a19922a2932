// What core/report writes: docs/results.md, "The report's data". Keys that are not used are not named.

export const FORMAT = "mqcore-report/1";

export interface Metric {
  value: number | null;
  lowest?: number;
  highest?: number;
  samples?: number;
  unavailable?: string;
}

export interface Curve {
  count: number;
  steps: [quantile: number, value_ns: number][];
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
  question: string;
}

export interface Client {
  id: string;
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
  mqcore: { version: string };
  profile: { name: string; warmup_ns: number; window_ns: number; drain_ns: number; runs: number };
  scenarios: { suite: string; title: string; file: string; sha256: string }[];
  points: Point[];
  clients: Client[];
  refused: { client: string; point: string; missing: string[]; at_run_time?: boolean }[];
  machine: Record<string, unknown>;
  cores: { cpus: Record<string, number[]>; shares_cores: boolean; sharing: string };
  broker: { version: string; config?: string } & Record<string, unknown>;
  ceilings?: { qos: number; protocol: string; payload_bytes: number; rate: number; receive_offer: number }[];
  harness_floor?: {
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
  samples_behind: number;
}

export interface Campaign {
  format: string;
  manifest: Manifest;
  points_in_words: Record<string, string>;
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
  cells: { client: string; point: string; status: Status; metrics: Record<string, number> }[];
}

export interface Index {
  campaigns: Summary[];
  left_out: string[];
  methodology: Methodology;
}

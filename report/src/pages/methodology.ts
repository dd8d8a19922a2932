// How it was measured and judged: from the verdict table and the manifest.

import type { Entry, Manifest } from "../data";
import { type Child, h, joined } from "../dom";
import { bytes, duration, plural, seconds, short, unitAndDirection } from "../format";
import type { Model } from "../model";
import { clientName, facts, list, pointLink, table } from "../parts";

const entry = (each: { id: string; says: string } & Partial<Entry>, extra: Child = null): Child =>
  h("section", { class: "entry", id: `entry-${each.id}` },
    h("h3", {}, h("code", {}, each.id), each.title && ` ${each.title}`, extra),
    h("p", {}, each.says),
    each.computed && h("p", { class: "how" }, "How: ", each.computed),
    each.applies_to && h("p", { class: "how" }, `Applies to ${each.applies_to}.`));

const words = (value: unknown): string =>
  value === null || value === undefined ? "not known"
    : typeof value === "object" ? Object.entries(value).map(([key, each]) => `${key} ${words(each)}`).join(", ") || "none"
    : String(value);

function acknowledged({ qos, payload_bytes, unavailable, ...times }: NonNullable<Manifest["acknowledgement"]>): Child {
  const what = `From a QoS ${qos} publish of ${bytes(payload_bytes)} to its acknowledgement, one in flight and nobody subscribed: `;
  if (unavailable) return h("p", {}, what, "not known, ", unavailable, ".");
  const { mean_ns = 0, p50_ns = 0, p99_ns = 0, max_ns = 0 } = times;
  return h("p", {}, what, `mean ${duration(mean_ns)}, p50 ${duration(p50_ns)}, p99 ${duration(p99_ns)}, max ${duration(max_ns)}. A client that waits for each acknowledgement pays at least this much a message.`);
}

export function methodologyPage(model: Model): Child {
  const { methodology } = model;
  const { manifest } = model.campaign;
  const { profile, cores, machine } = manifest;
  const floor = manifest.harness_floor?.rows ?? [];
  return [
    h("p", { class: "lead" }, "Every status, check, flag and metric is one entry of the table that mqcore judges with; this page is made from it."),
    h("h2", {}, "Schedule"),
    h("p", {}, `Profile ${profile.name}: ${seconds(profile.warmup_ns)} warm-up, ${seconds(profile.window_ns)} window in which everything is measured, up to ${seconds(profile.drain_ns)} for what is still on its way; ${plural(profile.runs, "run")} of each pair. At a fixed rate message n is due at start + (n + 1) / rate, whatever the client does.`),
    h("h2", {}, "Machine"),
    facts(Object.entries(machine).filter(([key]) => key !== "unavailable").map(([key, value]) =>
      key === "memory_kib" && typeof value === "number" ? ["memory", bytes(1024 * value)] : [key.replace(/_/g, " "), words(value)])),
    facts(Object.entries(machine.unavailable ?? {}).map(([what, why]): [string, Child] => [`no ${what}`, why])),
    facts([["cores", joined(Object.entries(cores.cpus).map(([party, cpus]) => `${party} ${cpus.join(" ")}`), ", ")], ["sharing", cores.sharing]]),
    h("h2", {}, "Versions"),
    facts([["mqcore", [manifest.mqcore.version, manifest.mqcore.revision && `, revision ${manifest.mqcore.revision}`]],
      ...Object.entries(manifest.mqcore.programs ?? {}).map(([program, hash]): [string, Child] => [`program ${program}`, hash]), ["Mosquitto", manifest.broker.version],
      ["broker's program", words(manifest.broker.binary_sha256)], ["broker's configuration", words(manifest.broker.config_sha256)],
      ...manifest.scenarios.map((scenario): [string, Child] => [scenario.file, scenario.sha256])]),
    manifest.broker.config && h("details", {}, h("summary", {}, "The broker's configuration"), h("pre", { tabindex: 0 }, manifest.broker.config)),
    (manifest.ceilings?.length ?? 0) > 0 && [h("h2", {}, "The broker's ceiling"),
      table("Measured first, with the peer on both sides and no client: a client near it meets the broker's limit.",
        [{ title: "QoS" }, { title: "MQTT" }, { title: "payload", isNumber: true }, { title: "ceiling /s", isNumber: true }, { title: "offer of receive points /s", isNumber: true }],
        (manifest.ceilings ?? []).map((ceiling) => ({ cells: [ceiling.qos, ceiling.protocol, bytes(ceiling.payload_bytes), short(ceiling.rate), short(ceiling.receive_offer)] })))],
    manifest.acknowledgement && [h("h2", {}, "The broker's acknowledgement"), acknowledged(manifest.acknowledgement)],
    floor.length > 0 && [h("h2", {}, "mqcore's own cost"),
      table("Of one message, measured with clients that do nothing. It is part of the CPU per message of the clients beside it.",
        [{ title: "null client" }, { title: "stands for" }, { title: "publish ns", isNumber: true }, { title: "receive ns", isNumber: true }],
        floor.map((row) => ({ cells: [row.client, joined(row.clients.map(clientName), ", "), short(row.publish.best_ns), short(row.receive.best_ns)] }))),
      list(Object.entries(manifest.harness_floor?.unavailable ?? {}).map(([client, why]) => ["Not known for ", clientName(client), `: ${why}`]))],
    h("h2", {}, "Points"),
    table("What was asked of the clients.", [{ title: "point" }, { title: "in words" }, { title: "question" }],
      model.points.map((point) => ({ cells: [pointLink(model, point.id), model.campaign.points_in_words[point.id], point.question] }))),
    h("h2", {}, "Statuses"), methodology.statuses.map((status) => entry(status)),
    h("h2", {}, "Checks"), methodology.checks.map((check) => entry(check)),
    h("h2", {}, "Flags"), h("p", {}, "A flag qualifies a run; it never changes its status."), methodology.flags.map((flag) => entry(flag)),
    h("h2", {}, "Metrics"),
    methodology.metrics.map((metric) => entry(metric, h("span", { class: "unit" }, ` ${unitAndDirection(metric)}`))),
  ];
}

// The files behind the pages.

import { type Child, h } from "../dom";
import { bytes } from "../format";
import type { Model } from "../model";
import { table } from "../parts";

const EXPORTS: [string, string][] = [
  ["csv", "one row a client and point"],
  ["csv-runs", "one row a run"],
  ["csv-series", "one row an interval of a run"],
  ["json", "cells with values, intervals and places"],
  ["document", "what these pages are made of"],
  ["markdown", "the tables for a document"],
  ["openmetrics", "for Prometheus and its kin"],
  ["benchmark-bigger", "for continuous-benchmark services; benchmark-smaller is its other half"],
];

export function rawPage(model: Model): Child {
  return [
    h("p", { class: "lead" }, "The manifest and every run of every client, with sparse histograms, as mqcore stored them. Everything on these pages follows from them."),
    table("Downloads", [{ title: "file" }, { title: "size", isNumber: true }],
      model.campaign.files.map((file) => ({
        cells: [h("a", { href: ["raw", model.key, file.name].map(encodeURIComponent).join("/"), download: file.name }, file.name),
          { text: bytes(file.bytes), sort: file.bytes }],
      }))),
    h("h2", {}, "Other forms"),
    table("Made from the results folder by mqcore.", [{ title: "command" }, { title: "what it prints" }],
      EXPORTS.map(([format, says]) => ({ cells: [h("code", {}, `mqcore show results/${model.key} --format ${format}`), says] }))),
  ];
}

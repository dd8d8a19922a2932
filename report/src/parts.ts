// What several pages are made of: names of clients, notes, tables of metrics, what columns mean.

import type { Cell, Control, Metric, MetricEntry, Point } from "./data";
import { colourOf, symbolOf } from "./colours";
import { type Child, h, joined, route } from "./dom";
import { DIRECTIONS, metricText, plural, span, unitAndDirection, value } from "./format";
import type { Model } from "./model";

export const pointLink = (model: Model, id: string) =>
  h("a", { href: route("c", model.key, "point", id) }, h("code", {}, id));

export function clientName(id: string): HTMLElement {
  const mark = h("span", { class: "mark", style: `color:${colourOf(id)}`, "aria-hidden": "true" }, symbolOf(id));
  return h("span", { class: "client" }, mark, id);
}

export const clientLink = (model: Model, id: string) =>
  h("a", { href: route("c", model.key, "client", id) }, clientName(id));

export function note(kind: "warning" | "plain", ...children: Child[]): HTMLElement {
  return h("div", { class: `note ${kind}`, role: "note" }, children);
}

export const list = (items: Child[]) => h("ul", {}, items.map((item) => h("li", {}, item)));

// What not everybody needs, behind its title; main.ts opens all of it for print.
export const folded = (title: string, body: Child) => h("details", {}, h("summary", {}, title), body);

export function facts(rows: [string, Child][]): HTMLElement {
  return h("dl", { class: "facts" },
    rows.filter(([, fact]) => fact !== "" && fact !== null && fact !== undefined)
      .map(([name, fact]) => h("div", {}, h("dt", {}, name), h("dd", {}, fact))));
}

export interface Column {
  title: Child;
  isNumber?: boolean;
  isText?: boolean; // long enough to be wrapped
  isHeader?: boolean; // names its row; without any the first column does
}
export interface Row {
  id?: string;
  cells: (Child | { text: Child; sort: number | null })[];
}

// A table whose numbers' columns sort when their title is pressed. A stacked one turns its rows into blocks
// where the page is narrow.
export function table(caption: Child, columns: Column[], rows: Row[], look: "" | "stacked" = ""): HTMLElement {
  const header = Math.max(0, columns.findIndex((column) => column.isHeader));
  const body = h("tbody", {}, rows.map((row) =>
    h("tr", { id: row.id }, row.cells.map((cell, at) => {
      const sortable = isSortable(cell);
      const content: Child = sortable ? cell.text : (cell as Child);
      const attributes = {
        class: columns[at]?.isNumber ? "number" : columns[at]?.isText ? "text" : null,
        "data-title": look === "stacked" && columns[at]?.title ? textOf(columns[at]?.title) : null,
        "data-sort": sortable ? (cell.sort === null ? "" : cell.sort) : null,
      };
      return at === header ? h("th", { scope: "row", ...attributes }, content) : h("td", attributes, content);
    }))));
  const head = h("tr", {}, columns.map((column, at) => {
    const isSorted = rows.some((row) => isSortable(row.cells[at]));
    const title = h("th", { scope: "col", class: column.isNumber ? "number" : null }, column.title);
    if (isSorted) {
      const button = h("button", { type: "button", class: "sort", "aria-label": `sort by ${title.textContent}` }, "↕");
      button.addEventListener("click", () => sortRows(body, head, at));
      const second = title.querySelector(".second") ?? title.appendChild(h("span", { class: "second" }));
      second.appendChild(button);
    }
    return title;
  }));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": textOf(caption) },
    h("table", { class: look || null }, h("caption", {}, caption), h("thead", {}, head), body));
}

const textOf = (child: Child) => h("span", {}, child).textContent ?? "";

function isSortable(cell: unknown): cell is { text: Child; sort: number | null } {
  return typeof cell === "object" && cell !== null && "text" in cell && "sort" in cell && !(cell instanceof Node);
}

function sortRows(body: HTMLElement, head: HTMLElement, column: number): void {
  const title = head.children[column];
  const isRising = title?.getAttribute("aria-sort") !== "ascending";
  for (const each of head.children) each.removeAttribute("aria-sort");
  title?.setAttribute("aria-sort", isRising ? "ascending" : "descending");
  const of = (row: Element) => row.children[column]?.getAttribute("data-sort") ?? "";
  [...body.children]
    .sort((a, b) => {
      if (of(a) === "" || of(b) === "") return Number(of(a) === "") - Number(of(b) === "");
      return (isRising ? 1 : -1) * (Number(of(a)) - Number(of(b)));
    })
    .forEach((row) => body.appendChild(row));
}

// A metric's title with unit and direction; its explanation on hover, and a link to the whole of it.
export function metricTitle(model: Model, id: string): Child {
  const entry = model.metric(id);
  const arrow = { higher: "↑", lower: "↓", none: "" }[entry.direction];
  return [
    h("a", { href: route("c", model.key, "methodology", id), title: `${entry.says} (${unitAndDirection(entry)})` }, entry.title),
    h("span", { class: "second" }, arrow && h("span", { class: "direction", title: DIRECTIONS[entry.direction] }, ` ${arrow}`,
      h("span", { class: "hidden" }, ` ${DIRECTIONS[entry.direction]}`))),
  ];
}

// A value with its interval, or the range of runs that are too few for one; or why there is no value.
export function metricCell(model: Model, cell: Cell, id: string): { text: Child; sort: number | null } {
  const entry = model.metric(id);
  const metric = cell.metrics[id];
  if (!metric) return { text: "", sort: null };
  if (metric.value === null)
    return { text: h("span", { class: "unknown", title: metric.unavailable }, "n/a"), sort: null };
  const isThin = model.isThin(id, metric);
  return {
    text: [
      h("span", { title: isThin ? "few samples lie above this percentile" : null }, isThin && "~", metricText(metric, entry)),
      spreadText(metric, entry) && h("span", { class: "range" }, spreadText(metric, entry)),
      floorText(cell, metric, entry) && h("span", { class: "range" }, floorText(cell, metric, entry)),
    ],
    sort: metric.value,
  };
}

export const spreadText = (metric: Metric, entry: MetricEntry): string => {
  const [low, high] = metric.interval ?? [metric.lowest, metric.highest];
  return low === undefined || high === undefined ? "" : `${metric.interval ? "" : "runs "}${span(low, high, entry.unit)}`;
};

// What of a value is mqcore's own, where that matters.
const floorText = (cell: Cell, metric: Metric, entry: MetricEntry) =>
  metric.floor !== undefined && "floor_matters" in cell.flags && `mqcore's floor ${value(metric.floor, entry.unit)}`;

// "1-3": the places that a client may hold. A control is no client of its own.
export function placeCell(model: Model, cell: Cell, id: string): { text: Child; sort: number | null } {
  const place = cell.metrics[id]?.place;
  if (!place) return { text: model.isControl(cell.client) ? "A/A" : "", sort: null };
  return { text: place[0] === place[1] ? String(place[0]) : place.join("-"), sort: place[0] };
}

export function flagNames(model: Model, cell: Cell): Child {
  // non_comparable labels the whole campaign, on top of every page.
  const ids = Object.keys(cell.flags).filter((id) => id !== "non_comparable");
  return joined(ids.map((id) => {
    const { runs, detail } = cell.flags[id] ?? { runs: 0, detail: "" };
    return h("a", { href: route("c", model.key, "methodology", id), title: `${model.flag(id).title}: ${detail}` },
      id, runs < cell.valid_runs && ` (${runs} of ${plural(cell.valid_runs, "run")})`);
  }), ", ");
}

// The text that stands behind the columns' hovers.
export function explained(model: Model, metricIds: string[], flagIds: string[] = []): HTMLElement {
  const entries = [...new Set(metricIds)].map((id) => model.metric(id));
  return h("section", { class: "explained" },
    h("h2", {}, "What the numbers mean"),
    h("dl", {}, entries.map((entry) => [
      h("dt", {}, entry.title, h("span", { class: "unit" }, ` ${unitAndDirection(entry)}`)),
      h("dd", {}, entry.says, " ", h("span", { class: "how" }, entry.computed)),
    ]), flagIds.map((id) => {
      const flag = model.flag(id);
      return [h("dt", {}, h("code", {}, id), h("span", { class: "unit" }, " flag")),
        h("dd", {}, `${flag.title}. ${flag.says}`, " ", h("span", { class: "how" }, flag.computed))];
    })),
    h("p", { class: "small" }, "n/a: could not be had, the reason is on hover and in the raw data; it is never 0. ",
      "~: fewer than ", model.methodology.samples_behind, " samples lie above this percentile. ",
      `Below a value: its ${100 * model.methodology.confidence} % bootstrap interval over the valid runs `,
      `(${model.methodology.resamples.toLocaleString("en-US")} resamples), or, as “runs”, the smallest and the largest of fewer than `,
      model.methodology.runs_for_interval, ". #: the places that a client may hold; those of clients that cannot be told apart overlap."));
}

// Who may be first by each of the metrics; nothing where the runs bear no ranking.
export const firstsTexts = (model: Model, point: Point, ids: string[]): Child[] =>
  ids.filter((id) => model.hasPlaces(point, id)).map((id) => {
    const firsts = model.firsts(point, id);
    const isCertain = firsts.length === 1 && firsts[0]?.metrics[id]?.place?.[1] === 1;
    return [h("b", {}, model.metric(id).title), ": ", joined(firsts.map((cell) => clientLink(model, cell.client)), ", "),
      isCertain ? " certainly first" : firsts.length > 1 ? " indistinguishable, no client certainly ahead of them" : ", no client certainly ahead"];
  });

export const ratioText = (ratio: number, [low, high]: [number, number]) => {
  const percent = (each: number) => `${each < 1 ? "−" : "+"}${Math.abs(100 * (each - 1)).toFixed(1)} %`;
  return `${percent(ratio)} (${percent(low)} to ${percent(high)})`;
};

// Where a client differs from itself.
export const controlTexts = (model: Model, controls: Control[]): Child[] =>
  controls.flatMap((control) => control.differs.map(({ metric, ratio, interval }) => [
    clientName(control.client), ` differs from itself in ${model.metric(metric).title} by ${ratioText(ratio, interval)} on `,
    pointLink(model, control.point), ": a difference of that size cannot be told there."]));

// Flags that any of the cells raised, the campaign's own label left out.
export const flagsOf = (cells: Cell[]) =>
  [...new Set(cells.flatMap((cell) => Object.keys(cell.flags)))].filter((id) => id !== "non_comparable");

export function whyNotValid(cell: Cell): Child {
  return [h("span", { class: `status ${cell.status}` }, cell.status.replace("_", " ")),
    cell.party && ` (${cell.party})`, cell.reason && `: ${cell.reason}`];
}

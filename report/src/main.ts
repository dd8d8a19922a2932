// Routes and loading. data.js calls mqcoreIndex, a campaign's own script calls mqcoreCampaign: scripts,
// because a page from the disk may load nothing else.

import { type Campaign, FORMAT, type Index } from "./data";
import { nameClients } from "./colours";
import { append, type Child, h, route } from "./dom";
import { when } from "./format";
import { Model } from "./model";
import { clientName, list, note } from "./parts";
import { clientPage } from "./pages/client";
import { coveragePage } from "./pages/coverage";
import { campaignsPage, historyPage } from "./pages/history";
import { loadPage } from "./pages/load";
import { methodologyPage } from "./pages/methodology";
import { overview } from "./pages/overview";
import { pointPage } from "./pages/point";
import { rawPage } from "./pages/raw";
import { redraw } from "./plots";

declare global {
  interface Window {
    mqcoreIndex: (format: string, index: Index) => void;
    mqcoreCampaign: (key: string, campaign: Campaign) => void;
  }
}

const page = document.getElementById("page") as HTMLElement;
const models = new Map<string, Model>();
let index: Index | null = null;

window.mqcoreIndex = (format, loaded) => {
  if (format !== FORMAT) return fail(`The data has the format '${format}', this page reads '${FORMAT}'.`);
  index = loaded;
  nameClients(loaded);
  window.addEventListener("hashchange", () => void show(true));
  void show(false);
};
window.mqcoreCampaign = (key, campaign) => {
  if (index && campaign.format === FORMAT) models.set(key, new Model(key, campaign, index.methodology));
};

function load(key: string): Promise<Model | null> {
  const known = models.get(key);
  if (known) return Promise.resolve(known);
  return new Promise((resolve) => {
    const script = h("script", { src: `data/${encodeURIComponent(key)}.js` });
    script.onload = () => resolve(models.get(key) ?? null);
    script.onerror = () => resolve(null);
    document.body.appendChild(script);
  });
}

function fail(why: string): void {
  page.replaceChildren(h("main", {}, note("warning", why)));
}

interface Page {
  title: string;
  body: Child;
  target?: string; // id of an element to show
}

const PAGES: Record<string, { title: string; make: (model: Model) => Child }> = {
  "": { title: "Overview", make: overview },
  load: { title: "Load curves", make: loadPage },
  coverage: { title: "Coverage", make: coveragePage },
  methodology: { title: "Methodology", make: methodologyPage },
  data: { title: "Raw data", make: rawPage },
};

function pageOf(model: Model, index: Index, parts: string[]): Page {
  const [kind = "", ...rest] = parts;
  const [name = "", chosen] = rest;
  if (kind === "point") return { title: name, body: pointPage(model, name, chosen), target: chosen && `cell-${chosen}` };
  if (kind === "client") return { title: name, body: clientPage(model, name) };
  if (kind === "history") return { title: `History of ${name}`, body: historyPage(model, index, name) };
  if (kind === "campaigns") return { title: "Campaigns", body: campaignsPage(index) };
  const found = Object.hasOwn(PAGES, kind) ? PAGES[kind] : undefined;
  if (!found) return { title: "No such page", body: note("warning", `This report has no page '${kind}'.`) };
  return { title: kind === "" ? `Campaign ${model.campaign.manifest.id}` : found.title, body: found.make(model),
    target: kind === "methodology" && name !== "" ? `entry-${name}` : undefined };
}

function navigation(model: Model, index: Index, here: string): HTMLElement {
  const link = (href: string, ...text: Child[]) =>
    h("li", {}, h("a", { href, "aria-current": href === here ? "page" : null }, text));
  const isWide = window.matchMedia("(min-width: 52rem)").matches;
  return h("nav", { "aria-label": "pages" }, h("details", { open: isWide },
    h("summary", {}, "All pages"),
    h("ul", {}, Object.entries(PAGES).map(([kind, { title }]) => link(route("c", model.key, ...(kind ? [kind] : [])), title)),
      index.campaigns.length > 1 && link(route("campaigns"), "Campaigns")),
    h("h2", {}, "Points"),
    h("ul", {}, model.points.map((point) => link(route("c", model.key, "point", point.id), point.id))),
    h("h2", {}, "Clients"),
    h("ul", {}, model.clients.map((client) => link(route("c", model.key, "client", client.id), clientName(client.id)))),
    h("h2", {}, "History"),
    h("ul", {}, model.clients.map((client) => link(route("history", client.id), client.id)))));
}

// What everybody must know first, on every page of the campaign.
function labels(model: Model): Child {
  const { manifest } = model.campaign;
  const notRun = model.missing().filter((pair) => pair.lacks === null).length;
  const { standing } = model.campaign;
  const few = model.methodology.runs_for_interval;
  return [
    standing && note("warning", h("p", {}, h("b", {}, standing.standing.toUpperCase()), `: ${standing.reason} (${when(standing.at)})`)),
    !manifest.comparable && note("warning", h("p", {}, h("b", {}, "NOT COMPARABLE")), list(manifest.not_comparable_because)),
    model.hasFewRuns() && note("warning", h("p", {}, h("b", {}, "NO INTERVALS, NO RANKING"),
      `: no pair ran ${few} times, which an interval needs. Rows stand in the order of what was seen, which may be chance.`)),
    (manifest.state !== "finished" || notRun > 0) && note("warning", h("p", {}, h("b", {}, "INCOMPLETE"),
      manifest.state !== "finished" && `: the campaign is ${manifest.state}`, notRun > 0 && `; ${notRun} pairs were not run`)),
  ];
}

async function show(isMove: boolean): Promise<void> {
  if (!index) return;
  let parts: string[];
  try {
    parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return fail("This address is not one of the report's.");
  }
  const newest = [...index.campaigns].sort((a, b) => b.created.localeCompare(a.created))[0];
  const isOfCampaign = parts[0] === "c" || parts.length === 0;
  const key = parts[0] === "c" ? parts[1] ?? "" : newest?.key ?? "";
  if (!index.campaigns.some((campaign) => campaign.key === key)) return fail(`This report has no campaign '${key}'.`);
  const model = await load(key);
  if (!model) return fail(`The data of campaign '${key}' could not be loaded: data/${key}.js is not there or is broken.`);

  let made: Page;
  try {
    made = pageOf(model, index, isOfCampaign ? parts.slice(2) : parts);
  } catch (error) { // a key that every campaign has is missing: say so instead of nothing
    return fail(`This page cannot be made of what campaign '${key}' holds: ${error instanceof Error ? error.message : error}`);
  }
  const title = h("h1", { tabindex: -1 }, made.title);
  const main = h("main", { id: "main" });
  append(main, [isOfCampaign && labels(model), title, made.body]);
  const skip = h("a", { class: "skip", href: "#main" }, "Skip to the content");
  skip.addEventListener("click", (event) => {
    event.preventDefault(); // the address belongs to the routes
    title.focus();
  });
  const here = isOfCampaign ? route("c", key, ...parts.slice(2, parts[2] === "methodology" ? 3 : 4)) : route(...parts);
  page.replaceChildren(
    h("header", {}, skip, h("strong", {}, h("a", { href: route("c", key) }, "mqcore")),
      h("span", {}, `campaign ${model.campaign.manifest.id}`)),
    navigation(model, index, here), main);
  document.title = `${made.title} · mqcore`;
  const target = made.target === undefined ? null : document.getElementById(made.target);
  target?.classList.add("chosen");
  if (target) target.scrollIntoView();
  else if (isMove) window.scrollTo(0, 0);
  if (isMove) title.focus({ preventScroll: true });
}

// Paper has nothing to press.
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll<HTMLDetailsElement>("main details")) details.open = true;
});

let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // a phone's address bar came or went
  width = window.innerWidth;
  redraw();
});

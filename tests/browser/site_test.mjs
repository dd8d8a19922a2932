// The report's site as a reader has it: every page in Chromium from file://, without a console error or a
// request to anywhere, plots that draw what the data says, no serious accessibility fault.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { accessSync, constants, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, normalize } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const SOURCE = normalize(join(dirname(fileURLToPath(import.meta.url)), "../.."));
const BUILD = process.env.MQCORE_TEST_BUILD;
const MQCORE = join(BUILD, "bin/mqcore");
const packages = join(BUILD, "report/npm");

const onPath = (name) => process.env.PATH.split(delimiter).map((folder) => join(folder, name)).find((file) => {
  try { accessSync(file, constants.X_OK); return true; } catch { return false; }
});
const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"].map(onPath).find(Boolean);
const skip = (why) => { console.log(`skipped: ${why}`); process.exit(0); };
if (!CHROMIUM) skip("Chromium is not here (Debian's package is 'chromium')");
if (!existsSync(join(packages, "node_modules/puppeteer-core"))) skip("npm could not install the page's packages");

const require = createRequire(join(packages, "package.json"));
const puppeteer = require("puppeteer-core");
const AXE = readFileSync(require.resolve("axe-core"), "utf8");

const MARKUP = "<img src=x onerror=alert(1)>";
const ODD = "a # of %20 \"odd' names";

const folder = mkdtempSync(join(tmpdir(), "mqcore-browser-"));
const site = join(folder, "site");
const address = (hash = "") => pathToFileURL(join(site, "index.html")).href + hash;
let browser;

// The campaign once more with paho measured twice, the second time half as dear again on one point; and with
// that point at twice its rate, at which everything of a client is half as dear.
function addControl(from, to) {
  cpSync(from, to, { recursive: true });
  const read = (name) => JSON.parse(readFileSync(join(to, name), "utf8"));
  const write = (name, document) => writeFileSync(join(to, name), JSON.stringify(document));
  const manifest = read("manifest.json");
  manifest.id = "control";
  manifest.created = "2025-06-01T00:00:00Z";
  const point = manifest.points.find((each) => each.id === "pub_qos1_fixed");
  const faster = { id: "pub_qos1_faster", rate: 2 * point.rate };
  manifest.points.push({ ...point, ...faster });
  for (const { id } of manifest.clients) {
    const own = read(`${id}.json`);
    own.runs.push(...own.runs.filter((run) => run.point === point.id).map((run) => ({ ...run, point: faster.id,
      spec: { ...run.spec, ...faster }, metrics: { ...run.metrics, cpu_us_per_message: run.metrics.cpu_us_per_message / 2 } })));
    write(`${id}.json`, own);
  }
  const client = manifest.clients.find((each) => each.id === "paho");
  manifest.clients.push({ ...client, id: "paho#control", control_of: "paho" });
  write("manifest.json", manifest);
  const own = read("paho.json");
  for (const run of own.runs) {
    run.client_name = "paho#control";
    if (run.point === point.id) run.metrics.cpu_us_per_message *= 1.5;
  }
  write("paho#control.json", { ...own, client: "paho#control" });
}

// Two honest campaigns, one with an A/A pair, and one whose names and texts are markup.
before(async () => {
  const results = join(folder, "results");
  cpSync(join(SOURCE, "results/2026-11-30-core-resumed"), join(results, "core"), { recursive: true });
  cpSync(join(SOURCE, "tests/golden/report/results"), join(results, "golden"), { recursive: true });
  cpSync(join(SOURCE, "tests/golden/report/results"), join(results, ODD), { recursive: true });
  for (const name of ["manifest.json", "paho.json"]) {
    const file = join(results, ODD, name);
    const text = readFileSync(file, "utf8").replaceAll('"paho"', JSON.stringify(MARKUP))
      .replaceAll("Core points", "</script><script>alert(2)</script>").replaceAll('"rtt_qos2_fixed"', JSON.stringify(`p/${MARKUP}`))
      .replaceAll("signal 11", "<b>signal</b>").replaceAll("2025-01-01", "2024-01-01");
    writeFileSync(file, text);
  }
  renameSync(join(results, ODD, "paho.json"), join(results, ODD, `${MARKUP}.json`));
  addControl(join(SOURCE, "results/2026-11-30-core-resumed"), join(results, "control"));
  cpSync(join(SOURCE, "tests/golden/report/results"), join(results, "half"), { recursive: true });
  rmSync(join(results, "half/paho.json"));
  mkdirSync(join(results, "no-campaign"));
  execFileSync(MQCORE, ["report", results, "--output", site]);
  // The sandbox needs rights that a container does not give; the pages are our own.
  browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

// A page that remembers what must not happen.
async function open(hash = "", { width = 1280, scheme = "light", base = address } = {}) {
  const page = await browser.newPage();
  page.faults = [];
  page.on("console", (message) => { if (["error", "warn"].includes(message.type())) page.faults.push(message.text()); });
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("dialog", (dialog) => { page.faults.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().startsWith(base("").replace(/index\.html$/, "")) && !request.url().startsWith("data:"))
      page.faults.push(`request to ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await go(page, base(hash));
  return page;
}

async function go(page, url) {
  await page.goto("about:blank");
  await page.goto(url);
  await page.waitForSelector("main");
  await page.evaluate(() => new Promise((done) => setTimeout(done))); // plots follow in a microtask
}

const documentOf = (key) => {
  let read;
  new Function("mqcoreCampaign", readFileSync(join(site, "data", `${key}.js`), "utf8"))((_, campaign) => { read = campaign; });
  return read;
};
const route = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

describe("the site", () => {
  test("every page that a link leads to opens, with its tables and nothing from elsewhere", async () => {
    const page = await open();
    const seen = new Set();
    const waiting = ["core", "golden", "control", "half", ODD].map((key) => route("c", key));
    while (waiting.length > 0) {
      const hash = waiting.pop();
      if (seen.has(hash)) continue;
      seen.add(hash);
      // The methodology's entries are one page; one link of each kind is enough.
      await go(page, address(hash));
      const found = await page.evaluate(() => ({
        title: document.querySelector("h1")?.textContent ?? "",
        text: document.querySelector("main").textContent,
        rows: document.querySelectorAll("main tbody tr").length,
        figures: [...document.querySelectorAll("figure")].map((figure) => ({
          label: figure.querySelector("svg")?.getAttribute("aria-label"),
          hasShape: figure.querySelector("svg rect, svg path") !== null,
        })),
        links: [...document.querySelectorAll("a[href^='#/']")].map((link) => link.getAttribute("href")),
        wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        images: document.querySelectorAll("img, b > script").length,
      }));
      assert.notEqual(found.title, "", hash);
      assert.doesNotMatch(found.text, /has no (page|point|client|campaign)|No campaign of this site|cannot be made|undefined|NaN/, hash);
      // Most of these campaigns have no load curve, and a point or a client may have no value at all.
      const isPlain = /\/load$/.test(hash) || (/\/(point|client)\//.test(hash) && /No value (from|on)/.test(found.text));
      assert.ok(isPlain || found.rows > 0, `${hash} has no table`);
      assert.ok(found.wide <= 0, `${hash} is wider than its window by ${found.wide}`);
      await page.setViewport({ width: 390, height: 900 });
      const wideOnPhone = await page.evaluate(() => document.documentElement.scrollWidth - 390);
      assert.ok(wideOnPhone <= 0, `${hash} is wider than a phone by ${wideOnPhone}`);
      await page.setViewport({ width: 1280, height: 900 });
      assert.equal(found.images, 0, hash);
      for (const figure of found.figures) assert.ok(figure.label && figure.hasShape, `${hash}: a plot is empty or has no label`);
      for (const link of found.links)
        waiting.push(link.replace(/(\/methodology)\/.*/, "$1").replace(/(\/point\/[^/]+)\/.*/, "$1"));
    }
    for (const key of ["core", "golden", "control", "half", ODD]) {
      const { manifest } = documentOf(key);
      for (const point of manifest.points) assert.ok(seen.has(route("c", key, "point", point.id)), point.id);
      for (const client of manifest.clients) {
        assert.ok(seen.has(route("c", key, "client", client.id)), client.id);
        assert.ok(seen.has(route("history", client.id)), client.id);
      }
      for (const kind of ["load", "coverage", "methodology", "data"]) assert.ok(seen.has(route("c", key, kind)), kind);
    }
    assert.ok(seen.has(route("campaigns")));
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("names and texts that are markup stay text", async () => {
    const page = await open(route("c", ODD, "client", MARKUP));
    assert.equal(await page.$eval("h1", (title) => title.textContent), MARKUP);
    await go(page, address(route("c", ODD, "point", `p/${MARKUP}`)));
    assert.match(await page.$eval("main", (main) => main.textContent), /<b>signal<\/b>/);
    await go(page, address(route("c", ODD)));
    assert.match(await page.$eval("main", (main) => main.textContent), /<\/script><script>alert\(2\)<\/script>/);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("bars are as long as the data says, best first", async () => {
    const page = await open(route("c", "golden", "point", "pub_qos0_max"));
    const values = documentOf("golden").cells.filter((cell) => cell.point === "pub_qos0_max" && cell.status === "valid")
      .map((cell) => ({ client: cell.client, value: cell.metrics.rate.value })).sort((a, b) => b.value - a.value);
    const drawn = await page.$eval("figure", (figure) => [...figure.querySelectorAll("g[data-mark='bar'] rect")]
      .map((bar) => ({ title: bar.querySelector("title").textContent, width: Number(bar.getAttribute("width")) })));
    assert.equal(drawn.length, values.length);
    drawn.forEach((bar, at) => {
      assert.ok(bar.title.startsWith(`${values[at].client}: `), bar.title);
      assert.ok(Math.abs(bar.width / drawn[0].width - values[at].value / values[0].value) < 0.01, bar.title);
    });
    const ranked = await page.$$eval("main table", (tables) => [...tables[0].querySelectorAll("tbody th a")].map((link) => link.textContent.slice(1)));
    assert.deepEqual(ranked, values.map((each) => each.client));
    await page.close();
  });

  test("places, intervals and mqcore's floor are those of the data", async () => {
    const page = await open(route("c", "core", "point", "pub_qos0_max"));
    const rows = await page.$$eval("main table", (tables) => [...tables[0].querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent)));
    const cells = documentOf("core").cells.filter((cell) => cell.point === "pub_qos0_max");
    assert.equal(rows.length, cells.length);
    const grouped = (value) => Math.round(value).toLocaleString("en-US");
    for (const cell of cells) {
      const { place, value, interval } = cell.metrics.rate;
      const row = rows.find((each) => each[1].endsWith(cell.client));
      assert.equal(row[0], place[0] === place[1] ? `${place[0]}` : place.join("-"));
      assert.equal(row[2], `${grouped(value)} /s${grouped(interval[0])} – ${grouped(interval[1])} /s`);
      const cost = cell.metrics.cpu_us_per_message;
      const floor = `floor ${(1000 * cost.floor).toFixed(0)} ns`;
      assert.equal(row[3].includes(floor), "floor_matters" in cell.flags, `${row[3]}, ${floor}`);
    }
    assert.ok(cells.some((cell) => "floor_matters" in cell.flags) && !cells.every((cell) => "floor_matters" in cell.flags));
    const leaders = cells.filter((cell) => cell.metrics.rate.place[0] === 1).map((cell) => cell.client);
    assert.ok(leaders.length > 1);
    const named = await page.$eval("main h1 ~ .note li", (item) => ({ text: item.textContent, clients: [...item.querySelectorAll(".client")].map((name) => name.textContent.slice(1)) }));
    assert.match(named.text, /^msgs\/s: .* indistinguishable/);
    assert.deepEqual(named.clients.sort(), leaders.sort());
    await page.close();
  });

  test("the overview concludes what the places allow, question by question", async () => {
    const page = await open(route("c", "core"));
    const { cells, manifest } = documentOf("core");
    const shown = await page.$$eval(".conclusion", (sections) => sections.map((section) => ({
      title: section.querySelector("h3").firstChild.textContent,
      answer: section.querySelector(".answer").textContent,
      clients: [...section.querySelectorAll(".answer .client")].map((name) => name.textContent.slice(1)).sort(),
      rows: [...section.querySelectorAll("tbody tr")].map((row) => ({
        point: row.querySelector("th").textContent,
        first: [...row.children[1].querySelectorAll(".client")].map((name) => name.textContent.slice(1)).sort(),
        places: [...row.querySelectorAll(".standing")].map((each) => [each.querySelector(".client").textContent.slice(1), each.querySelector(".place").textContent]),
      })),
    })));
    const asked = [
      ["Publishing at a high rate", "rate", (point) => point.capacity && point.kind === "pub"],
      ["Receiving at a high rate", "rate", (point) => point.capacity && point.kind === "sub"],
      ["Low latency, typical (p50)", "transit_p50_us", (point) => point.rate !== null],
      ["Low latency, tail (p99)", "since_due_p99_us", (point) => point.rate !== null],
      ["Little CPU at a fixed rate", "cpu_us_per_message", (point) => point.rate !== null],
      ["Little memory", "rss_peak_kib", () => true],
      ["Connecting quickly", "connect_us", (point) => point.kind === "idle"],
    ];
    assert.deepEqual(shown.map((each) => each.title), asked.map(([title]) => title));
    for (const [at, [title, metric, covers]] of asked.entries()) {
      const points = manifest.points.filter(covers);
      const placed = (point) => cells.filter((cell) => cell.point === point.id && cell.metrics[metric]?.place);
      const isBound = (cell) => metric === "rate" && ("broker_bound" in cell.flags || "offer_bound" in cell.flags);
      const firsts = (point) => {
        const leads = placed(point).filter((cell) => cell.metrics[metric].place[0] === 1);
        return placed(point).filter((cell) => leads.includes(cell) || (leads.some(isBound) && isBound(cell))).map((cell) => cell.client).sort();
      };
      const unbeaten = manifest.clients.map((client) => client.id).filter((id) => points.every((point) => firsts(point).includes(id))).sort();
      assert.deepEqual(shown[at].clients, unbeaten, title);
      assert.match(shown[at].answer, unbeaten.length === 0 ? /depends on the point/ : unbeaten.length > 1 ? /indistinguishable/ : /certainly (first|ahead)/, title);
      assert.deepEqual(shown[at].rows.map((row) => row.point), points.map((point) => point.id), title);
      for (const [n, point] of points.entries()) {
        assert.deepEqual(shown[at].rows[n].first, firsts(point), `${title}, ${point.id}`);
        for (const [client, place] of shown[at].rows[n].places) {
          const [best, worst] = placed(point).find((cell) => cell.client === client).metrics[metric].place;
          assert.equal(place, best === worst ? `${best}` : `${best}-${worst}`, `${title}, ${point.id}, ${client}`);
        }
      }
    }
    await page.close();
  });

  test("what the data cannot answer is said from the data", async () => {
    const page = await open(route("c", "core"));
    const doubts = () => page.evaluate(() => {
      const title = [...document.querySelectorAll("h2")].find((each) => each.textContent === "What the data cannot answer");
      return [...title.nextElementSibling.children].map((item) => item.textContent);
    });
    const says = (all, what, is = true) => assert.equal(all.some((text) => what.test(text)), is, `${what} in ${all.join(" | ")}`);
    const core = await doubts();
    says(core, /not comparable/);
    says(core, /pub_qos0_max.*met the broker's or the offer's limit/);
    says(core, /it has no A\/A pair/);
    says(core, /no intervals and no places/, false);
    says(core, /refused/, false);
    says(core, /^nagle_on.*paho-c 7 points/);
    await go(page, address(route("c", "golden")));
    const golden = await doubts();
    says(golden, /not comparable/, false);
    says(golden, /no pair ran 3 times, so there are no intervals and no places/);
    says(golden, /refused, because .* needs: 1 pair\./);
    says(golden, /without a valid run: 2 pairs\./);
    assert.ok(!(await page.$eval("main", (main) => main.textContent)).includes("certainly first"));
    assert.match(await page.$eval("main > .note", (note) => note.textContent), /^NO INTERVALS, NO RANKING/);
    await go(page, address(route("c", "control")));
    const control = await doubts();
    says(control, /it has no A\/A pair/, false);
    says(control, /paho differs from itself in CPU µs\/msg by \+50\.0 % .* on pub_qos1_fixed/);
    await go(page, address(route("c", "control", "point", "pub_qos1_fixed")));
    const marked = await page.$$eval("main table", (tables) => [...tables[0].querySelectorAll("tbody tr")].map((row) => [row.children[0].textContent, row.children[1].textContent.slice(1)]));
    assert.deepEqual(marked.filter(([place]) => place === "A/A"), [["A/A", "paho#control"]]);
    await page.close();
  });

  test("a percentile curve has one line a client that ends at its maximum", async () => {
    const page = await open(route("c", "core", "point", "rtt_qos1_fixed"));
    const cells = documentOf("core").cells.filter((cell) => cell.point === "rtt_qos1_fixed" && cell.curves.transit);
    assert.ok(cells.length > 2);
    const drawn = await page.evaluate(() => {
      const figure = [...document.querySelectorAll("figure")].find((each) => /^Transit/.test(each.textContent));
      return {
        lines: [...figure.querySelectorAll("g[data-mark='line'] path")].map((path) => path.getAttribute("d").split("L").length),
        ends: [...figure.querySelectorAll("g[data-mark='dot'] title")].map((title) => title.textContent),
      };
    });
    assert.equal(drawn.lines.length, cells.length);
    assert.deepEqual(drawn.ends.map((text) => text.replace(/, max: .*/, "")).sort(), cells.map((cell) => cell.client).sort());
    for (const cell of cells) {
      const shown = drawn.ends.find((text) => text.startsWith(`${cell.client}, max`));
      const ms = cell.curves.transit.steps.at(-1)[1] / 1e6;
      assert.ok(Math.abs(Number.parseFloat(shown.split(": ")[1]) - ms) <= 0.01 * ms, `${shown} for ${ms} ms`);
    }
    await page.close();
  });

  // What the dots of a figure say, each "client, x: value".
  const dots = (page, title) => page.evaluate((wanted) => {
    const figure = [...document.querySelectorAll("figure")].find((each) => each.textContent.startsWith(wanted));
    return [...figure.querySelectorAll("g[data-mark='dot'] title")].map((dot) => dot.textContent).sort();
  }, title);

  test("a load curve has a dot for each client and rate, as the data says", async () => {
    const page = await open(route("c", "control", "load"));
    const { cells } = documentOf("control");
    const wanted = cells.filter((cell) => /^pub_qos1_(fixed|faster)$/.test(cell.point)).map((cell) => {
      const us = cell.metrics.cpu_us_per_message.value;
      return `${cell.client}, ${cell.point.endsWith("faster") ? "4,000" : "2,000"}: ${us.toFixed(us >= 99.95 ? 0 : 1)} µs`;
    });
    assert.equal(wanted.length, 10);
    assert.deepEqual(await dots(page, "CPU µs/msg"), wanted.sort());
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("a history has a dot for each campaign", async () => {
    const page = await open(route("history", "gmqtt"));
    const rate = (key) => documentOf(key).cells.find((cell) => cell.client === "gmqtt" && cell.point === "pub_qos1_max").metrics.rate.value;
    const shown = await page.evaluate(() => {
      const title = [...document.querySelectorAll("h2")].find((each) => each.textContent === "pub_qos1_max");
      return [...title.nextElementSibling.querySelectorAll("g[data-mark='dot'] title")].map((dot) => dot.textContent);
    });
    const text = (when, key) => `gmqtt, ${when} UTC: ${Math.round(rate(key)).toLocaleString("en-US")} /s`;
    assert.deepEqual(shown, [text("2025-06-01 00:00", "control"), text("2026-11-30 23:00", "core")]);
    await page.close();
  });

  test("a run over time is drawn and told as the data says, the pause in it included", async () => {
    const page = await open(route("c", "golden", "point", "pub_qos0_max"));
    const cells = documentOf("golden").cells.filter((cell) => cell.point === "pub_qos0_max");
    const lists = [["rate", /^Messages that arrived/], ["slowest_us", /^Slowest message, since its publish/], ["client_cores", /^Processor time of the client/]];
    for (const run of [1, 2]) {
      if (run > 1) await page.select(".over-time-run select", String(run));
      await page.evaluate(() => new Promise((done) => setTimeout(done)));
      const series = new Map(cells.map((cell) => [cell.client, cell.series.find((each) => each.run === run)]));
      assert.equal(series.size, 3);
      const drawn = await page.$$eval(".over-time figure", (figures) => figures.map((figure) => ({
        caption: figure.querySelector("figcaption").textContent,
        lines: figure.querySelectorAll("g[data-mark='line'] path").length,
        dots: [...figure.querySelectorAll("g[data-mark='dot'] :is(circle, path)")].map((dot) => {
          const [, x, y] = /translate\(([^,]+),([^)]+)\)/.exec(dot.getAttribute("transform") ?? "")
            ?? [null, dot.getAttribute("cx"), dot.getAttribute("cy")];
          return { x: Number(x), y: Number(y), title: dot.querySelector("title").textContent };
        }),
      })));
      assert.equal(drawn.length, lists.length);
      for (const [at, [list, caption]] of lists.entries()) {
        const figure = drawn[at];
        assert.match(figure.caption, caption);
        assert.equal(figure.lines, series.size);
        const expected = [...series].flatMap(([client, each]) => each[list].flatMap((value, interval) => value === null ? []
          : [{ client, value, middle: (each.bounds_s[interval] + each.bounds_s[interval + 1]) / 2, from: each.bounds_s[interval] }]));
        assert.equal(figure.dots.length, expected.length, list);
        // Both axes: places are the values', by the scale that two far apart of them give.
        const height = (value) => (list === "slowest_us" ? Math.log(value) : value);
        const by = (key) => [...expected.keys()].sort((a, b) => key(expected[a]) - key(expected[b]));
        for (const [key, place] of [[(each) => each.middle, "x"], [(each) => height(each.value), "y"]]) {
          const order = by(key), low = order[0], high = order.at(-1);
          assert.ok(key(expected[high]) > key(expected[low]), list);
          const scale = (figure.dots[high][place] - figure.dots[low][place]) / (key(expected[high]) - key(expected[low]));
          expected.forEach((each, dot) => assert.ok(
            Math.abs(figure.dots[low][place] + scale * (key(each) - key(expected[low])) - figure.dots[dot][place]) < 0.02,
            `${list} ${figure.dots[dot].title}`));
        }
        expected.forEach((each, dot) => assert.ok(figure.dots[dot].title.startsWith(`${each.client}, ${each.from.toFixed(each.from === 0 ? 0 : 2)}`),
          `${figure.dots[dot].title} for ${each.client} at ${each.from}`));
      }
      const tables = await page.$$eval(".over-time details table", (found) => found.map((table) => [...table.querySelectorAll("tbody tr")]
        .map((row) => [...row.querySelectorAll("td")].map((cell) => cell.dataset.sort))));
      lists.forEach(([list], at) => assert.deepEqual(tables[at],
        [...series.values()][0][list].map((_, interval) => [...series.values()].map((each) => String(each[list][interval] ?? "")))));
      const paused = series.get("paho");
      const at = paused.bounds_s.indexOf(4);
      assert.equal(paused.rate[at] === 0, run === 2, "the fixture pauses in its second run");
      assert.equal(paused.slowest_us[at] === null, run === 2);
      assert.equal(drawn[0].dots.some((dot) => dot.title === "paho, 4.00 to 5.00 s: 0 /s"), run === 2);
    }
    // Campaigns of before have no such part.
    await go(page, address(route("c", "core", "point", "pub_qos1_max")));
    assert.equal(await page.$(".over-time"), null);
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("capacity and fixed rate share no plot", async () => {
    const page = await open(route("c", "core", "point", "pub_qos1_max"));
    assert.match(await page.$eval(".badge", (badge) => badge.textContent), /Capacity/);
    await go(page, address(route("c", "core", "load")));
    assert.doesNotMatch(await page.$eval("main", (main) => main.textContent), /_max\b/);
    await page.close();
  });

  test("a campaign that is not comparable says so on top of each of its pages", async () => {
    const page = await open();
    for (const kind of [[], ["point", "pub_qos1_max"], ["client", "paho"], ["load"], ["coverage"], ["methodology"], ["data"]]) {
      await go(page, address(route("c", "core", ...kind)));
      assert.match(await page.$eval("main > .note", (note) => note.textContent), /^NOT COMPARABLE.*profile 'smoke'/, kind.join());
      await go(page, address(route("c", "golden", ...kind)));
      assert.doesNotMatch(await page.$eval("main", (main) => main.firstElementChild.textContent), /NOT COMPARABLE/, kind.join());
    }
    await page.close();
  });

  test("coverage names every pair without a valid run, its reason and party", async () => {
    const page = await open(route("c", "golden", "coverage"));
    const rows = await page.$$eval("main table", (tables) => [...tables[0].querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent)));
    const { cells, manifest } = documentOf("golden");
    const failed = cells.filter((cell) => cell.status !== "valid");
    assert.ok(failed.length > 0 && manifest.refused.length > 0);
    for (const cell of failed)
      assert.ok(rows.some((row) => row[0] === cell.point && row[1].endsWith(cell.client) && row[3] === cell.party && row[4] === cell.reason), cell.reason);
    for (const pair of manifest.refused)
      assert.ok(rows.some((row) => row[0] === pair.point && row[1].endsWith(pair.client) && row[4].includes(pair.missing[0])));
    await page.close();
  });

  test("a client has the same colour on every page", async () => {
    const page = await open(route("c", "core"));
    const colour = () => page.$$eval(".client", (names) => [...new Set(names.filter((name) => /^.paho-c$/.test(name.textContent))
      .map((name) => getComputedStyle(name.querySelector(".mark")).color))]);
    const first = await colour();
    assert.equal(first.length, 1);
    for (const hash of [route("c", "golden"), route("c", "core", "point", "pub_qos1_max"), route("history", "paho-c")]) {
      await go(page, address(hash));
      assert.deepEqual(await colour(), first, hash);
    }
    await page.close();
  });

  test("a title sorts its column by keyboard, and says so", async () => {
    const page = await open(route("c", "golden", "point", "pub_qos0_max"));
    const button = await page.$("thead .sort");
    await button.focus();
    await page.keyboard.press("Enter");
    const read = () => page.$eval("main table", (table) => ({
      sorted: table.querySelector("th[aria-sort]").getAttribute("aria-sort"),
      values: [...table.querySelectorAll("tbody tr")].map((row) => Number(row.children[1].dataset.sort)),
    }));
    const rising = await read();
    assert.equal(rising.sorted, "ascending");
    assert.deepEqual(rising.values, [...rising.values].sort((a, b) => a - b));
    await page.keyboard.press("Enter");
    assert.deepEqual((await read()).values, rising.values.reverse());
    await page.close();
  });

  test("the first Tab leads to the content, a new page to its title", async () => {
    const page = await open(route("c", "golden"));
    await page.keyboard.press("Tab");
    assert.match(await page.evaluate(() => document.activeElement.textContent), /Skip/);
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
    await page.evaluate(() => { location.hash = "#/c/golden/coverage"; });
    await page.waitForFunction(() => document.activeElement.textContent === "Coverage");
    await page.close();
  });

  test("axe finds no serious fault on any page, in light and dark, wide and narrow", async () => {
    const { manifest } = documentOf("core");
    const kinds = [[], ["load"], ["coverage"], ["methodology"], ["data"], ["point", "rtt_qos1_fixed"], ["client", "paho-c"]];
    const some = kinds.map((kind) => route("c", "core", ...kind));
    const all = [...some, route("campaigns"), route("c", "golden", "coverage"), route("c", "control", "load"),
      ...manifest.points.map(({ id }) => route("c", "core", "point", id)), ...manifest.clients.map(({ id }) => route("c", "core", "client", id)),
      ...manifest.clients.map(({ id }) => route("history", id))];
    const faults = [];
    for (const [scheme, width, pages] of [["light", 1280, new Set(all)], ["dark", 1280, some], ["dark", 390, some]]) {
      const page = await open("", { scheme, width });
      for (const hash of pages) {
        await go(page, address(hash));
        await page.evaluate(AXE);
        const found = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
        for (const fault of found.violations.filter((each) => ["serious", "critical"].includes(each.impact)))
          faults.push(`${scheme} ${width} ${hash}: ${fault.id}: ${fault.nodes[0].html.slice(0, 160)} ${fault.nodes[0].failureSummary}`);
      }
      await page.close();
    }
    assert.deepEqual(faults, []);
  });

  test("print shows what a reader would have to open, and no navigation", async () => {
    const page = await open(route("c", "core"));
    const state = () => page.evaluate(() => ({
      folded: [...document.querySelectorAll("main details")].filter((each) => !each.open).length,
      navigation: document.querySelector("nav").checkVisibility(),
    }));
    assert.ok((await state()).folded > 0);
    await page.pdf(); // fires beforeprint, as paper does
    await page.emulateMediaType("print");
    assert.deepEqual(await state(), { folded: 0, navigation: false });
    await page.close();
  });

  test("it works from a web server, downloads included", async () => {
    const server = createServer((request, response) => {
      const file = join(site, normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)));
      try {
        response.writeHead(200, { "content-type": /\.html$/.test(file) ? "text/html" : /\.js$/.test(file) ? "text/javascript" : /\.css$/.test(file) ? "text/css" : "application/json" });
        response.end(readFileSync(file));
      } catch { response.writeHead(404).end(); }
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const base = (hash) => `http://127.0.0.1:${server.address().port}/index.html${hash}`;
    try {
      const page = await open(route("c", ODD, "data"), { base });
      const links = await page.$$eval("a[download]", (found) => found.map((link) => link.href));
      assert.equal(links.length, 4);
      for (const link of links) {
        const answer = await fetch(link);
        assert.equal(JSON.parse(await answer.text()).format, "mqcore-results/1", link);
      }
      assert.deepEqual(page.faults, []);
      await page.close();
    } finally { server.close(); }
  });

  test("half a results folder says that it is, on each of its pages", async () => {
    const page = await open();
    for (const kind of [[], ["point", "pub_qos1_fixed"], ["client", "paho"], ["coverage"]]) {
      await go(page, address(route("c", "half", ...kind)));
      assert.match(await page.$$eval("main > .note", (notes) => notes.map((note) => note.textContent).join("\n")), /^INCOMPLETE; \d+ pairs were not run$/m, kind.join());
    }
    const rows = await page.$$eval("main table", (tables) => [...tables[0].querySelectorAll("tbody tr")].map((row) => row.textContent));
    assert.ok(rows.some((row) => /pub_qos1_fixed.*paho.*not run/.test(row)), rows.join("\n"));
    assert.deepEqual(page.faults, []);
    await page.close();
  });

  test("an unknown address, missing data and a newer format are one clear line", async () => {
    const page = await open("#/c/nowhere");
    const text = () => page.$eval("main", (main) => main.textContent);
    assert.match(await text(), /has no campaign 'nowhere'/);
    await go(page, address("#/c/golden/nothing"));
    assert.match(await text(), /has no page 'nothing'/);
    await go(page, address("#/c/golden/point/nothing"));
    assert.match(await text(), /has no point 'nothing'/);
    await go(page, address("#/c/%E0%A4%A"));
    assert.match(await text(), /not one of the report's/);

    const broken = join(folder, "broken");
    cpSync(site, broken, { recursive: true });
    rmSync(join(broken, "data/golden.js"));
    await go(page, pathToFileURL(join(broken, "index.html")).href + "#/c/golden");
    assert.match(await text(), /could not be loaded: data\/golden\.js/);
    writeFileSync(join(broken, "data.js"), 'mqcoreIndex("mqcore-report/9", {});');
    await go(page, pathToFileURL(join(broken, "index.html")).href);
    assert.match(await text(), /has the format 'mqcore-report\/9', this page reads 'mqcore-report\/1'/);
    await page.close();
  });
});

// How long a page of a site takes to open in Chromium, from a fresh start to its last plot.
//
//     node tests/bench/report/page_speed.mjs BUILD SITE
//
// BUILD is a build folder with tests, whose npm packages are used; SITE what `mqcore report` made. Opens one
// page of each kind of the largest campaign five times, prints milliseconds; asserts nothing.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [build, site] = process.argv.slice(2);
if (!build || !site) throw new Error("usage: node page_speed.mjs BUILD SITE");
const require = createRequire(join(resolve(build), "report/npm/package.json"));
const puppeteer = require("puppeteer-core");
const TIMES = 5;

let index;
new Function("mqcoreIndex", readFileSync(join(site, "data.js"), "utf8"))((_, read) => { index = read; });
const largest = [...index.campaigns].sort((a, b) => b.cells.length - a.cells.length)[0];
const { client, point } = largest.cells[0];
const route = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");
const pages = [["overview", route("c", largest.key)], ["point", route("c", largest.key, "point", point)],
  ["client", route("c", largest.key, "client", client)], ["load curves", route("c", largest.key, "load")],
  ["coverage", route("c", largest.key, "coverage")], ["methodology", route("c", largest.key, "methodology")],
  ["history", route("history", client)], ["campaigns", route("campaigns")]];

console.log(`${index.campaigns.length} campaigns, the largest with ${largest.cells.length} cells`);
for (const [name, hash] of pages) {
  const times = [];
  for (let n = 0; n < TIMES; ++n) {
    const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    const begin = performance.now();
    await page.goto(pathToFileURL(join(resolve(site), "index.html")).href + hash);
    await page.waitForSelector("main");
    // Plots follow in a microtask; a frame shows them.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    times.push(performance.now() - begin);
    await browser.close();
  }
  times.sort((a, b) => a - b);
  console.log(`${name}: ${times[TIMES >> 1].toFixed(0)} ms (${times[0].toFixed(0)} to ${times[TIMES - 1].toFixed(0)})`);
}

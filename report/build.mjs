// Builds the page into a folder: node build.mjs FOLDER. One script, one style sheet, no other request.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";

const output = process.argv[2] ?? "dist";
await mkdir(output, { recursive: true });
await build({
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  outdir: output,
  bundle: true,
  minify: true,
  format: "iife", // a module would not load from file://
  target: "es2020",
  legalComments: "inline", // the licences of what is bundled
  logLevel: "warning",
});
// Last, because its presence says that the page is whole.
await copyFile("src/index.html", join(output, "index.html"));

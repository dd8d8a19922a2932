// One colour, one symbol and one dash for each client, the same on every page of the site. The colours
// keep apart for the common colour blindnesses and against both backgrounds (style.css); symbol and dash
// say the same without colour, and tell clients apart when there are more than colours.

import type { Index } from "./data";

const COLOURS = 8;
const SYMBOLS = ["●", "■", "▲", "◆", "⬢", "★", "✚"];
export const PLOT_SYMBOLS = ["circle", "square", "triangle", "diamond", "hexagon", "star", "cross"] as const;
const DASHES = ["", "6 3", "2 2", "8 3 2 3", "10 4", "4 2 1 2", "1 3"];

let order: string[] = [];

export function nameClients(index: Index): void {
  order = [...new Set(index.campaigns.flatMap((campaign) => campaign.cells.map((cell) => cell.client)))].sort();
}

const placeOf = (client: string) => Math.max(order.indexOf(client), 0);

export const colourOf = (client: string) => `var(--client-${placeOf(client) % COLOURS})`;
export const symbolOf = (client: string) => SYMBOLS[placeOf(client) % SYMBOLS.length] ?? "●";
export const plotSymbolOf = (client: string) => PLOT_SYMBOLS[placeOf(client) % PLOT_SYMBOLS.length] ?? "circle";
export const dashOf = (client: string) => DASHES[placeOf(client) % DASHES.length] ?? "";

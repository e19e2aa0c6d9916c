// The navigation items of the sidebar and the palette, and which of them an address belongs to. Needs no page.

/** @typedef {{ path: string, title: string, icon: string, within?: string[] }} NavigationItem */

/** @type {NavigationItem[]} */
export const ACTIVITY = [
  { path: "/approvals", title: "Approvals", icon: "shield-check" },
  { path: "/runs", title: "Runs", icon: "list", within: ["/runs/", "/jobs", "/shared/"] },
  { path: "/audit", title: "Audit", icon: "scroll-text" },
  { path: "/stats", title: "Statistics", icon: "chart-column" },
];

/** @type {NavigationItem} */
export const SETTINGS = { path: "/settings", title: "Settings", icon: "settings" };

/**
 * Whether an address is at a place, or below it. A conversation that was begun on the first page is no new one any more.
 * @param {NavigationItem} place @param {{ pathname: string, search: string }} at
 */
export function isAt({ path, within = [] }, { pathname, search }) {
  if (path === "/") return pathname === "/" && !new URLSearchParams(search).has("run");
  return pathname === path || within.some((each) => pathname.startsWith(each));
}

/**
 * Where conversations with an assistant begin: its panel, or the first page with it chosen.
 * @param {Pick<AssistantInfo, "name" | "panel">} given
 */
export function pathTo({ name, panel }) {
  return panel ?? `/?assistant=${encodeURIComponent(name)}`;
}

/**
 * Whether an address is that of a conversation: whatever else it has besides.
 * @param {string} path @param {{ pathname: string, search: string }} at
 */
export function isShown(path, { pathname, search }) {
  const [place, wanted = ""] = path.split("?"), there = new URLSearchParams(search);
  return place === pathname && [...new URLSearchParams(wanted)].every(([name, value]) => there.get(name) === value);
}

const DAY = 86_400_000;

/**
 * Conversations in groups by how long ago they were; those that are pinned come first.
 * @template {{ pinned: boolean, updated_at: number }} T
 * @param {T[]} conversations @param {number} now milliseconds @returns {[string, T[]][]}
 */
export function groupByAge(conversations, now) {
  const today = new Date(now).setHours(0, 0, 0, 0);
  /** @type {[string, (at: number) => boolean][]} */
  const spans = [
    ["Today", (at) => at >= today], ["Yesterday", (at) => at >= today - DAY], ["Previous 7 days", (at) => at >= today - 7 * DAY],
    ["Older", () => true],
  ];
  /** @type {Map<string, T[]>} */
  const groups = new Map(["Pinned", ...spans.map(([name]) => name)].map((name) => [name, []]));
  for (const each of conversations) {
    const name = each.pinned ? "Pinned" : spans.find(([, fits]) => fits(each.updated_at * 1000))?.[0] ?? "Older";
    groups.get(name)?.push(each);
  }
  return [...groups].filter(([, members]) => members.length);
}

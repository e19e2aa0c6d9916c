// Figures as people read them: totals, plots that each have their table, and what assistants and models spent. It only draws;
// how a plot is drawn is `plots.js`, and what the figures mean is in docs/stats.md.
import { element } from "/static/treadle.js";
import { columnsOf, COUNTS, OUTCOMES } from "/static/columns.js";
import { pluralize, formatNumber as format, percent, formatCompact, formatShortDuration } from "/static/format.js";
import { bars, dots, list, plot } from "/static/plots.js";

const MOST = 15;  // rows of a plot; its table has them all
const OUTCOME_HEAD = ["Calls", "Fine", "Failed", "Denied", "Cancelled"];
const TOKENS = "Tokens of a tool are those of the requests that asked for its calls, shared equally among the calls of one reply, "
  + "and what the calls spent themselves (agents they asked, summaries).";

/** @typedef {import("/static/columns.js").Column} Column */

/** Everything there is to show. @param {Record<"tool" | "day" | "assistant" | "model", StatsReport>} given */
export function figuresOf({ tool, day, assistant, model }) {
  const plots = tool.total.calls ? [across(perDay(day)), tools(tool), durations(tool), problems(tool.total)] : [];
  const made = [tiles(tool.total), ...plots, spending("Assistants", assistant), spending("Models", model)];
  return made.filter((each) => each !== null);
}

/** @param {HTMLElement} card */
function across(card) {
  card.classList.add("across");
  return card;
}

// totals

/** @param {StatsRow} total */
function tiles(total) {
  const { spent } = total, facts = [
    ["Calls", format(total.calls)], ["Failed", failed(total)], ["Denied", format(total.denied)],
    ["From the cache", format(total.cached)], ["Median time", time(total, "median")],
  ];
  if (spent) {
    facts.push(["Runs", format(spent.runs)], ["Requests", format(spent.requests)], ["Tokens in", formatCompact(spent.input_tokens)],
      ["Tokens out", formatCompact(spent.output_tokens)], ["Cost", cost(spent)]);
  }
  const made = facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("dl", { class: "tiles across", "aria-label": "In all" }, made);
}

// plots

/** @param {StatsReport} report */
function perDay(report) {
  const [columns, unit] = columnsOf(report.rows.filter((row) => row.calls)), title = `Calls per ${unit}`;
  const most = columns.reduce((one, other) => other.calls > one.calls ? other : one);
  const label = `${title}, from ${columns[0].key} to ${columns[columns.length - 1].key}: ${format(report.total.calls)} in all; `
    + `most on ${most.key}: ${told(most)}.`;
  const shown = columns.map((row) => ({ name: row.key.slice(5), title: `${row.key}: ${told(row)}`, parts: parts(row) }));
  const rows = columns.filter((row) => row.calls).map((row) => [row.key, ...outcomes(row)]);
  return figure(title, [legend(OUTCOMES), plot(bars(shown, label))], [unit === "day" ? "Day" : "From", ...OUTCOME_HEAD], rows);
}

/** @param {StatsReport} report */
function tools(report) {
  const shown = report.rows.slice(0, MOST).map((row) => ({
    name: row.key,
    words: row.failed ? `${format(row.calls)} · ${percent(row.failed, row.calls)} failed` : format(row.calls),
    title: `${row.key}: ${told(row)}`,
    parts: parts(row),
  }));
  const label = `Calls by tool, most first: ${shown.slice(0, 3).map((row) => row.title).join("; ")}.`;
  const head = ["Tool", ...OUTCOME_HEAD, "Cached", "Median", "95th percentile", "Tokens", "Problems"];
  const rows = report.rows.map((row) => [row.key, ...outcomes(row), format(row.cached), time(row, "median"), time(row, "p95"),
    formatCompact(row.tokens + row.inner_tokens), kinds(row)]);
  const left = report.rows.length - MOST;
  const more = left > 0 ? [element("p", { class: "soft small" }, `And ${pluralize(left, "tool")} more in the table.`)] : [];
  return figure("Tools", [legend(OUTCOMES), plot(list(shown, label)), ...more], head, rows,
    element("p", { class: "soft small" }, TOKENS));
}

/** @param {StatsReport} report */
function durations(report) {
  const timed = report.rows.flatMap((row) => (row.seconds ? [{ ...row, seconds: row.seconds }] : []));
  if (!timed.length) return null;
  const shown = timed.slice(0, MOST).map((row) => ({
    name: row.key,
    words: `${time(row, "median")} – ${time(row, "p95")}`,
    title: `${row.key}: median ${time(row, "median")}, 95th percentile ${time(row, "p95")}`,
    low: row.seconds.median,
    high: row.seconds.p95,
  }));
  const label = `How long calls take, by tool: ${shown.slice(0, 3).map((row) => row.title).join("; ")}.`;
  const rows = timed.map((row) => [row.key, format(row.seconds.timed), time(row, "median"), time(row, "p95"), time(row, "total")]);
  return figure("How long calls take", [legend(["low", "high"], ["median", "95th percentile"]), plot(dots(shown, label))],
    ["Tool", "Timed", "Median", "95th percentile", "In all"], rows);
}

/** @param {string} title @param {Node[]} drawn @param {string[]} head @param {string[][]} rows @param {...Node} more */
function figure(title, drawn, head, rows, ...more) {
  const summary = element("summary", {}, "As a table", element("span", { class: "unseen" }, `: ${title}`));
  const figures = element("details", { class: "figures-table" }, summary, table(title, head, rows));
  return element("section", { class: "card", "aria-label": title }, element("h2", {}, title), ...drawn, figures, ...more);
}

/** @param {string[]} names @param {string[]} [words] */
function legend(names, words = names) {
  return element("ul", { class: "legend" }, names.map((name, place) =>
    element("li", {}, element("span", { class: `swatch ${name}` }), words[place])));
}

/** @param {Column} row */
function parts(row) {
  return Object.fromEntries(OUTCOMES.map((name) => [name, row[name]]));
}

// tables

/** @param {StatsRow} total */
function problems(total) {
  const rows = sorted(total.problems).map(([kind, value]) => [kind, format(value), percent(value, total.calls)]);
  if (!rows.length) return null;
  return element("section", { class: "card across", "aria-label": "Problems" }, element("h2", {}, "Problems"),
    table("Problems", ["Kind", "Calls", "Of all"], rows));
}

/** @param {string} title @param {StatsReport} report */
function spending(title, report) {
  const tells = report.total.spent !== null;
  const head = [title.slice(0, -1), "Calls", "Failed", "Denied", "Median", ...tells ? ["Runs", "Requests"] : [], "Tokens",
    ...tells ? ["Cost"] : []];
  const rows = report.rows.map((row) => [row.key || "–", format(row.calls), failed(row), format(row.denied), time(row, "median"),
    ...row.spent ? spent(row.spent) : [formatCompact(row.tokens + row.inner_tokens)]]);
  return element("section", { class: "card across", "aria-label": title }, element("h2", {}, title), table(title, head, rows));
}

/** @param {Spending} all */
function spent(all) {
  return [format(all.runs), format(all.requests), formatCompact(all.input_tokens + all.output_tokens), cost(all)];
}

/** @param {string} title @param {string[]} head @param {string[][]} rows */
function table(title, head, rows) {
  const figure = (/** @type {number} */ place) => place ? { class: "figure" } : {};
  const top = element("tr", {}, head.map((name, place) => element("th", { scope: "col", ...figure(place) }, name)));
  const below = rows.map((row) => element("tr", {}, row.map((cell, place) =>
    place ? element("td", figure(place), cell) : element("th", { scope: "row" }, cell))));
  return element("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": `${title}, as a table` },
    element("table", {}, element("thead", {}, top), element("tbody", {}, below)));
}

// words

/** @param {Column} row */
function outcomes(row) {
  return COUNTS.map((name) => format(row[name]));
}

/** @param {Column} row */
function told(row) {
  return OUTCOMES.filter((name) => row[name]).map((name) => `${format(row[name])} ${name}`).join(", ") || "no calls";
}

/** @param {StatsRow} row */
function failed(row) {
  return row.failed ? `${format(row.failed)} (${percent(row.failed, row.calls)})` : "0";
}

/** @param {StatsRow} row @param {"median" | "p95" | "total"} which */
function time(row, which) {
  return row.seconds ? formatShortDuration(row.seconds[which]) : "–";
}

/** @param {Spending} all */
function cost(all) {
  if (all.cost === null) return "not known";
  return `${all.unpriced ? "at least " : ""}$${all.cost.toFixed(all.cost < 1 ? 4 : 2)}`;
}

/** @param {StatsRow} row */
function kinds(row) {
  return sorted(row.problems).map(([kind, value]) => `${kind} ${format(value)}`).join(", ") || "–";
}

/** @param {Record<string, number>} counts */
function sorted(counts) {
  return Object.entries(counts).sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
}

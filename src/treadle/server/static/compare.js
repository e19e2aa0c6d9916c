// Two runs side by side: what each has used, their steps in pairs, and the first difference. The address names both.

import { pluralize, formatCost, formatNumber, formatDuration } from "./format.js";
import { stateName } from "./state-names.js";
import { titleOf } from "./journal.js";
import { divergenceOf, pairsOf } from "./trace-compare.js";
import { contentNodes, inLine } from "./trace-view.js";
import { tokensOf, traceOf } from "./trace.js";
import { ask, byId, element, messageOf, query } from "./treadle.js";

/** @typedef {import("./trace-compare.js").Pair} Pair */
/** @typedef {import("./trace.js").Step} Step */
/** @typedef {{ info: RunInfo, trace: import("./trace.js").Trace, usage: Usage }} Side */

/** @type {Record<string, string>} */
const WORDS = { same: "same", differs: "differs", left: "only in the first run", right: "only in the second run" };
const CHOICES = 50;  // runs that are offered
const left = byId("left", HTMLSelectElement), right = byId("right", HTMLSelectElement), only = byId("only", HTMLInputElement);
const own = decodeURIComponent(location.pathname.split("/").at(-2) ?? ""), other = new URLSearchParams(location.search).get("with") ?? "";

async function begin() {
  /** @type {RunPage} */
  const { runs } = await ask(`/api/runs?limit=${CHOICES}`);
  for (const select of [left, right]) {
    select.append(...runs.map((info) => element("option", { value: info.run_id }, inLine(titleOf(info)))));
  }
  for (const [select, id] of /** @type {[HTMLSelectElement, string][]} */ ([[left, own], [right, other]])) {
    if (id && !runs.some(({ run_id }) => run_id === id)) select.append(element("option", { value: id }, id));
    select.value = id;
  }
  await compare();
}

async function compare() {
  const said = byId("said");
  for (const id of ["totals", "turning", "pairs"]) byId(id).hidden = true;
  if (!left.value || !right.value) {
    said.textContent = "Choose a second run to compare with.";
    return;
  }
  history.replaceState(null, "", `/runs/${encodeURIComponent(left.value)}/compare?with=${encodeURIComponent(right.value)}`);
  try {
    const sides = await Promise.all([left.value, right.value].map(load));
    draw(sides[0], sides[1]);
  } catch (error) {
    said.textContent = messageOf(error);
  }
}

/** @param {string} runId @returns {Promise<Side>} */
async function load(runId) {
  const { run, entries, nested, usage } = await ask(`/api/runs/${encodeURIComponent(runId)}`);
  return { info: run, trace: traceOf(entries, nested), usage };
}

/** @param {Side} one @param {Side} two */
function draw(one, two) {
  const pairs = pairsOf(one.trace.steps, two.trace.steps), first = divergenceOf(pairs);
  const differing = pairs.filter(({ likeness }) => likeness !== "same").length;
  byId("said").textContent = first < 0
    ? `The runs have the same ${pluralize(pairs.length, "step")}.`
    : `The runs diverge at step ${first + 1} of ${pairs.length}; ${pluralize(differing, "step")} differ${differing === 1 ? "s" : ""}.`;
  byId("totals").replaceChildren(totals(one, two));
  byId("pairs").replaceChildren(...pairs.map((pair, index) => pairNode(pair, index === first)));
  for (const id of ["totals", "pairs"]) byId(id).hidden = false;
  byId("turning").hidden = first < 0;
}

/** @param {Side} one @param {Side} two */
function totals(one, two) {
  /** @type {[string, (side: Side) => Child][]} */
  const rows = [
    ["Run", ({ info }) => element("a", { href: `/runs/${encodeURIComponent(info.run_id)}` }, titleOf(info))],
    ["Status", ({ info }) => stateName(info.status)], ["Assistant", ({ info }) => info.agent], ["Model", ({ info }) => info.model],
    ["Duration", ({ trace }) => formatDuration(trace.end - trace.start)], ["Requests", ({ usage }) => formatNumber(usage.requests ?? 0)],
    ["Calls", ({ usage }) => formatNumber(usage.calls ?? 0)], ["Tokens", ({ usage }) => formatNumber(tokensOf(usage))],
    ["Cost", ({ usage }) => (usage.cost == null ? "not known" : formatCost(usage.cost))],
  ];
  return element("table", {},
    element("thead", {}, element("tr", {}, element("td"),
      ...["First run", "Second run"].map((each) => element("th", { scope: "col" }, each)))),
    element("tbody", {}, ...rows.map(([name, cell]) => element("tr", {}, element("th", { scope: "row" }, name),
      ...[one, two].map((side) => element("td", {}, cell(side)))))));
}

/** @param {Pair} pair @param {boolean} isFirst */
function pairNode({ left: one, right: two, likeness, what }, isFirst) {
  const step = /** @type {Step} */ (one ?? two), words = likeness === "differs" ? `${what.join(", ")} differs` : WORDS[likeness];
  const node = element("li", { class: "pair", "data-likeness": likeness, id: isFirst ? "first-difference" : null },
    element("details", { open: isFirst },
      element("summary", {},
        element("span", { class: "name" }, step.name), element("span", { class: "brief soft" }, inLine(step.brief)),
        element("span", { class: "likeness" }, isFirst ? `First difference: ${words}` : words)),
      element("div", { class: "both" }, sideNode(one, "First run"), sideNode(two, "Second run"))));
  return node;
}

/** @param {Step | null} step @param {string} title */
function sideNode(step, title) {
  if (!step) return element("div", {}, element("h2", {}, title), element("p", { class: "soft" }, "No such step."));
  const took = step.end === null ? "in progress" : formatDuration(step.end - step.start), tokens = tokensOf(step.usage);
  return element("div", {}, element("h2", {}, title),
    element("p", { class: "small soft" }, [took, tokens ? pluralize(tokens, "token") : ""].filter(Boolean).join(" · ")),
    element("section", {}, element("h3", {}, "Input"), ...contentNodes(step.kind === "request" ? [] : step.input)),
    element("section", {}, element("h3", {}, "Output"), ...contentNodes(step.output)));
}

function goToDifference() {
  const summary = query(byId("first-difference"), "summary");
  summary.focus();
  summary.scrollIntoView({ block: "start" });
}

byId("picking").addEventListener("change", compare);
byId("diverges").addEventListener("click", goToDifference);
only.addEventListener("change", () => byId("pairs").classList.toggle("only", only.checked));
await begin().catch((error) => {
  byId("said").textContent = messageOf(error);
});

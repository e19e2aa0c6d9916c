// What stands below an answer: what one might do next, and the run that the assistant would start if it were allowed to.

import { element } from "/static/treadle.js";
import { acting } from "./controls.js";
import { title } from "./format.js";

/** @type {Record<string, string>} */
const NAMES = {
  num_candidates: "Candidates", num_scenarios: "Scenarios", budget_tokens: "Tokens, at most", budget_usd: "US dollars, at most",
  max_runtime_s: "Seconds, at most", seed_candidate_ids: "Begins with",
};

/**
 * The nodes below an answer. `fill(words)` has words stand where one writes, `start(answer, run)` starts what is recommended.
 * @param {Advice} advice @param {(words: string) => void} fill @param {(answer: string, run: RunConfig) => Promise<void>} start
 */
export function suggestions({ suggested_actions: actions, recommended_run_config: run, run_id: answer, stopped }, fill, start) {
  if (stopped === "waiting") return [];
  return [...(run ? [runCard(run, () => start(answer, run))] : []), ...(actions.length ? [chips(actions, fill)] : [])];
}

/** @param {string[]} actions @param {(words: string) => void} fill */
function chips(actions, fill) {
  return element("ul", { class: "chips suggested", "aria-label": "What you might do next" }, actions.map((words) =>
    element("li", {}, element("button", { type: "button", class: "chip", onclick: () => fill(words) }, words))));
}

/** @param {RunConfig} runConfig @param {() => Promise<void>} start */
function runCard({ status, mode, parameters, blockers, warnings, notes }, start) {
  const isReady = status === "ready";
  return element("section", { class: "run", "aria-label": "A run to consider" },
    element("header", {}, element("h3", {}, "A run to consider"),
      element("span", { class: `tag ${isReady ? "good" : "bad"}` }, isReady ? "Ready" : "Blocked")),
    element("dl", { class: "numbers" }, fact("Mode", title(mode)), Object.entries(parameters).map(([name, value]) =>
      fact(NAMES[name] ?? title(name), valueOf(value)))),
    findings(blockers, "bad", "In the way"), findings(warnings, "warn", "Worth a thought"),
    (notes ?? []).map((words) => element("p", { class: "small soft" }, words)),
    element("p", { class: "small soft" }, "A person starts it; this is a recommendation."),
    isReady ? acting("Start this run", start) : null);
}

/** @param {string} name @param {string} value */
function fact(name, value) {
  return value ? element("div", {}, element("dt", {}, name), element("dd", {}, value)) : null;
}

/** @param {unknown} value */
function valueOf(value) {
  if (Array.isArray(value)) return value.join(", ");
  return value === null ? "" : typeof value === "number" ? value.toLocaleString("en") : String(value);
}

/** @param {{ message: string }[]} list @param {string} kind @param {string} heading */
function findings(list, kind, heading) {
  return list.length ? element("ul", { class: `findings ${kind}`, "aria-label": heading },
    list.map(({ message }) => element("li", {}, message))) : null;
}

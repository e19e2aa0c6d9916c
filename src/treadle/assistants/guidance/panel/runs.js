// The runs of a project: started and resumed here, each with how far it is and, once it has some, its candidates side by side.
// While one is under way the state is looked at again and again, so a row stays and only what it says changes.

import { formatDuration } from "/static/format.js";
import { ask, element, messageOf, query } from "/static/treadle.js";
import { comparisonNodes, labelOf } from "./candidates.js";
import { acting, choice, folded, form, labelled } from "./controls.js";
import { timeAgo, pluralize, plain, section, title } from "./format.js";

/** @type {Record<string, string>} */
const STATUSES = { completed: "good", failed: "bad", cancelled: "warn" };
/** @type {[string, string][]} */
const MODES = ["full_search", "eval_only", "seeded"].map((mode) => [mode, plain(mode)]);
const LIMITS = [["budget_tokens", "Tokens, at most"], ["budget_usd", "US dollars, at most"], ["max_runtime_s", "Seconds, at most"]];
const PAUSE = 2000;  // milliseconds between two looks at a run that is under way
const list = element("ul", { class: "rows", "aria-label": "Runs, the newest first" });
/** @type {Map<string, ReturnType<typeof rowOf>>} */
let rows = new Map();
/** @type {(candidates: Candidate[]) => void} */
let seeds = () => {};
let looking = 0, shown = "";

/**
 * Draw them. `again()` has the state loaded and drawn once more.
 * @param {Project} project @param {ProjectState} projectState @param {() => Promise<void>} again
 */
export function drawRuns({ id }, { runs, candidates, changes, workflow }, again) {
  if (shown !== id) begin(id, again);
  section("runs", runs.length ? pluralize(runs.length, "run") : "none");
  query(document, "#runs .none").hidden = runs.length > 0;
  query(document, "#runs .starting").hidden = workflow.stage === "setup";
  seeds(candidates);
  for (const run of runs) {
    const row = rows.get(run.id) ?? rowOf(id, run, again);
    if (!rows.has(run.id)) list.prepend(row.node);
    rows.set(run.id, row);
    row.update(run, candidates.filter((each) => each.run_id === run.id), changes);
  }
  clearTimeout(looking);
  if (runs.some((run) => run.is_under_way)) looking = setTimeout(again, PAUSE);
}

/** Start a run, once for each `trigger`. @param {string} project @param {string} trigger @param {object} [wanted] */
export function startRun(project, trigger, wanted = {}) {
  return ask(`/projects/${encodeURIComponent(project)}/runs`, { ...wanted, ui_trigger_id: trigger, ui_trigger_source: "page" });
}

/** @param {string} id @param {() => Promise<void>} again */
function begin(id, again) {
  [shown, rows] = [id, new Map()];
  list.replaceChildren();
  query(document, "#runs .within").replaceChildren(
    element("p", { class: "soft none" }, "Nothing has been run yet."), list,
    element("div", { class: "starting" }, startForm(id, again), proposalForm(id, again)));
}

/** @param {string} id @param {string} run */
function pathOf(id, run) {
  return `/projects/${encodeURIComponent(id)}/runs/${encodeURIComponent(run)}`;
}

// one run

/** @param {string} id @param {ProjectRun} projectRun @param {() => Promise<void>} again */
function rowOf(id, { id: run, created_at: at, mode }, again) {
  const status = element("span", { class: "name" }), facts = element("p", { class: "small soft" });
  const step = element("p", { class: "small busy", role: "status" });
  const bar = element("progress", { "aria-label": "Candidates evaluated" });
  const error = element("p", { class: "small bad" }), compare = comparisonOf(id, run);
  const stop = acting("Stop", () => ask(`${pathOf(id, run)}/cancel`, {}).then(again));
  const resume = acting("Resume", () => ask(`${pathOf(id, run)}/resume`, {}).then(again));
  const node = element("li", { "data-id": run },
    element("div", { class: "head" }, status, element("span", { class: "small soft" }, timeAgo(at))),
    facts, step, bar, error, compare.node, element("div", { class: "row" }, stop, resume));

  /** @param {ProjectRun} now @param {Candidate[]} candidates @param {ProvenanceChange[]} changes */
  const update = (now, candidates, changes) => {
    const { started_at: from, completed_at: to, candidate_count: found } = now, judged = candidates.filter(isJudged).length;
    const took = from && to ? formatDuration((Date.parse(to) - Date.parse(from)) / 1000) : "";
    const tokens = (now.llm_usage.input_tokens ?? 0) + (now.llm_usage.output_tokens ?? 0);
    status.className = `name ${STATUSES[now.status] ?? ""}`;
    say(status, stateOf(now));
    say(facts, [plain(mode), found ? pluralize(found, "candidate") : "", took, tokens ? pluralize(tokens, "token") : ""]
      .filter(Boolean).join(" · "));
    say(step, now.is_under_way ? stepOf(now, candidates.length, judged) : "");
    bar.hidden = !now.is_under_way || !candidates.length;
    [bar.max, bar.value] = [Math.max(candidates.length, 1), judged];
    say(error, now.error_summary);
    stop.hidden = !now.is_under_way;
    resume.hidden = !now.can_resume;
    query(resume, "button").textContent = now.status === "created" ? "Evaluate" : "Resume";
    compare.update(candidates, changes, judged);
  };
  return { node, update };
}

/** @param {ProjectRun} projectRun */
function stateOf({ status, is_under_way: isUnderWay }) {
  if (isUnderWay) return "Running";
  return status === "running" ? "Interrupted" : status === "created" ? "Not started" : title(status);
}

/** What a run does just now. @param {ProjectRun} projectRun @param {number} found @param {number} judged */
function stepOf({ scenario_count: situations, mode }, found, judged) {
  if (found && (situations || judged)) return `Evaluating candidates: ${judged} of ${found}`;
  return situations && mode !== "eval_only" ? "Proposing candidates…" : "Describing situations…";
}

/** @param {Candidate} candidate */
function isJudged({ scores }) {
  return Object.keys(scores).length > 0;
}

/** @param {HTMLElement} node @param {string} words */
function say(node, words) {
  node.hidden = !words;
  if (node.textContent !== words) node.textContent = words;
}

/** Its candidates by constraint, asked for while they are unfolded. @param {string} id @param {string} run */
function comparisonOf(id, run) {
  const within = element("div", { class: "within" });
  const node = element("details", { class: "compare more" }, element("summary", { class: "small" }, "Compare candidates"), within);
  /** @type {{ candidates: Candidate[], changes: ProvenanceChange[], version: string }} */
  let now = { candidates: [], changes: [], version: "" };
  let drawn = "";
  const draw = async () => {
    if (!node.open || drawn === now.version) return;
    drawn = now.version;
    try {
      within.replaceChildren(...comparisonNodes(id, await ask(`${pathOf(id, run)}/comparison`), now));
    } catch (error) {
      within.replaceChildren(element("p", { class: "small bad" }, messageOf(error)));
      drawn = "";
    }
  };
  node.addEventListener("toggle", draw);
  /** @param {Candidate[]} candidates @param {ProvenanceChange[]} changes @param {number} judged */
  const update = (candidates, changes, judged) => {
    now = { candidates, changes, version: `${candidates.length}/${judged}` };
    node.hidden = !candidates.length;
    draw();
  };
  return { node, update };
}

// starting one

/** @param {string} id @param {() => Promise<void>} again */
function startForm(id, again) {
  let trigger = crypto.randomUUID();
  const mode = choice(MODES, "full_search"), count = numberField(5), situations = numberField(8);
  const chosen = element("fieldset", { hidden: true });
  const limits = LIMITS.map(([name, words]) => ({ name, words, field: element("input", { type: "number", min: "0", step: "any" }) }));
  const numbers = [{ name: "num_candidates", field: count }, { name: "num_scenarios", field: situations }, ...limits];
  const seedIds = () => [...chosen.querySelectorAll("input")].filter(({ checked }) => checked).map(({ value }) => value);
  const parametersOf = () => ({
    ...Object.fromEntries(numbers.filter(({ field }) => field.value).map(({ name, field }) => [name, field.valueAsNumber])),
    ...(mode.value === "seeded" ? { seed_candidate_ids: seedIds() } : {}),
  });
  mode.addEventListener("change", () => (chosen.hidden = mode.value !== "seeded"));
  seeds = (candidates) => seedBoxes(chosen, candidates);
  return form([folded("Settings of a run", element("div", { class: "settings" },
    labelled("Mode", mode), labelled("Candidates", count), labelled("Situations", situations),
    limits.map(({ words, field }) => labelled(words, field)), chosen))], "Start a run", async () => {
    await startRun(id, trigger, { mode: mode.value, parameters: parametersOf() });
    trigger = crypto.randomUUID();
    await again();
  });
}

/** @param {number} value */
function numberField(value) {
  return element("input", { type: "number", min: "1", max: "50", value, required: true });
}

/**
 * The candidates that a seeded run may begin with. Boxes that are there stay, with what was chosen.
 * @param {HTMLElement} place @param {Candidate[]} candidates
 */
function seedBoxes(place, candidates) {
  if (!place.firstChild) place.append(element("legend", { class: "small" }, "Begins with"));
  const known = new Set([...place.querySelectorAll("input")].map(({ value }) => value));
  for (const candidate of candidates.filter(({ id }) => !known.has(id))) {
    const box = element("input", { type: "checkbox", value: candidate.id });
    place.append(element("label", {}, box, element("span", {}, labelOf(candidate))));
  }
}

/** @param {string} id @param {() => Promise<void>} again */
function proposalForm(id, again) {
  const words = element("textarea", { rows: "2", required: true });
  return folded("Propose a candidate", form([labelled("What is done, and how that works", words)], "Propose it", async () => {
    await ask(`/projects/${encodeURIComponent(id)}/candidates`, { mechanism_description: words.value });
    words.value = "";
    await again();
  }));
}

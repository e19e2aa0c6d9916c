// How a project stands: its steps, its problem spec, its world model, its runs, and what has changed lately.

import { lasting } from "/static/calls.js";
import { preview } from "/static/diff.js";
import { ask, element } from "/static/treadle.js";
import { drawSpec } from "./spec.js";
import { ago, counted, plain, section, title } from "./words.js";

const SECTIONS = {  // of a world model, with what belongs there
  actors: "Who acts in this world, and what they are after.",
  mechanisms: "What leads to what: rules, feedback, habits.",
  resources: "What there is to work with: money, time, people, things.",
  constraints: "What this world doesn't allow, whoever asks.",
  assumptions: "What is taken to be true without a proof.",
  simplifications: "What is left out on purpose.",
};
const ACTORS = { user: "by hand", agent: "by the architect", system: "by itself" };
const FEW = 5;  // changes that are shown at once
const STATUSES = { completed: "good", failed: "bad", cancelled: "warn" };
const PAUSE = 2000;  // milliseconds between two looks at a run that is under way
let isUnfolded = false, looking = 0;

/** What there is of a project. What it hasn't got yet isn't asked for. */
export async function loadState(id) {
  const path = `/projects/${encodeURIComponent(id)}`, workflow = await ask(`${path}/workflow-state`);
  const [spec, world, runs, changes] = await Promise.all([
    workflow.has_problem_spec ? ask(`${path}/problem-spec`) : null, workflow.has_world_model ? ask(`${path}/world-model`) : null,
    ask(`${path}/runs`), ask(`${path}/provenance`),
  ]);
  return { workflow, spec, world, runs, changes };
}

/** Draw it. `again()` has it loaded and drawn once more. */
export function drawState(project, { workflow, spec, world, runs, changes }, again) {
  drawSteps(workflow.workflow_progress);
  drawSpec(project.id, spec, again);
  drawWorld(world);
  drawRuns(project.id, runs.toReversed(), workflow.stage !== "setup", again);
  drawChanges(changes.toReversed());
  unfold();
}

/** Sections are open where there is room; after that they stay as people leave them. */
function unfold() {
  if (isUnfolded) return;
  isUnfolded = true;
  const isWide = matchMedia("(min-width: 56.0625rem)").matches;
  for (const each of document.querySelectorAll("#state > .section")) each.open = isWide;
}

function drawSteps({ completed_steps: done, next_steps: next }) {
  document.getElementById("steps").replaceChildren(
    ...done.map((words) => stepOf(words, "done", "Done: ")),
    ...next.map((words, index) => stepOf(words, index ? "later" : "next", index ? "Later: " : "Next: ")));
}

function stepOf(words, kind, heard) {
  const [head, ...more] = words.split(": ");
  return element("li", { class: kind, "aria-current": kind === "next" ? "step" : null },
    element("span", { class: "unseen" }, heard), element("span", { class: "head" }, head),
    more.length ? element("span", { class: "small soft" }, more.join(": ")) : null);
}

// the world model

function drawWorld(world) {
  const amount = Object.keys(SECTIONS).reduce((sum, name) => sum + (world?.[name].length ?? 0), 0);
  section("world", world ? counted(amount, "entry", "entries") : "none yet",
    ...Object.entries(SECTIONS).map(([name, about]) => partOf(name, about, world?.[name] ?? [])));
}

function partOf(name, about, entries) {
  const was = document.querySelector(`#world [data-part="${name}"]`);
  const isOpen = was && was.dataset.amount === String(entries.length) ? was.open : entries.length > 0;
  return element("details", { class: "part", "data-part": name, "data-amount": entries.length, open: isOpen },
    element("summary", {}, element("h4", {}, title(name)), element("span", { class: "amount" }, String(entries.length))),
    entries.length ? element("ul", { class: "rows" }, entries.map(entryOf)) : element("p", { class: "small soft" }, about));
}

function entryOf({ name, type, description }) {
  const head = [element("span", { class: "name" }, name), type ? element("span", { class: "tag" }, type) : null];
  return element("li", {}, element("div", { class: "head" }, head),
    description ? element("p", { class: "small soft" }, description) : null);
}

// runs

function drawRuns(id, runs, isReady, again) {
  section("runs", runs.length ? counted(runs.length, "run") : "none", runs.length
    ? element("ul", { class: "rows" }, runs.map((run) => runOf(id, run, again)))
    : element("p", { class: "soft" }, "Nothing has been run yet."),
    ...(isReady ? [element("div", { class: "actions" }, startOf(id, again))] : []));
  clearTimeout(looking);
  if (runs.some(isUnderWay)) looking = setTimeout(again, PAUSE);
}

/** Whether something will happen by itself: what is created for candidates of a person's own waits for them. */
function isUnderWay({ status, ui_trigger_source: source }) {
  return Boolean(source) && ["created", "running"].includes(status);
}

function runOf(id, run, again) {
  const { status, mode, created_at, candidate_count: found, started_at, completed_at, error_summary: error } = run;
  const took = started_at && completed_at ? lasting((Date.parse(completed_at) - Date.parse(started_at)) / 1000) : "";
  const facts = [plain(mode), found ? counted(found, "candidate") : "", took].filter(Boolean).join(" · ");
  return element("li", {}, element("div", { class: "head" },
    element("span", { class: `name ${STATUSES[status] ?? ""}` }, title(status)),
    element("span", { class: "small soft" }, ago(created_at))),
    element("p", { class: "small soft" }, facts), error ? element("p", { class: "small bad" }, error) : null,
    found ? comparisonOf(id, run.id) : null,
    status === "running" ? acting("Stop", () => ask(`${pathOf(id, run.id)}/cancel`, {}), again) : null);
}

function pathOf(id, run) {
  return `/projects/${encodeURIComponent(id)}/runs/${encodeURIComponent(run)}`;
}

function startOf(id, again) {
  const trigger = { ui_trigger_id: `page-${Date.now()}-${Math.random()}`, ui_trigger_source: "page" };
  return acting("Start a run", () => ask(`/projects/${encodeURIComponent(id)}/runs`, trigger), again);
}

/** A button that does something, and says below it what went wrong. */
function acting(words, act, again) {
  const said = element("p", { class: "small bad", role: "alert" });
  const button = element("button", { type: "button", class: "quiet small", onclick: async () => {
    button.disabled = true;
    try {
      await act();
      await again();
    } catch (error) {
      said.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  } }, words);
  return element("div", {}, button, said);
}

/** The candidates of a run by constraint, asked for when somebody unfolds them; each with its decision record to download. */
function comparisonOf(id, run) {
  const within = element("div", { class: "within" });
  const details = element("details", { class: "compare" }, element("summary", { class: "small" }, "Compare candidates"), within);
  details.addEventListener("toggle", async () => {
    if (!details.open || within.childElementCount) return;
    try {
      within.replaceChildren(...comparedNodes(id, await ask(`${pathOf(id, run)}/comparison`)));
    } catch (error) {
      within.replaceChildren(element("p", { class: "small bad" }, error.message));
    }
  });
  return details;
}

function comparedNodes(id, { candidates, constraints }) {
  const cells = (kind, values) => values.map((value) => element(kind, {}, String(value ?? "–")));
  const rows = constraints.map(({ name, weight, scores }) =>
    element("tr", {}, element("th", { scope: "row" }, `${name} (${weight})`), cells("td", scores)));
  const total = element("tr", {}, element("th", { scope: "row" }, "Total"), cells("td", candidates.map((each) => each.total)));
  const head = element("tr", {}, element("th", {}, "Constraint"), cells("th", candidates.map((_, number) => `C${number + 1}`)));
  const key = candidates.map(({ id: one, label, status }) => element("li", {}, `${label} · ${plain(status)} `, element("a", {
    href: `/projects/${encodeURIComponent(id)}/candidates/${encodeURIComponent(one)}/adr`, download: "",
  }, "Decision record")));
  return [element("table", { class: "small" }, element("thead", {}, head), element("tbody", {}, rows, total)),
    element("ol", { class: "small" }, key)];
}

// changes

function drawChanges(changes) {
  const shown = changes.slice(0, FEW).map(changeOf), rest = changes.slice(FEW);
  section("changes", changes.length ? counted(changes.length, "change") : "none",
    shown.length ? element("ul", { class: "rows" }, shown) : element("p", { class: "soft" }, "Nothing has been changed yet."),
    ...(rest.length ? [element("details", { class: "rest" }, element("summary", { class: "small" }, `${rest.length} before that`),
      element("ul", { class: "rows" }, rest.map(changeOf)))] : []));
}

function changeOf({ subject, type, version, actor, description, timestamp }) {
  const what = title(subject || type), number = version ? `, version ${version}` : "";
  return element("li", {},
    element("div", { class: "head" }, element("span", { class: "name" }, `${what}${number}`),
      element("span", { class: "small soft" }, ago(timestamp))),
    ...told(ACTORS[actor] ?? actor, description));
}

/** What was changed, and by whom: a difference is folded, words aren't. */
function told(who, description) {
  if (!description.startsWith("--- ")) return [element("p", { class: "small soft" }, who, description ? `: ${description}` : "")];
  const summary = element("summary", { class: "small soft" }, `${who}: what changed`);
  return [element("details", { class: "what" }, summary, preview(description))];
}

// How a project stands: its steps, its problem spec, its world model, and what has changed lately. Runs, issues and people have
// modules of their own.

import { preview } from "/static/diff.js";
import { ask, byId, element } from "/static/treadle.js";
import { drawIssues } from "./issues.js";
import { drawPeople } from "./people.js";
import { drawRuns } from "./runs.js";
import { drawSpec } from "./spec.js";
import { timeAgo, pluralize, section, title } from "./format.js";

const SECTIONS = {  // of a world model, with what belongs there
  actors: "Who acts in this world, and what they are after.",
  mechanisms: "What leads to what: rules, feedback, habits.",
  resources: "What there is to work with: money, time, people, things.",
  constraints: "What this world doesn't allow.",
  assumptions: "What is taken to be true without a proof.",
  simplifications: "What is left out on purpose.",
};
/** @type {Record<string, string>} */
const ACTORS = { user: "by hand", agent: "by the architect", system: "automatically" };
const FEW = 5;  // changes that are shown at once
let isUnfolded = false;

/** What there is of a project. What it hasn't got yet isn't asked for. @param {string} id @returns {Promise<ProjectState>} */
export async function loadState(id) {
  const path = `/projects/${encodeURIComponent(id)}`, workflow = await ask(`${path}/workflow-state`);
  const [project, spec, world, runs, candidates, issues, changes] = await Promise.all([
    ask(path), workflow.has_problem_spec ? ask(`${path}/problem-spec`) : null,
    workflow.has_world_model ? ask(`${path}/world-model`) : null,
    ask(`${path}/runs`), ask(`${path}/candidates`), ask(`${path}/issues`), ask(`${path}/provenance`),
  ]);
  return { project, workflow, spec, world, runs, candidates, issues, changes };
}

/** Draw it. `again()` has it loaded and drawn once more. @param {ProjectState} state @param {() => Promise<void>} again */
export function drawState(state, again) {
  const { project, workflow, spec, world, changes } = state;
  drawSteps(workflow.workflow_progress);
  drawSpec(project.id, spec, again);
  drawWorld(world);
  drawRuns(project, state, again);
  drawIssues(project, state, again);
  drawChanges(changes.toReversed());
  drawPeople(project, again);
  unfold();
}

/** Sections are open where there is room; after that they stay as people leave them. */
function unfold() {
  if (isUnfolded) return;
  isUnfolded = true;
  const isWide = matchMedia("(min-width: 56.0625rem)").matches;
  for (const each of document.querySelectorAll("#state > .section")) each.toggleAttribute("open", isWide);
}

/** @param {Workflow["workflow_progress"]} workflow */
function drawSteps({ completed_steps: done, next_steps: next }) {
  byId("steps").replaceChildren(
    ...done.map((words) => stepOf(words, "done", "Done: ")),
    ...next.map((words, index) => stepOf(words, index ? "later" : "next", index ? "Later: " : "Next: ")));
}

/** @param {string} words @param {string} kind @param {string} heard */
function stepOf(words, kind, heard) {
  const [head, ...more] = words.split(": ");
  return element("li", { class: kind, "aria-current": kind === "next" ? "step" : null },
    element("span", { class: "unseen" }, heard), element("span", { class: "head" }, head),
    more.length ? element("span", { class: "small soft" }, more.join(": ")) : null);
}

// the world model

/** @param {WorldModel | null} world */
function drawWorld(world) {
  const amount = Object.keys(SECTIONS).reduce((sum, name) => sum + (world?.[name].length ?? 0), 0);
  section("world", world ? pluralize(amount, "entry", "entries") : "none yet",
    ...Object.entries(SECTIONS).map(([name, about]) => partOf(name, about, world?.[name] ?? [])));
}

/** @param {string} name @param {string} about @param {WorldEntry[]} entries */
function partOf(name, about, entries) {
  const was = document.querySelector(`#world [data-part="${name}"]`);
  const isOpen = was?.getAttribute("data-amount") === String(entries.length) ? was.hasAttribute("open") : entries.length > 0;
  return element("details", { class: "part", "data-part": name, "data-amount": entries.length, open: isOpen },
    element("summary", {}, element("h4", {}, title(name)), element("span", { class: "amount" }, String(entries.length))),
    entries.length ? element("ul", { class: "rows" }, entries.map(entryOf)) : element("p", { class: "small soft" }, about));
}

/** @param {WorldEntry} worldEntry */
function entryOf({ name, type, description }) {
  const head = [element("span", { class: "name" }, name), type ? element("span", { class: "tag" }, type) : null];
  return element("li", {}, element("div", { class: "head" }, head),
    description ? element("p", { class: "small soft" }, description) : null);
}

// changes

/** @param {ProvenanceChange[]} changes */
function drawChanges(changes) {
  const shown = changes.slice(0, FEW).map(changeOf), rest = changes.slice(FEW);
  section("changes", changes.length ? pluralize(changes.length, "change") : "none",
    shown.length ? element("ul", { class: "rows" }, shown) : element("p", { class: "soft" }, "Nothing has been changed yet."),
    ...(rest.length ? [element("details", { class: "rest" }, element("summary", { class: "small" }, `${rest.length} before that`),
      element("ul", { class: "rows" }, rest.map(changeOf)))] : []));
}

/** @param {ProvenanceChange} provenanceChange */
function changeOf({ subject, type, version, actor, description, timestamp }) {
  const what = title(subject || type), number = version ? `, version ${version}` : "";
  return element("li", {},
    element("div", { class: "head" }, element("span", { class: "name" }, `${what}${number}`),
      element("span", { class: "small soft" }, timeAgo(timestamp))),
    ...told(ACTORS[actor] ?? actor, description));
}

/** What was changed, and by whom: a difference is folded, words aren't. @param {string} who @param {string} description */
function told(who, description) {
  if (!description.startsWith("--- ")) return [element("p", { class: "small soft" }, who, description ? `: ${description}` : "")];
  const summary = element("summary", { class: "small soft" }, `${who}: what changed`);
  return [element("details", { class: "what" }, summary, preview(description))];
}

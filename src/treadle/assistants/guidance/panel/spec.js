// The problem spec: shown, and edited by hand. What is saved names the version that was seen; where another user was first, the
// person chooses what is to be kept (spec-conflict.js).

import { ask, element, query, ServerError } from "/static/treadle.js";
import { specForm } from "./form.js";
import { specConflict } from "./spec-conflict.js";
import { pluralize, plain, section } from "./format.js";

/** @type {ProblemSpec} */
const EMPTY = { constraints: [], goals: [], resolution: "medium", mode: "full_search", version: 0 };
const ABOUT = "What has to hold, how much it weighs, and what is wanted. Tell the architect, or write it down.";
const CHANGED = "It has changed meanwhile. You will be asked when you save.";
const MUST = 100;  // the weight of what has to hold

/** @type {{ id: string, spec: ProblemSpec, again: () => Promise<void> }} */
let shown = { id: "", spec: EMPTY, again: async () => {} };
/** @type {{ base: ProblemSpec, form: ReturnType<typeof specForm> } | null} */
let editing = null;  // which spec was seen, and where it is changed

/**
 * Draw it; `spec` is null where there is none yet. A form that is being edited stays.
 * @param {string} id @param {ProblemSpec | null} spec @param {() => Promise<void>} again
 */
export function drawSpec(id, spec, again) {
  shown = { id, spec: spec ?? EMPTY, again };
  if (!editing) return drawShown();
  if (shown.spec.version !== editing.base.version) editing.form.tell(CHANGED, "warn");
}

/** Whether something would be lost. */
export function isEditing() {
  return editing !== null && editing.form.isChanged();
}

/** Forget what is being written. */
export function letGo() {
  editing = null;
}

// showing

function drawShown() {
  const { spec } = shown, isThere = spec.version > 0, words = isThere ? "Edit" : "Write it down";
  const change = element("button", { type: "button", class: "quiet small edit", onclick: edit }, words);
  section("spec", isThere ? amounts(spec) : "none yet", ...(isThere ? parts(spec) : [element("p", { class: "soft" }, ABOUT)]),
    element("div", { class: "actions" }, change));
}

/** @param {ProblemSpec} problemSpec */
function amounts({ constraints, goals }) {
  return `${pluralize(constraints.length, "constraint")}, ${pluralize(goals.length, "goal")}`;
}

/** @param {ProblemSpec} problemSpec */
function parts({ constraints, goals, resolution, mode }) {
  return [
    element("h4", {}, "Constraints"),
    constraints.length ? element("ul", { class: "rows" }, constraints.map(constraintOf)) : none("None: everything is allowed."),
    element("h4", {}, "Goals"),
    goals.length ? element("ul", { class: "goals" }, goals.map((goal) => element("li", {}, goal))) : none("None yet."),
    element("dl", { class: "numbers" },
      element("div", {}, element("dt", {}, "Resolution"), element("dd", {}, resolution)),
      element("div", {}, element("dt", {}, "Mode"), element("dd", {}, plain(mode)))),
  ];
}

/** @param {string} words */
function none(words) {
  return element("p", { class: "small soft" }, words);
}

/** @param {SpecConstraint} specConstraint */
function constraintOf({ name, description, weight }) {
  const bar = element("span", { class: weight === MUST ? "bar-of must" : "bar-of", "aria-hidden": "true" }, element("span"));
  query(bar, "span").style.width = `${weight}%`;
  const weighs = [element("span", { class: "unseen" }, "weight "), String(weight), weight === MUST ? " · must" : ""];
  return element("li", { class: "constraint" },
    element("div", { class: "head" }, element("span", { class: "name" }, name), element("span", { class: "weight" }, weighs)),
    bar, description ? element("p", { class: "small soft" }, description) : null);
}

// editing

function edit() {
  const base = shown.spec, form = specForm(base, { save: () => save(base, form.read()), cancel: close });
  editing = { base, form };
  section("spec", "being edited", editing.form.node);
  editing.form.focus();
}

function close() {
  editing = null;
  drawShown();
  query(document, "#spec .edit").focus();
}

/** Put `mine` in the place of the version that was seen. @param {ProblemSpec} base @param {SpecDraft} mine */
async function save(base, mine) {
  const { id, again } = shown;
  try {
    const path = `/projects/${encodeURIComponent(id)}/problem-spec`;
    shown.spec = await ask(path, { ...mine, version: base.version }, { method: "PUT" });
  } catch (error) {
    if (!(error instanceof ServerError) || error.status !== 409 || !error.said?.current) throw error;
    return choose(base, error.said.current, mine);
  }
  close();
  await again();
}

/**
 * Another user was first: both are shown, and nothing is written before the person has chosen.
 * @param {ProblemSpec} base @param {ProblemSpec} theirs @param {SpecDraft} mine
 */
function choose(base, theirs, mine) {
  const asked = specConflict(base, theirs, mine, {
    save: (chosen) => save(theirs, chosen),
    drop: async () => {
      close();
      await shown.again();
    },
  });
  section("spec", "changed meanwhile", asked.node);
  asked.focus();
}

// The form in which a problem spec is changed by hand: constraints with their weights, goals, resolution and mode.

import { element, messageOf, query } from "/static/treadle.js";
import { choice, labelled } from "./controls.js";
import { plain } from "./format.js";

/** @param {...string} names @returns {[string, string][]} */
const options = (...names) => names.map((name) => [name, plain(name)]);
const RESOLUTIONS = options("coarse", "medium", "fine"), MODES = options("full_search", "eval_only", "seeded");

/** @typedef {HTMLLIElement & { read: () => SpecConstraint | string }} Row */

/**
 * The form. `save()` writes what `read()` gives, and throws an Error with a sentence; `cancel()` leaves everything as it was.
 * @param {ProblemSpec} spec @param {{ save: () => Promise<void>, cancel: () => void }} given
 */
export function specForm(spec, { save, cancel }) {
  const constraints = element("ul", { class: "rows", "aria-label": "Constraints" }, spec.constraints.map(constraintRow));
  const goals = element("ul", { class: "rows", "aria-label": "Goals" }, spec.goals.map(goalRow));
  const resolution = choice(RESOLUTIONS, spec.resolution), mode = choice(MODES, spec.mode);
  const said = element("p", { class: "small", role: "alert" }), go = element("button", { class: "save" }, "Save");
  const stop = element("button", { type: "button", class: "quiet cancel", onclick: cancel }, "Cancel");
  const node = element("form", { class: "editing", onsubmit: submit },
    element("h4", {}, "Constraints"), constraints, adding("Add a constraint", constraints, () => constraintRow()),
    element("h4", {}, "Goals"), goals, adding("Add a goal", goals, () => goalRow()),
    element("div", { class: "pair" }, labelled("Resolution", resolution), labelled("Mode", mode)),
    element("div", { class: "actions" }, go, stop), said);

  function read() {
    return {
      constraints: rowsOf(constraints).map(({ read: value }) => /** @type {SpecConstraint} */ (value())),
      goals: rowsOf(goals).map(({ read: value }) => /** @type {string} */ (value())).filter(Boolean),
      resolution: resolution.value, mode: mode.value,
    };
  }

  /** @param {string} words @param {string} kind */
  function tell(words, kind) {
    said.textContent = words;
    said.className = `small ${kind}`;
  }

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    go.disabled = true;
    tell("", "");
    try {
      await save();
    } catch (error) {
      tell(messageOf(error), "bad");
    } finally {
      go.disabled = false;
    }
  }

  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isChanged()) cancel();
  });
  const before = JSON.stringify(read()), isChanged = () => JSON.stringify(read()) !== before;
  return { node, read, tell, isChanged, focus: () => query(node, "input, button").focus() };
}

/** @param {Partial<SpecConstraint>} [given] */
function constraintRow({ name = "", description = "", weight = 50 } = {}) {
  const called = element("input", { value: name, maxlength: "200", required: true, autocomplete: "off" });
  const about = element("textarea", { rows: "1" }, description), told = element("output", {}, inWords(weight));
  const weighs = element("input", { type: "range", min: "0", max: "100", value: weight });
  weighs.addEventListener("input", () => (told.textContent = inWords(weighs.valueAsNumber)));
  const row = element("li", {},
    element("div", { class: "pair" }, labelled("Name", called), removing(() => `the constraint ${called.value}`)),
    labelled("What it means", about),
    labelled("Weight", weighs, told));
  return Object.assign(row, { read: () => ({ name: called.value.trim(), description: about.value.trim(), weight: weighs.valueAsNumber }) });
}

/** @param {Element} list */
function rowsOf(list) {
  return /** @type {Row[]} */ ([...list.children]);
}

/** @param {number} weight */
function inWords(weight) {
  return weight === 100 ? "100 · must" : String(weight);
}

function goalRow(goal = "") {
  const field = element("input", { value: goal, autocomplete: "off", "aria-label": "Goal" });
  const row = element("li", { class: "pair" }, field, removing(() => `the goal ${field.value}`));
  return Object.assign(row, { read: () => field.value.trim() });
}

/** Takes its row away; the focus goes to the one after it, or to what adds another. @param {() => string} what */
function removing(what) {
  const button = element("button", { type: "button", class: "bare remove" }, "Remove");
  button.addEventListener("click", () => {
    const row = button.closest("li"), next = row?.nextElementSibling ?? row?.previousElementSibling;
    const add = row?.parentElement?.nextElementSibling, field = next?.querySelector("input") ?? add;
    row?.remove();
    if (field instanceof HTMLElement) field.focus();
  });
  const name = () => button.setAttribute("aria-label", `Remove ${what()}`);
  button.addEventListener("focus", name);
  queueMicrotask(name);
  return button;
}

/** @param {string} words @param {HTMLElement} list @param {() => HTMLElement} make */
function adding(words, list, make) {
  return element("button", { type: "button", class: "quiet small add", onclick: () => {
    const row = make();
    list.append(row);
    row.querySelector("input")?.focus();
  } }, words);
}

// The form in which a problem spec is changed by hand: constraints with their weights, goals, resolution and mode.

import { element } from "/static/treadle.js";
import { choice, labelled } from "./controls.js";
import { plain } from "./words.js";

const options = (...names) => names.map((name) => [name, plain(name)]);
const RESOLUTIONS = options("coarse", "medium", "fine"), MODES = options("full_search", "eval_only", "seeded");

/** The form. `save()` writes what `read()` gives, and throws an Error with a sentence; `cancel()` leaves everything as it was. */
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
      constraints: [...constraints.children].map((row) => row.read()),
      goals: [...goals.children].map((row) => row.read()).filter(Boolean),
      resolution: resolution.value, mode: mode.value,
    };
  }

  function tell(words, kind) {
    said.textContent = words;
    said.className = `small ${kind}`;
  }

  async function submit(event) {
    event.preventDefault();
    go.disabled = true;
    tell("", "");
    try {
      await save();
    } catch (error) {
      tell(error.message, "bad");
    } finally {
      go.disabled = false;
    }
  }

  node.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isChanged()) cancel();
  });
  const before = JSON.stringify(read()), isChanged = () => JSON.stringify(read()) !== before;
  return { node, read, tell, isChanged, focus: () => node.querySelector("input, button").focus() };
}

function constraintRow({ name = "", description = "", weight = 50 } = {}) {
  const called = element("input", { value: name, maxlength: "200", required: true, autocomplete: "off" });
  const about = element("textarea", { rows: "1" }, description), told = element("output", {}, inWords(weight));
  const weighs = element("input", { type: "range", min: "0", max: "100", value: weight });
  weighs.addEventListener("input", () => (told.textContent = inWords(weighs.valueAsNumber)));
  const row = element("li", {},
    element("div", { class: "pair" }, labelled("Name", called), removing(() => `the constraint ${called.value}`)),
    labelled("What it means", about),
    labelled("Weight", weighs, told));
  row.read = () => ({ name: called.value.trim(), description: about.value.trim(), weight: weighs.valueAsNumber });
  return row;
}

function inWords(weight) {
  return weight === 100 ? "100 · must" : String(weight);
}

function goalRow(goal = "") {
  const field = element("input", { value: goal, autocomplete: "off", "aria-label": "Goal" });
  const row = element("li", { class: "pair" }, field, removing(() => `the goal ${field.value}`));
  row.read = () => field.value.trim();
  return row;
}

/** Takes its row away; the focus goes to the one after it, or to what adds another. */
function removing(what) {
  const button = element("button", { type: "button", class: "bare remove", onclick: () => {
    const row = button.closest("li"), next = row.nextElementSibling ?? row.previousElementSibling;
    const add = row.parentElement.nextElementSibling;
    row.remove();
    (next?.querySelector("input") ?? add).focus();
  } }, "Remove");
  const name = () => button.setAttribute("aria-label", `Remove ${what()}`);
  button.addEventListener("focus", name);
  queueMicrotask(name);
  return button;
}

function adding(words, list, make) {
  return element("button", { type: "button", class: "quiet small add", onclick: () => {
    list.append(make());
    list.lastElementChild.querySelector("input").focus();
  } }, words);
}

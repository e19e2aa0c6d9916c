// Which project is shown: the list of them, a new one, and one less.

import { sure } from "/static/sure.js";
import { ask, element, fill } from "/static/treadle.js";
import { ago } from "./words.js";

const ALL = "Its problem spec, world model, runs and conversations are deleted with it.";
const byId = (id) => document.getElementById(id);
const list = byId("picker"), form = byId("beginning"), anew = byId("new-project");
let current = null;

/** Have it work. `open(id)` shows a project, `mayLeave()` says whether the one that is shown may go, `gone()` hears that it has. */
export function projectPicker({ open, mayLeave, gone }) {
  const pick = async (id) => {
    if (id !== current?.id && !await mayLeave()) return;
    list.open = false;
    if (id !== current?.id) await open(id);
    list.firstElementChild.focus();
  };

  const remove = async ({ id, title }) => {
    if (!await sure(`Delete ${title}? ${ALL}`, "Delete it")) return;
    try {
      await ask(`/projects/${encodeURIComponent(id)}`, undefined, { method: "DELETE" });
    } catch (error) {
      return told(id, error.message);
    }
    if (id === current?.id) await gone();
    else await load();
    list.firstElementChild.focus();
  };

  const load = async () => {
    const projects = (await ask("/projects")).toSorted((one, other) => other.updated_at.localeCompare(one.updated_at));
    fill(byId("projects"), projects.map((project) => row(project, pick, remove)));
    return projects;
  };

  list.addEventListener("toggle", () => list.open && load().catch(() => {}));
  beginning(mayLeave, open);
  return { load, first: () => show(true, false), draw };
}

/** The project that is shown. */
function draw(project) {
  current = project;
  show(false);
  anew.hidden = false;
  byId("title").textContent = project.title;
  byId("description").textContent = project.description;
  byId("description").hidden = !project.description;
  mark();
}

function row(project, pick, remove) {
  const { id, title, updated_at } = project, isCurrent = id === current?.id ? "true" : null;
  return element("li", { "data-id": id },
    element("button", { type: "button", class: "pick", "aria-current": isCurrent, onclick: () => pick(id) },
      element("span", { class: "name" }, title), element("span", { class: "small soft" }, ago(updated_at))),
    element("button", { type: "button", class: "bare", "aria-label": `Delete ${title}`, onclick: () => remove(project) }, "Delete"),
    element("p", { class: "small bad", role: "alert" }));
}

function mark() {
  for (const { dataset, firstElementChild: button } of byId("projects").children) {
    if (dataset.id === current?.id) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

function told(id, words) {
  for (const { dataset, lastElementChild: said } of byId("projects").children) if (dataset.id === id) said.textContent = words;
}

// a new one

function show(on, mayCancel = true) {
  form.hidden = !on;
  anew.setAttribute("aria-expanded", String(on));
  byId("no-project").hidden = !mayCancel;
  byId("beginning-said").textContent = "";
  if (!on) return;
  byId("beginning-title").textContent = mayCancel ? "A new project" : "Begin with a project";
  if (!mayCancel) anew.hidden = true;
  byId("new-title").focus();
}

function beginning(mayLeave, open) {
  anew.addEventListener("click", () => show(form.hidden));
  byId("no-project").addEventListener("click", () => {
    show(false);
    anew.focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!await mayLeave()) return;
    const go = form.querySelector("button");
    go.disabled = true;
    try {
      const [title, description] = ["new-title", "new-description"].map((name) => byId(name).value.trim());
      const { id } = await ask("/projects", { title, description });
      form.reset();
      await open(id);
      list.firstElementChild.focus();
    } catch (error) {
      byId("beginning-said").textContent = error.message;
    } finally {
      go.disabled = false;
    }
  });
}

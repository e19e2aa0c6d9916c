// Which project is shown: the list of them, a new one, and one less.

import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, byId, element, fill, messageOf, query } from "/static/treadle.js";
import { timeAgo } from "./format.js";

const ALL = "Its problem spec, world model, runs and conversations are deleted with it.";
const list = byId("picker", HTMLDetailsElement), form = byId("beginning", HTMLFormElement), anew = byId("new-project");

/** @typedef {(id: string) => Promise<unknown>} Open */

/** @type {Project | null} */
let current = null;

/**
 * Have it work. `open(id)` shows a project, `mayLeave()` says whether the one that is shown may go, `gone()` hears that it has.
 * @param {{ open: Open, mayLeave: () => Promise<boolean>, gone: () => Promise<unknown> }} given
 */
export function projectPicker({ open, mayLeave, gone }) {
  /** @param {string} id */
  const pick = async (id) => {
    if (id !== current?.id && !await mayLeave()) return;
    list.open = false;
    if (id !== current?.id) await open(id);
    query(list, "summary").focus();
  };

  /** @param {Project} project */
  const remove = async ({ id, title }) => {
    if (!await confirmDialog(`Delete ${title}? ${ALL}`, "Delete it")) return;
    try {
      await ask(`/projects/${encodeURIComponent(id)}`, undefined, { method: "DELETE" });
    } catch (error) {
      return told(id, messageOf(error));
    }
    if (id === current?.id) await gone();
    else await load();
    query(list, "summary").focus();
  };

  const load = async () => {
    /** @type {Project[]} */
    const found = await ask("/projects"), projects = found.toSorted((one, other) => other.updated_at.localeCompare(one.updated_at));
    fill(byId("projects"), projects.map((project) => row(project, pick, remove)));
    return projects;
  };

  list.addEventListener("toggle", () => list.open && load().catch(() => {}));
  beginning(mayLeave, open);
  return { load, first: () => show(true, false), draw, choose };
}

/** Let the user choose another project. */
function choose() {
  list.open = true;
  list.scrollIntoView({ block: "start" });
  query(list, "summary").focus();
}

/** The project that is shown. @param {Project} project */
function draw(project) {
  current = project;
  show(false);
  anew.hidden = false;
  byId("title").textContent = project.title;
  byId("description").textContent = project.description;
  byId("description").hidden = !project.description;
  mark();
}

/** @param {Project} project @param {(id: string) => void} pick @param {(project: Project) => void} remove */
function row(project, pick, remove) {
  const { id, title, updated_at } = project, isCurrent = id === current?.id ? "true" : null;
  return element("li", { "data-id": id },
    element("button", { type: "button", class: "pick", "aria-current": isCurrent, onclick: () => pick(id) },
      element("span", { class: "name" }, title), element("span", { class: "small soft" }, timeAgo(updated_at))),
    element("button", { type: "button", class: "bare", "aria-label": `Delete ${title}`, onclick: () => remove(project) }, "Delete"),
    element("p", { class: "small bad", role: "alert" }));
}

function mark() {
  for (const row of byId("projects").children) {
    const button = query(row, "button");
    if (row.getAttribute("data-id") === current?.id) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/** @param {string} id @param {string} words */
function told(id, words) {
  for (const row of byId("projects").children) if (row.getAttribute("data-id") === id) query(row, "[role=alert]").textContent = words;
}

// a new one

/** @param {boolean} on @param {boolean} [mayCancel] */
function show(on, mayCancel = true) {
  form.hidden = !on;
  anew.setAttribute("aria-expanded", String(on));
  byId("no-project").hidden = !mayCancel;
  byId("beginning-said").textContent = "";
  if (!on) return;
  byId("beginning-title").textContent = mayCancel ? "A new project" : "Create your first project";
  if (!mayCancel) anew.hidden = true;
  byId("new-title").focus();
}

/** @param {() => Promise<boolean>} mayLeave @param {Open} open */
function beginning(mayLeave, open) {
  anew.addEventListener("click", () => show(Boolean(form.hidden)));
  byId("no-project").addEventListener("click", () => {
    show(false);
    anew.focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!await mayLeave()) return;
    const go = query(form, "button", HTMLButtonElement);
    go.disabled = true;
    try {
      const fields = [byId("new-title", HTMLInputElement), byId("new-description", HTMLTextAreaElement)];
      const [title, description] = fields.map(({ value }) => value.trim()), { id } = await ask("/projects", { title, description });
      form.reset();
      await open(id);
      query(list, "summary").focus();
    } catch (error) {
      byId("beginning-said").textContent = messageOf(error);
    } finally {
      go.disabled = false;
    }
  });
}

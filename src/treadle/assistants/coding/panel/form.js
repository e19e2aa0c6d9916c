// What begins a job: the kind of work, the folder, and what is wanted. It also says how a folder is named, where none is.

import { ask, element } from "/static/treadle.js";

const WORDS = {  // of each kind: the label, what helps, whether it has to be there
  debug: ["What goes wrong?", "Left empty, the failing tests say it.", false],
  build: ["What should be built?", "As you would tell a colleague: what it does, and how one sees that it is done.", true],
  review: ["What is the change for?", "Optional.", false],
  triage: ["What goes wrong?", "What you saw, and since when. A log or a stack trace helps most.", true],
};
const SETTINGS = '[assistants.coding]\nworkspaces = ["~/projects/shop"]';
const ANY = "A project on this machine, best a git repository. Your treadle.toml can name those that you use often.";
const MISSING = "treadle.toml names it, but it isn't there.";
const NONE = { workspaces: [], missing: [], any: false };
const byId = (id) => document.getElementById(id);

/** Have the form work. `begun(id)` hears of a job that has begun. */
export function form({ begun }) {
  const look = async (chosen = "") => {
    const found = await ask("/api/coding/workspaces").catch(({ message }) => ({ ...NONE, problem: message }));
    drawPlace(found, chosen);
    drawNotices(found);
  };

  const begin = async () => {
    const body = {
      kind: kind(), workspace: byId("workspace").value.trim(), what: byId("what").value,
      ...(isFor("log") ? { log: byId("log").value } : {}), ...(isFor("branch") ? { branch: byId("branch").value.trim() } : {}),
    };
    const missing = [byId("workspace"), byId("what")].find((field) => field.required && !field.value.trim());
    if (missing) return refuse(missing);
    const { job } = await ask("/api/coding/jobs", body);
    for (const id of ["what", "log", "branch"]) byId(id).value = "";
    begun(job.id);
  };

  const sample = async () => {
    const { workspace, kind: wanted, what } = await ask("/api/coding/sample", {});
    await look(workspace);
    choose(wanted);
    byId("what").value = what;
    byId("go").focus();
  };

  byId("begin").addEventListener("submit", (event) => {
    event.preventDefault();
    careful(begin);
  });
  byId("sample").addEventListener("click", () => careful(sample));
  byId("kinds").addEventListener("change", drawKind);
  drawKind();
  return { look, fill };
}

/** The question that somebody came with. */
function fill(words) {
  if (!words) return;
  choose("triage");
  byId("what").value = words;
}

function kind() {
  return byId("begin").elements.kind.value;
}

function choose(wanted) {
  byId("begin").elements.kind.value = wanted;
  drawKind();
}

function drawKind() {
  const [label, help, isNeeded] = WORDS[kind()];
  byId("what-label").textContent = label;
  byId("what-help").textContent = help;
  byId("what").required = isNeeded;
  for (const part of byId("begin").querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(" ").includes(kind());
}

function isFor(id) {
  return !byId(id).closest("[data-for]").hidden;
}

// the folder: a list where only these may be chosen, a field where others may be written too

function drawPlace({ workspaces, any }, chosen) {
  const before = chosen || byId("workspace")?.value || workspaces[0]?.path || "";
  const options = workspaces.map(({ path, is_sample: isSample }) =>
    element("option", { value: path, selected: path === before }, isSample ? `${path} (sample)` : path));
  const field = any
    ? element("input", { id: "workspace", list: "workspaces", required: true, autocomplete: "off", spellcheck: "false",
      placeholder: "~/projects/shop", value: before, "aria-describedby": "place-help" })
    : element("select", { id: "workspace", required: true, disabled: !workspaces.length, "aria-describedby": "place-help" },
      options);
  byId("place").replaceChildren(element("label", { for: "workspace" }, "Folder"), field,
    ...(any ? [element("datalist", { id: "workspaces" }, options)] : []),
    element("span", { class: "soft", id: "place-help" }, any ? ANY : "These are the folders that it may work in."));
  byId("go").disabled = !any && !workspaces.length;
}

function drawNotices({ workspaces, missing, any, problem }) {
  byId("notices").replaceChildren(...[
    problem ? element("div", { class: "notice bad" }, element("p", {}, problem)) : null,
    missing.length ? element("div", { class: "notice warn" }, element("p", {}, `${missing.join(", ")}: ${MISSING}`)) : null,
    problem || workspaces.length ? null : unnamed(any),
  ].filter(Boolean));
}

/** How a folder is named, for whoever has named none. */
function unnamed(any) {
  const words = any
    ? "Write the path of a project below, or name those that you work in often in your treadle.toml:"
    : "No folder was named here yet. Whoever runs this server can name those that may be worked in, in their treadle.toml:";
  return element("div", { class: "notice" }, element("p", {}, words), element("pre", { tabindex: "0" }, SETTINGS),
    element("p", {}, "Or begin with a sample: a small project of your own, with a bug to mend."));
}

// what goes wrong

async function careful(act) {
  const buttons = [byId("go"), byId("sample")], before = buttons.map(({ disabled }) => disabled);
  byId("begin-said").textContent = "";
  for (const button of buttons) button.disabled = true;
  try {
    await act();
  } catch (error) {
    byId("begin-said").textContent = error.message;
  } finally {
    buttons.forEach((button, at) => { button.disabled = before[at] && !byId("workspace").value; });
  }
}

function refuse(field) {
  byId("begin-said").textContent = field.id === "what" ? "Say in a few words what is wanted." : "Say in which folder.";
  field.focus();
}

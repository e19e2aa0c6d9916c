// What begins a job: the kind of work, the folder, and what is wanted. It also says how a folder is named, where none is.

import { ask, byId, element, messageOf, query } from "/static/treadle.js";

/** @type {Record<string, [string, string, boolean]>} */
const WORDS = {  // of each kind: the label, what helps, whether it has to be there
  debug: ["What goes wrong?", "Leave empty to start from the failing tests.", false],
  build: ["What should be built?", "As you would tell a colleague: what it does, and how one sees that it is done.", true],
  review: ["What is the change for?", "Optional.", false],
  triage: ["What goes wrong?", "What you saw, and since when. A log or a stack trace helps most.", true],
};
const SETTINGS = '[assistants.coding]\nworkspaces = ["~/projects/shop"]';
const ANY = "A folder on this computer, ideally a git repository. Your treadle.toml can name the ones you use often.";
const MISSING = "treadle.toml names it, but it isn't there.";
/** @type {Workspaces} */
const NONE = { workspaces: [], missing: [], any: false };
const what = byId("what", HTMLTextAreaElement), log = byId("log", HTMLTextAreaElement), branch = byId("branch", HTMLInputElement);
const check = byId("check", HTMLInputElement), checking = byId("checking", HTMLDetailsElement);
const [go, sampleButton] = ["go", "sample"].map((id) => byId(id, HTMLButtonElement));

/** Have the form work. `begun(id)` hears of a job that has begun. @param {{ begun: (id: string) => void }} given */
export function form({ begun }) {
  const look = async (chosen = "") => {
    const found = await ask("/api/coding/workspaces").catch(({ message }) => ({ ...NONE, problem: message }));
    drawPlace(found, chosen);
    drawNotices(found);
  };

  const begin = async () => {
    const body = {
      kind: kind(), workspace: workspace()?.value.trim(), what: what.value,
      ...(isFor(log) ? { log: log.value } : {}), ...(isFor(branch) ? { branch: branch.value.trim() } : {}),
      ...(isFor(check) && checking.open ? { check: check.value.trim() } : {}),
    };
    const missing = [workspace(), what].find((field) => field?.required && !field.value.trim());
    if (missing) return refuse(missing);
    const { job } = await ask("/api/coding/jobs", body);
    for (const field of [what, log, branch, check]) field.value = "";
    checking.open = false;
    begun(job.id);
  };

  const fillSample = async () => {
    const sample = await ask("/api/coding/sample", {});
    await look(sample.workspace);
    choose(sample.kind);
    what.value = sample.what;
    go.focus();
  };

  byId("begin").addEventListener("submit", (event) => {
    event.preventDefault();
    careful(begin);
  });
  sampleButton.addEventListener("click", () => careful(fillSample));
  byId("kinds").addEventListener("change", drawKind);
  checking.addEventListener("toggle", proposeCheck);
  drawKind();
  return { look, fill };
}

/** The question that somebody came with. @param {string} words */
function fill(words) {
  if (!words) return;
  choose("triage");
  what.value = words;
}

function kind() {
  return query(document, "#begin [name=kind]:checked", HTMLInputElement).value;
}

/** @param {string} wanted */
function choose(wanted) {
  query(document, `#begin [name=kind][value="${CSS.escape(wanted)}"]`, HTMLInputElement).checked = true;
  drawKind();
}

function drawKind() {
  const [label, help, isNeeded] = WORDS[kind()];
  byId("what-label").textContent = label;
  byId("what-help").textContent = help;
  what.required = isNeeded;
  for (const part of byId("begin").querySelectorAll("[data-for]")) {
    part.toggleAttribute("hidden", !part.getAttribute("data-for")?.split(" ").includes(kind()));
  }
}

/** Write the command that the user agreed to for the folder, or the one that is proposed, where none is written. */
async function proposeCheck() {
  const folder = workspace()?.value.trim();
  if (!checking.open || check.value || !folder) return;
  const { proposed, agreed } = await ask(`/api/coding/check?${new URLSearchParams({ workspace: folder })}`)
    .catch(() => ({ proposed: "", agreed: "" }));
  check.value ||= agreed || proposed;
}

/** Whether a field is for the kind of work that is chosen. @param {HTMLElement} field */
function isFor(field) {
  return !field.closest("[data-for]")?.hasAttribute("hidden");
}

// the folder: a list where only these may be chosen, a field where others may be written too

/** @returns {HTMLInputElement | HTMLSelectElement | null} */
function workspace() {
  return document.querySelector("#workspace");
}

/** @param {Workspaces} workspaces @param {string} chosen */
function drawPlace({ workspaces, any }, chosen) {
  const before = chosen || workspace()?.value || workspaces[0]?.path || "";
  const options = workspaces.map(({ path, is_sample: isSample }) =>
    element("option", { value: path, selected: path === before }, isSample ? `${path} (sample)` : path));
  const field = any
    ? element("input", { id: "workspace", list: "workspaces", required: true, autocomplete: "off", spellcheck: "false",
      placeholder: "~/projects/shop", value: before, "aria-describedby": "place-help" })
    : element("select", { id: "workspace", required: true, disabled: !workspaces.length, "aria-describedby": "place-help" },
      options);
  byId("place").replaceChildren(element("label", { for: "workspace" }, "Folder"), field,
    ...(any ? [element("datalist", { id: "workspaces" }, options)] : []),
    element("span", { class: "soft", id: "place-help" }, any ? ANY : "The folders it may work in."));
  go.disabled = !any && !workspaces.length;
}

/** @param {Workspaces} workspaces */
function drawNotices({ workspaces, missing, any, problem }) {
  byId("notices").replaceChildren(...[
    problem ? element("div", { class: "notice bad" }, element("p", {}, problem)) : null,
    missing.length ? element("div", { class: "notice warn" }, element("p", {}, `${missing.join(", ")}: ${MISSING}`)) : null,
    problem || workspaces.length ? null : unnamed(any),
  ].filter((each) => each !== null));
}

/** How to name a folder, shown where none is named. @param {boolean} any */
function unnamed(any) {
  const words = any
    ? "Write the path of a project below, or name those that you work in often in your treadle.toml:"
    : "No folder is configured yet. The administrator of this server can name the allowed ones in treadle.toml:";
  return element("div", { class: "notice" }, element("p", {}, words), element("pre", { tabindex: "0" }, SETTINGS),
    element("p", {}, "Or start with a sample: a small project of your own, with a bug to fix."));
}

// what goes wrong

/** @param {() => Promise<unknown>} act */
async function careful(act) {
  const buttons = [go, sampleButton], before = buttons.map(({ disabled }) => disabled);
  byId("begin-said").textContent = "";
  for (const button of buttons) button.disabled = true;
  try {
    await act();
  } catch (error) {
    byId("begin-said").textContent = messageOf(error);
  } finally {
    buttons.forEach((button, at) => { button.disabled = before[at] && !workspace()?.value; });
  }
}

/** @param {HTMLElement} field */
function refuse(field) {
  byId("begin-said").textContent = field.id === "what" ? "Say in a few words what is wanted." : "Say in which folder.";
  field.focus();
}

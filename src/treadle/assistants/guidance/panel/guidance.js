// The panel of the guidance assistant: joins the project's state and the conversation about it.

import { Chat } from "/static/chat.js";
import { contextChip } from "/static/context-chip.js";
import { eventsOf, inRuns, pathOf, warm } from "/static/durable.js";
import { takePendingQuestion } from "/static/pending-question.js";
import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, byId, element, messageOf, query, question } from "/static/treadle.js";
import { suggestions } from "./suggestions.js";
import { projectPicker } from "./projects.js";
import { runOf, turnsOf } from "./history.js";
import { startRun } from "./runs.js";
import { isEditing, letGo } from "./spec.js";
import { drawState, loadState } from "./state.js";

const WELCOME = "Ask about its constraints, its world and its runs, or say what should change. "
  + "Nothing changes before you have seen the difference and approved it.";
const LOST = "Leave this project? What you changed in its problem spec isn't saved.";
/** @type {Project | null} */
let project = null;
/** @type {{ id: string } | null} */
let session = null;
let loads = 0;

const runs = inRuns(() => ({
  assistant: "guidance", run_id: null, context: { project_id: project?.id, session_id: session?.id },
}));
const talk = new Chat(byId("chat"), {
  ...runs,
  events: (...posted) => worded(runs.events(...posted)),
  missed: () => project && careful(() => show(project?.id ?? "")),
  label: "A question or a change",
  welcome: [element("h2", {}, "What would you like to know?"), element("p", { class: "soft" }, WELCOME)],
  below: ({ data, stopped }) => (data ? suggestions({ ...data, stopped }, (words) => talk.fill(words), started) : []),
  changed: () => talk.isRunning || refresh(),
});

const chip = contextChip(query(byId("chat"), ".composer"), "Project", () => picker.choose());
const picker = projectPicker({ open: (/** @type {string} */ id) => careful(() => show(id, true)), mayLeave, gone: () => careful(start) });

/**
 * Events of a run. Where it failed, the architect says what can be said without a model.
 * @param {AsyncIterable<RunEvent>} events
 */
async function* worded(events) {
  for await (const event of events) {
    yield event.event === "reply" && event.stopped === "failed" && event.data
      ? { ...event, reason: event.data.guidance_message } : event;
  }
}

/**
 * Show a project: its state, and what was said about it; an answer that is under way as it happens.
 * @param {string} id @param {boolean} [isNew]
 */
async function show(id, isNew = false) {
  const mine = ++loads;
  const [sessions, state] = await Promise.all([ask(`/projects/${encodeURIComponent(id)}/chat-sessions`), loadState(id)]);
  const isReader = !state.project.can_edit;  // what they ask isn't stored with the project
  const chosen = isReader ? null : sessions[0] ?? await ask("/chat-sessions", { project_id: id, title: "Main Chat" });
  /** @type {{ runs: RunInfo[] }} */
  const { runs: open } = await ask("/api/runs?assistant=guidance&status=open");  // before the messages: it may end in between
  /** @type {SessionMessage[]} */
  const messages = chosen ? await ask(`/chat-sessions/${encodeURIComponent(chosen.id)}/messages`) : [];
  const current = open.map(({ run_id }) => run_id).find((id) => messages.some((message) => runOf(message) === id));
  if (mine !== loads) return;
  letGo();
  [project, session] = [state.project, chosen];
  address(isNew);
  picker.draw(state.project);
  chip.show(state.project.title);
  drawState(state, refresh);
  byId("state").hidden = byId("chat").hidden = false;
  byId("read-only").hidden = !isReader;
  byId("read-only").textContent = isReader ? `${state.project.owner} shares this project with you to read.` : "";
  talk.recall(turnsOf(messages.filter((message) => !current || runOf(message) !== current)));
  if (current) talk.join(current, (abort) => worded(eventsOf(current)(abort)));
}

/** Look at the state again: something may have changed it. */
async function refresh() {
  const mine = loads, shown = project;
  if (!shown) return;
  try {
    const state = await loadState(shown.id);
    if (mine === loads) drawState(state, refresh);
  } catch (error) {
    if (mine === loads) tell(messageOf(error));
  }
}

/** Start the run that an answer recommends; however often, it is one. @param {string} answer @param {RunConfig} runConfig */
async function started(answer, { mode, parameters, ...rest }) {
  const wanted = { mode, parameters, recommended_config_snapshot: { mode, parameters, ...rest } };
  await startRun(project?.id ?? "", `answer-${answer}`, wanted);
  await refresh();
}

/** The project in the address, itself or as that of a run. @returns {Promise<string | null>} */
async function wantedProject() {
  const named = new URLSearchParams(location.search), run = named.get("run");
  if (!run) return named.get("project");
  const { origin } = await ask(pathOf(run)).catch(() => ({ origin: {} }));
  return origin.about?.project_id ?? null;
}

/** What is in the address, or else the project that was changed last; or a form for the first one. */
async function start() {
  const wanted = await wantedProject();
  /** @type {Project[]} */
  const projects = await picker.load();
  const found = projects.find(({ id }) => id === wanted) ?? projects[0];
  if (found) return show(found.id);
  loads++;
  project = session = null;
  byId("state").hidden = byId("chat").hidden = true;
  picker.first();
}

async function mayLeave() {
  return !isEditing() || confirmDialog(LOST, "Leave it");
}

/** @param {boolean} isNew */
function address(isNew) {
  if (!project) return;
  const url = new URL(location.href);
  url.searchParams.set("project", project.id);
  if (isNew) url.searchParams.delete("run");
  url.searchParams.delete("question");
  document.title = `${project.title} · Guidance · Treadle`;
  if (isNew) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}

/** @param {string} words */
function tell(words) {
  byId("notices").replaceChildren(element("div", { class: "notice bad", role: "alert" }, element("p", {}, words)));
}

/** @param {() => Promise<unknown>} act */
async function careful(act) {
  byId("notices").replaceChildren();
  try {
    return await act();
  } catch (error) {
    return tell(messageOf(error));
  }
}

async function loadQuestions() {
  /** @type {AssistantInfo[]} */
  const assistants = await ask("/api/assistants").catch(() => []);
  talk.questions(assistants.find(({ name }) => name === "guidance")?.questions ?? []);
}

/** Back to another project; or, if the user cancels, on with this one. */
async function back() {
  if (await mayLeave()) await careful(start);
  else address(true);
}

addEventListener("popstate", back);
addEventListener("beforeunload", (event) => isEditing() && event.preventDefault());
const came = question();
warm("guidance");
loadQuestions();
await careful(start);
const given = takePendingQuestion();
if (given && project) talk.ask(given);
else if (given || (came && project)) talk.fill(given || came);

// The workbench: an assistant and a model are chosen, and there is a conversation with them. The run it is kept in is in the
// address, so that it is there again when the page is.

import { Chat } from "./chat.js";
import { choosing } from "./choosing.js";
import { eventsOf, inOneRun, inRuns, pathOf } from "./durable.js";
import { turnsOf } from "./journal.js";
import { modelPicker } from "./models.js";
import { recordings } from "./recordings.js";
import { ask, byId, element, question } from "./treadle.js";

const wanted = new URLSearchParams(location.search);
/** @type {AssistantInfo | null} */
let assistant = null;
let loads = 0;

const models = modelPicker(byId("model", HTMLSelectElement), byId("notices"));
const choice = choosing({ chosen }), recorded = recordings();
const talk = new Chat(byId("chat"), {
  ...inRuns(() => ({ assistant: assistant?.name, ...models.chosen() })),
  ...inOneRun(open),
  edits: true,
  known: remember,
  missed: open,
  leads: toPanel,
  welcome: [choice.node, recorded.node],
  changed: draw,
});

/** @param {AssistantInfo} picked */
function chosen(picked) {
  assistant = picked;
  talk.questions(picked.questions);
  draw();
}

/** What can only begin in a panel goes on there, with the question. @param {string} message */
function toPanel(message) {
  if (!assistant?.only_panel || talk.runId) return false;
  location.assign(`${assistant.panel}?question=${encodeURIComponent(message)}`);
  return true;
}

function draw() {
  const { runId } = talk, journal = byId("journal", HTMLAnchorElement), subject = byId("subject");
  byId("anew").hidden = talk.isEmpty;
  journal.hidden = !runId;
  if (runId) journal.href = `/runs/${encodeURIComponent(runId)}`;
  subject.hidden = talk.isEmpty || !assistant;
  subject.replaceChildren(element("strong", {}, assistant?.title ?? ""), assistant?.panel
    ? element("a", { class: "small", href: assistant.panel }, `Open in ${assistant.title}`) : "");
}

/** Have the address say which run is shown. @param {string | null} runId */
function remember(runId) {
  const url = new URL(location.href);
  url.search = runId ? `?run=${encodeURIComponent(runId)}` : assistant ? `?assistant=${encodeURIComponent(assistant.name)}` : "";
  history.replaceState(null, "", url);
  draw();
}

/** Show a run: as its journal tells it; one that is under way as it happens. @param {string} runId */
async function open(runId) {
  const mine = ++loads, { run, entries, approvals } = await ask(pathOf(runId));
  if (mine !== loads) return;
  choice.pick(run.agent);
  if (run.status === "open") talk.follow(runId, eventsOf(runId));
  else talk.recall(turnsOf(entries, approvals), runId);
  remember(runId);
}

function begin() {
  loads++;
  talk.clear();
  remember(null);
}

/** @param {Error} error */
function complain({ message }) {
  byId("notices").append(element("p", { class: "notice bad", role: "alert" }, message));
}

byId("anew").addEventListener("click", begin);
models.load();
recorded.load();
await choice.load(wanted.get("assistant")).catch(complain);
const run = wanted.get("run");
if (run) await open(run).catch(complain);
if (question()) talk.fill(question());

// The workbench: an assistant and a model are chosen, and there is a conversation with them. The run it is kept in is in the
// address, so that it is there again when the page is.

import { countApprovals } from "./bar.js";
import { Chat } from "./chat.js";
import { choosing } from "./choosing.js";
import { eventsOf, inRuns, pathOf } from "./durable.js";
import { turnsOf } from "./journal.js";
import { modelPicker } from "./models.js";
import { recordings } from "./recordings.js";
import { ask, element, question } from "./treadle.js";

const byId = (id) => document.getElementById(id);
const wanted = new URLSearchParams(location.search);
let assistant = null, loads = 0;

const models = modelPicker(byId("model"), byId("notices"));
const choice = choosing({ chosen }), recorded = recordings();
const talk = new Chat(byId("chat"), {
  ...inRuns(() => ({ assistant: assistant?.name, ...models.chosen() })),
  edits: true,
  known: remember,
  missed: open,
  leads: toPanel,
  welcome: [choice.node, recorded.node],
  changed,
});

function chosen(picked) {
  assistant = picked;
  talk.questions(picked.questions);
  draw();
}

/** What can only begin in a panel goes on there, with the question. */
function toPanel(message) {
  if (!assistant?.only_panel || talk.runId) return false;
  location.assign(`${assistant.panel}?question=${encodeURIComponent(message)}`);
  return true;
}

function changed() {
  draw();
  countApprovals();
}

function draw() {
  const { runId } = talk, subject = byId("subject");
  byId("anew").hidden = talk.isEmpty;
  byId("journal").hidden = !runId;
  if (runId) byId("journal").href = `/runs/${encodeURIComponent(runId)}`;
  subject.hidden = talk.isEmpty || !assistant;
  subject.replaceChildren(element("strong", {}, assistant?.title ?? ""), assistant?.panel
    ? element("a", { class: "small", href: assistant.panel }, "Its panel") : "");
}

/** Have the address say which run is shown. */
function remember(runId) {
  const url = new URL(location.href);
  url.search = runId ? `?run=${encodeURIComponent(runId)}` : assistant ? `?assistant=${encodeURIComponent(assistant.name)}` : "";
  history.replaceState(null, "", url);
  draw();
}

/** Show a run: as its journal tells it; one that is under way as it happens. */
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

function complain({ message }) {
  byId("notices").append(element("p", { class: "notice bad", role: "alert" }, message));
}

byId("anew").addEventListener("click", begin);
models.load();
recorded.load();
await choice.load(wanted.get("assistant")).catch(complain);
if (wanted.get("run")) await open(wanted.get("run")).catch(complain);
if (question()) talk.fill(question());

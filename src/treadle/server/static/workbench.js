// The workbench: an assistant and a model are chosen, and there is a conversation with them. The run it is kept in is in the
// address, so that it is there again when the page is.

import { Chat } from "./chat.js";
import { assistantCards } from "./assistant-cards.js";
import { eventsOf, inOneRun, inRuns, pathOf, warm } from "./durable.js";
import { openWithQuestion } from "./pending-question.js";
import { turnsOf } from "./journal.js";
import { modelPicker } from "./models.js";
import { nameTab } from "./tab-title.js";
import { ask, byId, element, question } from "./treadle.js";

const WHAT = "Treadle's assistants use tools on your own files and systems, with your approval, and never lose a step.";
const wanted = new URLSearchParams(location.search);
/** @type {AssistantInfo | null} */
let assistant = null;
let loads = 0;

const models = modelPicker(byId("model", HTMLSelectElement), byId("notices"));
const choice = assistantCards({ chosen, clicked: () => talk.focus(), example: (question) => talk.ask(question) });
const talk = new Chat(byId("chat"), {
  ...inRuns(() => ({ assistant: assistant?.name, ...models.chosen() })),
  ...inOneRun(open),
  edits: true,
  known: remember,
  missed: open,
  leads: toPanel,
  welcome: [element("h2", {}, "What would you like to do?"), element("p", { class: "soft lead" }, WHAT)],
  after: [choice.node, models.line],
  changed: draw,
});

/** @param {AssistantInfo} picked */
function chosen(picked) {
  assistant = picked;
  talk.label(`Ask ${picked.title}…`);
  warm(picked.name);
  draw();
}

/**
 * A conversation that is shown better in its assistant's panel is held there. One with another model than the default stays here,
 * unless it can't. @param {string} message
 */
function toPanel(message) {
  if (!assistant?.panel || talk.runId) return false;
  const isThere = assistant.only_panel || (assistant.asks_in_panel && !models.chosen().model);
  if (isThere) openWithQuestion(assistant.panel, message);
  return Boolean(isThere);
}

function draw() {
  const { runId } = talk, journal = byId("journal", HTMLAnchorElement), subject = byId("subject");
  byId("anew").hidden = talk.isEmpty;
  byId("anew", HTMLAnchorElement).href = assistant ? `/?assistant=${encodeURIComponent(assistant.name)}` : "/";
  journal.hidden = !runId;
  if (runId) journal.href = `/runs/${encodeURIComponent(runId)}`;
  subject.hidden = talk.isEmpty || !assistant;
  subject.replaceChildren(element("strong", {}, assistant?.title ?? ""), assistant?.panel
    ? element("a", { class: "small", href: assistant.panel }, `Open in ${assistant.title}`) : "");
}

/** Have the address say which run is shown. @param {string} runId */
function remember(runId) {
  const url = new URL(location.href);
  url.search = `?run=${encodeURIComponent(runId)}`;
  history.replaceState(null, "", url);
  nameTab(`${talk.topic || "Conversation"} · Treadle`);
  draw();
}

/** Show a run: as its journal tells it; one that is under way as it happens. @param {string} runId */
async function open(runId) {
  const mine = ++loads, { run, entries, approvals, queued } = await ask(pathOf(runId));
  if (mine !== loads) return;
  choice.pick(run.agent);
  if (run.status === "open") talk.follow(runId, eventsOf(runId, [], queued));
  else talk.recall(turnsOf(entries, approvals), runId);
  remember(runId);
}

/** @param {Error} error */
function complain({ message }) {
  byId("notices").append(element("p", { class: "notice bad", role: "alert" }, message));
}

models.load();
talk.focus();
await choice.load(wanted.get("assistant")).catch(complain);
choice.loadRecordings();
const run = wanted.get("run");
if (run) await open(run).catch(complain);
if (question()) talk.fill(question());

// The panel of the platform assistant: joins the conversation and the spec. Which run is which is in the address, so that both are
// there again when the page is.

import { Chat } from "/static/chat.js";
import { contextChip } from "/static/context-chip.js";
import { eventsOf, inOneRun, inRuns, pathOf, warm } from "/static/durable.js";
import { takePendingQuestion } from "/static/pending-question.js";
import { turnsOf } from "/static/journal.js";
import { ask, byId, element, query, question } from "/static/treadle.js";
import { offerActions } from "./actions.js";
import { remember, remembered } from "./address.js";
import { restoreDeployment } from "./deploy.js";
import { recentRuns } from "./recent-runs.js";
import { openSpec, specPane } from "./spec.js";
import { nameIn } from "./spec-text.js";
import { signIn } from "./sign-in.js";
import { drawStatus } from "./status.js";

const WELCOME = "Ask about applications, workflows and resources, or have a spec written. "
  + "Nothing is deployed or deleted before you approve it.";
const standing = drawStatus();
let loads = 0;
/** @type {object | null} */
let wanted = null;  // the call that the next message stands for, where a button has made it

const before = recentRuns({ open: (runId) => open(runId).catch(complain) });
const talk = new Chat(byId("chat"), {
  ...inRuns(about),
  ...inOneRun(open),
  label: "Your question",
  welcome: [element("h2", {}, "What would you like to know?"), element("p", { class: "soft" }, WELCOME), before.node],
  below,
  changed,
  more: () => (wanted ? { call: wanted } : {}),
  known: (runId) => remember("run", runId),
  missed: open,
});

/** Whom runs are begun with, and on which platform. */
async function about() {
  const me = await standing;
  return { assistant: "platform", context: me && { server: me.server } };
}

/** Show as whom on which platform one acts, where messages are written. */
async function drawContext() {
  const me = await standing, chip = contextChip(query(byId("chat"), ".composer"), "Platform", () => me && signIn(me.server));
  if (me) chip.show(me.username ? `${me.server} as ${me.username}` : `${me.server}, not signed in`);
}

/** What stands below an answer: where it is from, and its spec, which is shown beside it. @param {Reply} reply */
function below({ data }) {
  const { generated_spec: spec, findings, citations = [] } = data ?? {}, made = citations.length ? [sources(citations)] : [];
  if (!spec) return made;
  openSpec(spec, { findings });
  const again = () => openSpec(spec, { findings, isWanted: true });
  const name = nameIn(spec) || "the spec";
  return [...made, element("button", { type: "button", class: "quiet small", onclick: again }, `Show ${name}`)];
}

/** @param {string[]} citations */
function sources(citations) {
  const named = citations.flatMap((each, index) => [index ? ", " : "", element("cite", {}, each)]);
  return element("p", { class: "sources" }, "From ", named);
}

function changed() {
  byId("anew").hidden = talk.isEmpty;
  if (talk.isEmpty) before.load();
}

/**
 * Show a run: as its journal tells it; one that is under way as it happens; a deployment beside the conversation.
 * @param {string} runId
 */
async function open(runId) {
  const mine = ++loads, { run, origin, entries, approvals, replies } = await ask(pathOf(runId));
  if (mine !== loads) return;
  if (origin.call?.name === "deploy_application") return restoreDeployment(runId, origin.call.arguments.spec_content ?? "");
  if (run.status === "open") talk.follow(runId, eventsOf(runId, replies));
  else talk.recall(turnsOf(entries, approvals, replies), runId);
  remember("run", runId);
  changed();
}

/**
 * Have a call made: shown, approved and told in a conversation of its own. No model is needed.
 * @param {string} message @param {object} call
 */
function act(message, call) {
  if (talk.isRunning) return;
  begin();
  wanted = call;
  talk.ask(message);
}

function begin() {
  loads++;
  remember("run", null);
  wanted = null;
  talk.clear();
}

/** @param {Error} error */
function complain({ message }) {
  byId("notices").append(element("p", { class: "notice bad", role: "alert" }, message));
}

async function loadQuestions() {
  /** @type {AssistantInfo[]} */
  const assistants = await ask("/api/assistants").catch(() => []);
  talk.questions(assistants.find(({ name }) => name === "platform")?.questions ?? []);
}

/** What is in the address. A run that isn't there any more, or belongs to another user, is as good as none. */
async function start() {
  const came = question();
  for (const name of ["run", "deploy"]) {
    const runId = remembered(name);
    if (runId) await open(runId).catch((error) => (error.status === 404 ? remember(name, null) : complain(error)));
  }
  changed();
  const given = remembered("run") ? "" : takePendingQuestion();
  if (given) talk.ask(given);
  else if (came && !talk.isRunning) talk.fill(came);
  else talk.focus();
}

specPane({ ask: (words) => talk.ask(words), about });
offerActions(act);
drawContext();
byId("anew").addEventListener("click", begin);
warm("platform");
loadQuestions();
start();

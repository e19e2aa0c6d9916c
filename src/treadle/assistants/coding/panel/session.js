// A coding session on a page: a conversation in a mode, which is in the address, so that it is there again when the page is.

import { Chat } from "/static/chat.js";
import { eventsOf, inOneRun, inRuns, pathOf, warm } from "/static/durable.js";
import { turnsOf } from "/static/journal.js";
import { ask, byId, element, messageOf } from "/static/treadle.js";
import { modeChoice } from "./mode.js";

const WELCOME = "It reads, searches and runs the tests without asking. What else runs without asking is the mode's to say.";
const modes = modeChoice();
let loads = 0;

const talk = new Chat(byId("chat"), {
  ...inRuns(() => ({ assistant: "coding", context: { mode: modes.mode() } })),
  ...inOneRun(open),
  label: "Your message",
  welcome: [element("h2", {}, "What should be done?"), element("p", { class: "soft" }, WELCOME)],
  edits: true,
  known: begun,
  missed: open,
  changed: () => { if (remembered()) modes.show(remembered()).catch(complain); },
});

/** Show a session: as its journal has it; one that is under way as it happens. @param {string} runId */
async function open(runId) {
  const mine = ++loads, { run, entries, approvals, replies, queued } = await ask(pathOf(runId));
  if (mine !== loads) return;
  if (run.status === "open") talk.follow(runId, eventsOf(runId, replies, queued));
  else talk.recall(turnsOf(entries, approvals, replies), runId);
  begun(runId);
}

/** @param {string} runId */
function begun(runId) {
  const url = new URL(location.href);
  url.searchParams.set("run", runId);
  history.replaceState(null, "", url);
  modes.show(runId).catch(complain);
}

function remembered() {
  return new URLSearchParams(location.search).get("run") ?? "";
}

/** @param {unknown} error */
function complain(error) {
  byId("mode-said").textContent = messageOf(error);
}

warm("coding");
if (remembered()) open(remembered()).catch(complain);
else {
  modes.show("").catch(complain);
  talk.focus();
}

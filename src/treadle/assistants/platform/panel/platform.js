// The panel of the platform assistant: joins the conversation and the spec, and draws what belongs to neither: who one is, which
// model answers, and the address.

import { Chat } from "/static/chat.js";
import { sure } from "/static/sure.js";
import { ask, element, question } from "/static/treadle.js";
import { nameIn, openSpec, specPane } from "./spec.js";
import { drawStanding } from "./standing.js";

const byId = (id) => document.getElementById(id);
const WELCOME = "Ask about applications, workflows and resources, or have a spec written. "
  + "Nothing is deployed or deleted before you approve it.";

const talk = new Chat(byId("chat"), {
  path: "/api/platform/chat",
  approvals: ({ run_id, call_id }) => `/api/platform/approvals/${encodeURIComponent(run_id)}/${encodeURIComponent(call_id)}`,
  label: "Your question",
  welcome: [element("h2", {}, "What would you like to know?"), element("p", { class: "soft" }, WELCOME)],
  below,
  changed: () => (byId("anew").hidden = talk.isEmpty),
});

/** What stands below an answer: where it is from, and its spec, which is shown beside it. */
function below({ generated_spec: spec, findings, citations }) {
  const made = citations.length ? [sources(citations)] : [];
  if (!spec) return made;
  openSpec(spec, { findings });
  const again = () => openSpec(spec, { findings, isWanted: true });
  const name = nameIn(spec) || "the spec";
  return [...made, element("button", { type: "button", class: "quiet small", onclick: again }, `Show ${name}`)];
}

function sources(citations) {
  const named = citations.flatMap((each, index) => [index ? ", " : "", element("cite", {}, each)]);
  return element("p", { class: "sources" }, "From ", named);
}

async function anew() {
  if (await sure("Begin a new conversation? This one is no longer shown.", "Begin anew")) talk.clear();
}

async function loadQuestions() {
  const assistants = await ask("/api/assistants").catch(() => []);
  talk.questions(assistants.find(({ name }) => name === "platform")?.questions ?? []);
}

specPane({ ask: (words) => talk.ask(words) });
byId("anew").addEventListener("click", anew);
talk.fill(question());
drawStanding();
loadQuestions();

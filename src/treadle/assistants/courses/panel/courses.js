// The panel of the course assistant: joins the courses, the conversation about them, and the reader.

import { Chat } from "/static/chat.js";
import { sure } from "/static/sure.js";
import { ask, element, question } from "/static/treadle.js";
import { conversations } from "./conversations.js";
import { finding } from "./found.js";
import { library } from "./library.js";
import { reader } from "./reader.js";
import { samplesFor } from "./samples.js";
import { sourcesOf } from "./sources.js";

const WELCOME = "Ask about your courses. Answers come from their material, and name the lessons they are from.";
const UNFINISHED = "Leave this conversation? The answer that is under way is lost.";
const byId = (id) => document.getElementById(id);
let session = null, loads = 0;

const talk = new Chat(byId("chat"), {
  path: () => `/api/courses/sessions/${encodeURIComponent(session ?? "new")}/chat`,
  label: "Your question",
  welcome: [element("h2", {}, "What would you like to learn?"), element("p", { class: "soft" }, WELCOME)],
  below,
  changed,
});
const fill = (words) => {
  pages.close();
  courses.fold();
  talk.fill(words);
};
const pages = reader({ courseOf: (key) => courses.find(key), fill, isBusy: () => talk.isRunning });
const courses = library({ read: pages.lesson, fill, drawn: drawSamples });
const earlier = conversations({ open, removed });
finding({ filter: courses.filter, open: pages.passage });

/** What stands below an answer. The first one also says which conversation this is. */
function below({ session_id: id, sources }) {
  if (id) remember(id);
  return sourcesOf(sources, { open: pages.passage, reveal: courses.reveal });
}

function changed() {
  byId("anew").hidden = talk.isEmpty;
  if (talk.isRunning) courses.fold();
  else earlier.draw(session);
}

/** Show a conversation that was kept. */
async function open(id) {
  if (!await mayLeave()) return;
  const mine = ++loads, { exchanges } = await ask(`/api/courses/sessions/${encodeURIComponent(id)}`);
  if (mine !== loads) return;
  remember(id);
  courses.fold();
  talk.recall(exchanges.map(turnOf));
  changed();
}

function turnOf({ question: message, answer, sources }) {
  return { message, replies: [{ message: answer, sources, stopped: "answered", approvals: [], events: [] }] };
}

async function anew() {
  if (await mayLeave()) begin();
}

function begin() {
  loads++;
  remember(null);
  talk.clear();
}

function removed(id) {
  if (id === session) begin();
}

async function mayLeave() {
  return !talk.isRunning || sure(UNFINISHED, "Leave it");
}

/** Have the address say which conversation is shown, so that it is there again when the page is. */
function remember(id) {
  const url = new URL(location.href);
  session = id;
  url.searchParams.delete("question");
  if (id) url.searchParams.set("session", id);
  else url.searchParams.delete("session");
  history.replaceState(null, "", url);
}

async function drawSamples(all) {
  const assistants = await ask("/api/assistants").catch(() => []);
  talk.questions(samplesFor(all, assistants.find(({ name }) => name === "courses")?.questions ?? []));
}

/** What is in the address. A conversation that isn't there any more is as good as none. */
async function start() {
  const wanted = new URLSearchParams(location.search).get("session"), came = question();
  if (wanted) await open(wanted).catch((error) => (error.status === 404 ? remember(null) : earlier.tell(error.message)));
  changed();
  talk.fill(came);
}

byId("anew").addEventListener("click", anew);
courses.load();
start();

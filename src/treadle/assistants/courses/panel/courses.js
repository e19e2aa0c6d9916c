// The panel of the course assistant: joins the courses, the conversation about them, and the reader.

import { Chat } from "/static/chat.js";
import { eventsOf, inRuns, pathOf, warm } from "/static/durable.js";
import { takePendingQuestion } from "/static/pending-question.js";
import { ask, byId, element, query, question } from "/static/treadle.js";
import { cite } from "./citations.js";
import { conversations } from "./conversations.js";
import { materialSearch } from "./search.js";
import { library } from "./library.js";
import { material } from "./material.js";
import { reader } from "./reader.js";
import { samplesFor } from "./samples.js";
import { offerScopes, scope, scoping } from "./scope.js";
import { sharedIn, sourcesOf } from "./sources.js";

const WELCOME = "Ask about your courses. Answers come from their material, and name the lessons they are from.";
/** @type {string | null} */
let session = null;
let loads = 0;

const talk = new Chat(byId("chat"), {
  ...inRuns(async () => ({ assistant: "courses", run_id: null, context: { session_id: await sessionId(), ...scope() } })),
  label: "Your question",
  welcome: [element("h2", {}, "What would you like to learn?"), element("p", { class: "soft" }, WELCOME)],
  below,
  changed,
});
/** @param {string} words */
const fill = (words) => {
  pages.close();
  courses.fold();
  talk.fill(words);
};
const pages = reader({ courseOf: (key, owner) => courses.find(key, owner), fill, isBusy: () => talk.isRunning });
const courses = library({ read: pages.lesson, fill, drawn });
const earlier = conversations({ open, removed });
material({ changed: () => courses.load() });
scoping(query(byId("chat"), ".composer"));
materialSearch({ filter: courses.filter, open: pages.passage });

/** The conversation that is shown; a new one where none is. */
async function sessionId() {
  if (!session) remember((await ask("/api/courses/sessions", {})).session_id);
  return session;
}

/** @param {Reply} reply */
function below({ data }) {
  /** @type {AnswerSource[]} */
  const sources = data?.sources ?? [], nodes = sourcesOf(sources, { open: pages.passage, reveal: courses.reveal });
  const open = (/** @type {string} */ id) => {
    const source = sources.find(({ passages }) => passages.some((each) => each.id === id));
    pages.passage(id, [], source ? sharedIn(source) : null);
  };
  if (nodes.length) queueMicrotask(() => cite(nodes[0], data.citations ?? [], open));  // once they stand below the answer
  return nodes;
}

function changed() {
  byId("anew").hidden = talk.isEmpty;
  if (talk.isRunning) courses.fold();
  else earlier.draw(session);
}

/** Show a conversation that was kept; an answer that is under way as it happens. @param {string} id */
async function open(id) {
  const mine = ++loads, { exchanges } = await ask(`/api/courses/sessions/${encodeURIComponent(id)}`), last = exchanges.at(-1);
  const isOpen = last && !last.answer && (await ask(pathOf(last.run_id))).run.status === "open";
  if (mine !== loads) return;
  remember(id);
  courses.fold();
  talk.recall((isOpen ? exchanges.slice(0, -1) : exchanges).map(turnOf));
  if (isOpen) talk.join(last.run_id, eventsOf(last.run_id));
  changed();
}

/** @param {any} any @returns {RecalledTurn} */
function turnOf({ question: message, answer, sources, citations, run_id }) {
  const reply = { message: answer, run_id, data: { sources, citations }, stopped: "answered", approvals: [], events: [] };
  return { message, replies: answer ? [reply] : [] };
}

function begin() {
  loads++;
  remember(null);
  talk.clear();
}

/** @param {string} id */
function removed(id) {
  if (id === session) begin();
}

/** Have the address say which conversation is shown, so that it is there again when the page is. @param {string | null} id */
function remember(id) {
  const url = new URL(location.href);
  session = id;
  url.searchParams.delete("question");
  if (id) url.searchParams.set("session", id);
  else url.searchParams.delete("session");
  history.replaceState(null, "", url);
}

/** @param {Course[]} all */
async function drawn(all) {
  offerScopes(all);
  /** @type {AssistantInfo[]} */
  const assistants = await ask("/api/assistants").catch(() => []);
  talk.questions(samplesFor(all.filter(({ owner }) => !owner), assistants.find(({ name }) => name === "courses")?.questions ?? []));
}

/** What is in the address. A conversation that isn't there any more is as good as none. */
async function start() {
  const wanted = new URLSearchParams(location.search).get("session"), came = question();
  if (wanted) await open(wanted).catch((error) => (error.status === 404 ? remember(null) : earlier.tell(error.message)));
  changed();
  const given = wanted ? "" : takePendingQuestion();
  if (given) talk.ask(given);
  else if (came) talk.fill(came);
  else talk.focus();
}

byId("anew").addEventListener("click", begin);
warm("courses");
courses.load();
start();

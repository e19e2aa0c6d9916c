// The page of a run: what it is, its trace as a tree of steps, its journal with the conversation as it was then, what waits, forking
// and sharing it. A run that another user shares can only be read.

import { boxFor } from "./approval.js";
import { refreshShell } from "./shell.js";
import { aheadInWords } from "./format.js";
import { titleOf, usageInWords } from "./journal.js";
import { fillModels } from "./models.js";
import { Player } from "./player.js";
import { facts, mark } from "./states.js";
import { confirmDialog } from "./confirm-dialog.js";
import { runApiPath, runInPath, runPath } from "./shared-runs.js";
import { makeTabs } from "./tabs.js";
import { StepView, TraceTree } from "./trace-view.js";
import { traceOf } from "./trace.js";
import { ask, byId, element, fieldsOf, messageOf } from "./treadle.js";
import { timeAgo } from "./time-ago.js";

const PLAYS = "#play", JOURNAL = "#journal";  // in the address: it plays by itself, and the journal is shown
const LOOK = 2000;    // milliseconds between two looks at a run that is under way
const { owner, runId } = runInPath(location.pathname);
const path = runApiPath(runId, owner);
const bench = `/?run=${encodeURIComponent(runId)}`;
const isJob = runId.startsWith("job-");
const fork = byId("fork", HTMLFormElement);
/** @type {RunInfo | null} */
let run = null;
let known = -1;  // entries that are shown
let me = "";  // the user's name, where they can share it
/** @type {Entry[]} */
let entries = [];

async function load() {
  const said = await ask(path), wanted = placeInAddress(), isFirst = known < 0;
  const info = run = /** @type {RunInfo} */ (said.run);
  drawHead(info, said);
  drawAsked(owner ? [] : said.approvals);
  byId("views").hidden = false;
  if (said.entries.length !== known) {
    entries = said.entries;
    known = entries.length;
    tree.show(traceOf(entries, said.nested));
    if (isFirst) chooseView(location.hash === JOURNAL || wanted !== null ? "tab-journal" : "tab-trace");
    else fillPlayer();
    if (isFirst && wanted !== null) player.go(wanted);
  }
  if (info.status === "open") setTimeout(() => load().catch(complain), LOOK);
}

function placeInAddress() {
  if (location.hash === PLAYS) return 0;
  const wanted = /^#entry-(\d+)$/.exec(location.hash);
  return wanted ? Number(wanted[1]) - 1 : null;
}

// its views

/** @param {number} position of an entry */
function showEntry(position) {
  chooseView("tab-journal");
  player.step(position - 1);
  byId("tab-journal").focus();
}

/** @param {string} nested */
async function loadNested(nested) {
  try {
    const said = await ask(runApiPath(nested, owner));
    return traceOf(said.entries, said.nested);
  } catch (error) {
    byId("said").replaceChildren(element("p", { class: "notice bad" }, messageOf(error)));
    throw error;
  }
}

/** Give the player the entries that it doesn't have yet, where one can see it: it draws the whole conversation. */
function fillPlayer() {
  if (!byId("player").hidden && player.entries !== entries) player.take(entries, player.entries.length ? undefined : Infinity);
}

/** @param {string} id */
function viewChosen(id) {
  if (id === "tab-journal") return player.entries === entries ? player.go(player.at) : fillPlayer();
  player.pause();
  history.replaceState(null, "", location.pathname);
}

// what it is

/**
 * @param {RunInfo} info
 * @param {{ usage: Usage, origin?: { recording?: { date: string } }, queued?: RunsAhead | null, approvals: PendingCall[] }} said
 */
function drawHead(info, { usage, origin, queued, approvals }) {
  const title = byId("title");
  title.className = "";
  title.textContent = titleOf(info);
  document.title = `${titleOf(info)} · Treadle`;
  byId("about").replaceChildren(...facts({
    Status: mark(queued ? "queued" : approvals.length ? "asking" : info.status),
    Queue: queued ? `${queued.queue}, ${aheadInWords(queued.ahead)}` : null,
    Recorded: origin?.recording?.date, Assistant: info.agent, Model: info.model, User: info.user,
    Access: owner ? `read only, shared by ${owner}` : null, Began: timeAgo(info.opened_at * 1000), Used: usageInWords(usage),
    Inside: info.parent ? element("a", { href: runPath(info.parent, owner) }, info.parent) : null,
    Run: element("code", {}, info.run_id),
  }));
  byId("doings").hidden = Boolean(owner);
  if (owner) return;
  byId("doings").replaceChildren(...[
    isJob ? element("a", { class: "button quiet", href: `/jobs/${encodeURIComponent(runId)}` }, "Job") : null,
    isJob || info.parent ? null : element("a", { class: "button", href: bench }, "Continue the conversation"),
    element("a", { class: "button quiet", href: `/runs/${encodeURIComponent(runId)}/compare` }, "Compare"),
    me && !info.parent
      ? element("button", { type: "button", class: "quiet", id: "share", "aria-haspopup": "dialog", onclick: share }, "Share") : null,
    info.status === "open" && !isJob ? element("button", { type: "button", class: "quiet", onclick: cancel }, "Stop") : null,
    isJob || info.parent || ["open", "waiting"].includes(info.status) ? null
      : element("button", { type: "button", class: "quiet", onclick: remove }, "Delete"),
  ].filter((each) => each !== null));
}

async function share() {
  const { shareRun } = await import("./share-dialog.js");
  await shareRun(runId, me).catch(complain);
}

async function cancel() {
  if (!await confirmDialog("Stop this run? What it has done stays.", "Stop")) return;
  await ask(`${path}/cancel`, {}).then(load).catch(complain);
}

async function remove() {
  if (!await confirmDialog("Delete this run and everything that is kept of it? That can't be undone.", "Delete")) return;
  await ask(path, undefined, { method: "DELETE" }).then(() => location.assign("/runs"), complain);
}

/** @param {PendingCall[]} approvals */
function drawAsked(approvals) {
  const place = byId("asked"), open = approvals.map(({ call_id }) => call_id);
  for (const box of place.querySelectorAll("[data-call]")) if (!open.includes(box.getAttribute("data-call") ?? "")) box.remove();
  for (const asked of approvals) if (!place.querySelector(`[data-call="${CSS.escape(asked.call_id)}"]`)) place.append(boxOf(asked));
  place.hidden = place.childElementCount === 0;
}

/** @param {PendingCall} asked */
function boxOf(asked) {
  const box = boxFor(asked, async (said) => {
    await ask(`/api/runs/${encodeURIComponent(asked.run_id)}/approvals/${encodeURIComponent(asked.call_id)}`,
      { ...said, digest: asked.digest });
    box.settle(said);
    byId("main").focus();
    refreshShell();
    await load();
  }, { edits: true });
  box.node.dataset.call = asked.call_id;
  return box.node;
}

// forking it

/** @param {SubmitEvent} event */
async function forkRun(event) {
  event.preventDefault();
  byId("fork-said").textContent = "";
  try {
    const { run_id } = await ask(`${path}/fork`, { at: player.entries[player.at].position, ...Object.fromEntries(fieldsOf(fork)) });
    location.assign(`/?run=${encodeURIComponent(run_id)}`);
  } catch (error) {
    byId("fork-said").textContent = messageOf(error);
  }
}

async function drawModels() {
  const models = await ask("/api/models").catch(() => null);
  if (models) fillModels(byId("fork-model", HTMLSelectElement), models, "the same");
}

/** @param {Error} error */
function complain(error) {
  byId("title").className = "";
  if (!run) byId("title").textContent = "Run";
  byId("said").replaceChildren(element("p", { class: "notice bad" }, messageOf(error)));
}

fork.addEventListener("submit", forkRun);
byId("forking").hidden = Boolean(owner);
byId("forking").addEventListener("toggle", drawModels, { once: true });
const player = new Player(), stepView = new StepView(showEntry, owner);
const tree = new TraceTree(byId("steps"), loadNested, (step) => stepView.show(step));
const chooseView = makeTabs(byId("views"), viewChosen);
const playsByItself = location.hash === PLAYS && !matchMedia("(prefers-reduced-motion: reduce)").matches;
const user = owner ? null : await ask("/api/me").catch(() => null);
if (user && !user.local) me = user.name;
await load().catch(complain);
if (playsByItself && player.entries.length) player.play();

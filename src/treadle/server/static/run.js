// The page of a run: what it is, its journal step by step with the conversation as it was then, what waits, and forking it.

import { boxFor } from "./approval.js";
import { refreshShell } from "./shell.js";
import { inBrief, kindOf, Reading, titleOf, usageInWords } from "./journal.js";
import { fillModels } from "./models.js";
import { Replay } from "./replay.js";
import { facts, mark } from "./states.js";
import { sure } from "./sure.js";
import { ask, byId, element, fieldsOf, messageOf, query } from "./treadle.js";
import { ago } from "./words.js";

const PLAYS = "#play";  // in the address of what plays by itself
const PACE = 900;     // milliseconds an entry is shown for while it plays
const LOOK = 2000;    // milliseconds between two looks at a run that is under way
const LONGEST = 100_000;  // characters of an entry that are shown
const runId = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
const path = `/api/runs/${encodeURIComponent(runId)}`;
const bench = `/?run=${encodeURIComponent(runId)}`;
const isJob = runId.startsWith("job-");
const slider = byId("slider", HTMLInputElement), fork = byId("fork", HTMLFormElement);
const [first, back, next, last] = ["first", "back", "next", "last"].map((id) => byId(id, HTMLButtonElement));
/** @type {Entry[]} */
let entries = [];
/** @type {Replay | null} */
let replay = null;
/** @type {RunInfo | null} */
let run = null;
let at = 0, playing = 0;

async function load() {
  const said = await ask(path), hasMore = said.entries.length !== entries.length;
  const wanted = entries.length ? (isLast() ? Infinity : at) : placeInAddress() ?? Infinity;
  const info = run = /** @type {RunInfo} */ (said.run);
  drawHead(info, said);
  drawAsked(said.approvals);
  byId("player").hidden = false;
  if (hasMore) {
    entries = said.entries;
    replay = new Replay(entries);
    byId("then").replaceChildren(replay.node);
    drawEntries();
    go(wanted);
  }
  if (info.status === "open") setTimeout(() => load().catch(complain), LOOK);
}

function placeInAddress() {
  if (location.hash === PLAYS) return 0;
  const wanted = /^#entry-(\d+)$/.exec(location.hash);
  return wanted ? Number(wanted[1]) - 1 : null;
}

// what it is

/** @param {RunInfo} info @param {{ usage: Usage, origin?: { recording?: { date: string } } }} said */
function drawHead(info, { usage, origin }) {
  const title = byId("title");
  title.className = "";
  title.textContent = titleOf(info);
  document.title = `${titleOf(info)} · Treadle`;
  byId("about").replaceChildren(...facts({
    Status: mark(info.status), Recorded: origin?.recording?.date, Assistant: info.agent, Model: info.model, User: info.user,
    Began: ago(info.opened_at * 1000), Used: usageInWords(usage),
    Inside: info.parent ? element("a", { href: `/runs/${encodeURIComponent(info.parent)}` }, info.parent) : null,
    Run: element("code", {}, info.run_id),
  }));
  byId("doings").replaceChildren(...[
    isJob ? element("a", { class: "button quiet", href: `/jobs/${encodeURIComponent(runId)}` }, "Job") : null,
    isJob || info.parent ? null : element("a", { class: "button", href: bench }, "Continue in the workbench"),
    info.status === "open" && !isJob ? element("button", { type: "button", class: "quiet", onclick: cancel }, "Stop") : null,
    isJob || info.parent || ["open", "waiting"].includes(info.status) ? null
      : element("button", { type: "button", class: "quiet", onclick: remove }, "Delete"),
  ].filter((each) => each !== null));
}

async function cancel() {
  if (!await sure("Stop this run? What it has done stays.", "Stop")) return;
  await ask(`${path}/cancel`, {}).then(load).catch(complain);
}

async function remove() {
  if (!await sure("Delete this run and everything that is kept of it? That can't be undone.", "Delete")) return;
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

// the journal

function drawEntries() {
  const reading = new Reading();
  byId("entries").replaceChildren(...entries.map((entry, index) => {
    reading.eventsOf(entry);
    return element("li", {}, element("button", {
      type: "button", class: "bare step-to", "data-kind": entry.kind, onclick: () => { pause(); go(index); },
    }, element("span", { class: "kind" }, kindOf(entry)), element("span", { class: "brief" }, inBrief(entry, reading))));
  }));
  slider.max = `${entries.length - 1}`;
}

/** Show an entry, and everything as it was then. @param {number} index */
function go(index) {
  at = Math.max(0, Math.min(index, entries.length - 1));
  if (!entries.length) return;
  replay?.show(at + 1);
  drawPlace();
  drawEntry(entries[at]);
  byId("then").scrollTop = byId("then").scrollHeight;
}

function drawPlace() {
  const list = byId("entries"), words = `Entry ${at + 1} of ${entries.length}`;
  slider.value = `${at}`;
  slider.setAttribute("aria-valuetext", `${words}: ${kindOf(entries[at])}`);
  byId("place").textContent = words;
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const current = query(list, `li:nth-child(${at + 1}) > button`);
  current.setAttribute("aria-current", "step");
  list.scrollTop = current.offsetTop - list.clientHeight / 2;
  for (const button of [first, back]) button.disabled = at === 0;
  for (const button of [next, last]) button.disabled = isLast();
  history.replaceState(null, "", `#entry-${at + 1}`);
}

/** @param {Entry} entry */
function drawEntry(entry) {
  const { at: moment, ...rest } = entry, whole = JSON.stringify(rest, null, 2);
  byId("entry-title").textContent = `${at + 1}. ${kindOf(entry)}`;
  byId("entry").replaceChildren(
    moment ? element("p", { class: "small soft" }, new Date(moment * 1000).toLocaleString("en"), since(moment)) : "",
    element("pre", { tabindex: "0", "aria-label": "The entry, as it is kept" },
      whole.length > LONGEST ? `${whole.slice(0, LONGEST)}\n… ${whole.length - LONGEST} more characters` : whole));
}

/** @param {number} moment */
function since(moment) {
  const first = entries.find((each) => each.at)?.at ?? moment;
  return ` · ${(moment - first).toFixed(2)} s after the first`;
}

// playing it

function isLast() {
  return at >= entries.length - 1;
}

function play() {
  if (playing) return pause();
  if (isLast()) go(0);
  playing = setInterval(() => (isLast() ? pause() : go(at + 1)), PACE);
  byId("play").textContent = "Pause";
}

function pause() {
  clearInterval(playing);
  playing = 0;
  byId("play").textContent = "Play";
}

/** @type {Record<string, () => number>} */
const KEYS = { ArrowRight: () => at + 1, ArrowLeft: () => at - 1, Home: () => 0, End: () => entries.length - 1 };

/** @param {KeyboardEvent} event */
function typed(event) {
  const target = /** @type {Element} */ (event.target);
  if (event.altKey || event.ctrlKey || event.metaKey || target.closest("input, textarea, select, dialog, pre, #then")) return;
  if (event.key === " " && target === document.body) play();
  else if (KEYS[event.key]) step(KEYS[event.key]());
  else return;
  event.preventDefault();
}

/** @param {number} index */
function step(index) {
  pause();
  go(index);
}

// forking it

/** @param {SubmitEvent} event */
async function forkRun(event) {
  event.preventDefault();
  byId("fork-said").textContent = "";
  try {
    const { run_id } = await ask(`${path}/fork`, { at: entries[at].position, ...Object.fromEntries(fieldsOf(fork)) });
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

first.addEventListener("click", () => step(0));
back.addEventListener("click", () => step(at - 1));
next.addEventListener("click", () => step(at + 1));
last.addEventListener("click", () => step(entries.length - 1));
byId("play").addEventListener("click", play);
slider.addEventListener("input", () => step(Number(slider.value)));
fork.addEventListener("submit", forkRun);
byId("forking").addEventListener("toggle", drawModels, { once: true });
document.addEventListener("keydown", typed);
const playsByItself = location.hash === PLAYS && !matchMedia("(prefers-reduced-motion: reduce)").matches;
await load().catch(complain);
if (playsByItself && entries.length) play();

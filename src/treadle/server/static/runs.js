// The page of runs: searched, filtered, older ones on demand; what is under way is looked at again. What was picked is in the
// address. With `?shared=true` these are the runs that other users share with one.

import { pollWhileVisible } from "./polling.js";
import { titleOf } from "./journal.js";
import { matchingRuns, runPath } from "./shared-runs.js";
import { stateName } from "./state-names.js";
import { mark } from "./states.js";
import { ask, byId, element, fieldsOf, messageOf, query } from "./treadle.js";
import { pluralize } from "./format.js";
import { timeAgo } from "./time-ago.js";

const OFTEN = 4000;    // milliseconds between two looks
const PAUSE = 250;     // milliseconds without a key after which what was typed is searched for
const AT_ONCE = "30";
const STATUSES = ["open", "waiting", "answered", "limit", "failed", "cancelled"];
const form = byId("picking", HTMLFormElement), list = byId("runs"), said = byId("said"), older = byId("older", HTMLButtonElement);
const search = query(form, "[name=search]", HTMLInputElement);
const [status, assistant, rating] = ["status", "assistant", "rating"].map((name) => query(form, `[name=${name}]`, HTMLSelectElement));
/** @typedef {RunInfo & { owner?: string }} ListedRun */
/** @type {Map<string, { info: ListedRun, node: HTMLElement }>} */
const rows = new Map();  // by the address of the run's page
const isShared = new URLSearchParams(location.search).has("shared");
let asking = new AbortController(), typing = 0, following = "";

async function begin() {
  const wanted = new URLSearchParams(location.search);
  /** @type {AssistantInfo[]} */
  const assistants = await ask("/api/assistants").catch(() => []);
  status.append(...STATUSES.map((value) => element("option", { value }, stateName(value))));
  assistant.append(...assistants.map(({ name, title }) => element("option", { value: name }, title)));
  for (const field of [search, status, assistant, rating]) field.value = wanted.get(field.name) ?? "";
  for (const field of [status, assistant, rating]) if (field.selectedIndex < 0) field.value = "";
  drawTabs();
  await show();
}

/** Runs are shared on servers with users. */
async function drawTabs() {
  const shared = byId("shared");
  if (isShared) {
    shared.setAttribute("aria-current", "true");
    query(document, ".tabs a").removeAttribute("aria-current");
  }
  const me = isShared ? null : await ask("/api/me").catch(() => null);
  rating.closest("div")?.toggleAttribute("hidden", isShared);  // other users' feedback isn't shared
  shared.closest("li")?.toggleAttribute("hidden", !isShared && (!me || me.local));
}

/** A page of the list. @param {AbortSignal} signal @param {Record<string, string>} [more] @returns {Promise<RunPage>} */
async function load(signal, more = {}) {
  if (!isShared) return ask(`/api/runs?${picked({ limit: AT_ONCE, ...more })}`, undefined, { signal });
  const shared = await ask("/api/shared", undefined, { signal });
  const runs = matchingRuns(shared, Object.fromEntries(picked())).map(({ owner, run }) => ({ ...run, owner }));
  return { runs, more: false, next: "" };
}

/** @param {Record<string, string>} [more] */
function picked(more = {}) {
  return new URLSearchParams([...fieldsOf(form), ...Object.entries(more)]);
}

/** What is asked for, from the newest on. */
async function show() {
  asking.abort();
  asking = new AbortController();
  const address = picked(isShared ? { shared: "true" } : {});
  history.replaceState(null, "", `${location.pathname}${address.size ? `?${address}` : ""}`);
  await careful(async (signal) => {
    const { runs, more, next } = await load(signal);
    following = next;
    rows.clear();
    put(runs);
    list.replaceChildren(...[...rows.values()].map(({ node }) => node));
    older.hidden = !more;
    tell();
  });
}

async function showOlder() {
  older.disabled = true;
  await careful(async (signal) => {
    const { runs, more, next } = await load(signal, { before: following });
    following = next;
    const fresh = runs.filter((info) => !rows.has(pathOf(info)));
    put(fresh);
    list.append(...nodesOf(fresh));
    nodesOf(fresh)[0]?.querySelector("a")?.focus();
    older.hidden = !more;
    tell();
  });
  older.disabled = false;
}

/** Whatever is new or has changed, without an announcement. */
async function lookAgain() {
  const { signal } = asking;
  const news = await load(signal).catch(() => null);
  if (!news || signal.aborted) return;
  const fresh = news.runs.filter((info) => !rows.has(pathOf(info)));
  put(news.runs);
  list.prepend(...nodesOf(fresh));
  if (fresh.length) tell();
}

/** @param {ListedRun} info */
function pathOf({ run_id, owner }) {
  return runPath(run_id, owner);
}

/** @param {ListedRun[]} runs */
function nodesOf(runs) {
  return runs.flatMap((info) => rows.get(pathOf(info))?.node ?? []);
}

/** @param {ListedRun[]} runs */
function put(runs) {
  for (const info of runs) {
    const row = rows.get(pathOf(info));
    if (row && row.info.status === info.status && row.info.entries === info.entries) continue;
    const node = rowOf(info);
    if (row) row.node.replaceChildren(...node.childNodes);
    rows.set(pathOf(info), { info, node: row?.node ?? node });
  }
}

/** @param {ListedRun} info */
function rowOf({ run_id, agent, model, user, title, status, updated_at, entries, owner }) {
  return element("li", { class: "row-line" },
    element("a", { class: "title", href: runPath(run_id, owner) }, titleOf({ title, run_id })), mark(status),
    element("p", { class: "small soft facts-line" },
      [agent, model, owner ? `shared by ${owner}` : user, pluralize(entries, "entry", "entries")].filter(Boolean)
        .map((each) => element("span", {}, each)),
      timeAgo(updated_at * 1000)));
}

function tell() {
  const amount = rows.size;
  list.hidden = amount === 0;
  said.className = "soft small";
  said.textContent = amount
    ? `${pluralize(amount, "run")}${older.hidden ? "" : ", the newest"}.`
    : picked().size ? "No matching runs." : isShared ? "No other user shares a run with you." : "No runs yet.";
}

/** @param {(signal: AbortSignal) => Promise<void>} act */
async function careful(act) {
  const { signal } = asking;
  try {
    await act(signal);
  } catch (error) {
    if (signal.aborted) return;
    said.className = "notice bad";
    said.textContent = messageOf(error);
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
form.addEventListener("change", show);
search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(show, PAUSE);
});
older.addEventListener("click", showOlder);
await begin();
pollWhileVisible(lookAgain, OFTEN);

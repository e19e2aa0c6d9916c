// The page of runs: searched, filtered, older ones on demand; what is under way is looked at again. What was picked is in the
// address.

import { regularly } from "./regularly.js";
import { titleOf } from "./journal.js";
import { mark } from "./states.js";
import { ask, byId, element, fieldsOf, messageOf, query } from "./treadle.js";
import { ago, counted } from "./words.js";

const OFTEN = 4000;    // milliseconds between two looks
const PAUSE = 250;     // milliseconds without a key after which what was typed is searched for
const AT_ONCE = "30";
const form = byId("picking", HTMLFormElement), list = byId("runs"), said = byId("said"), older = byId("older", HTMLButtonElement);
const search = query(form, "[name=search]", HTMLInputElement);
const [status, assistant] = ["status", "assistant"].map((name) => query(form, `[name=${name}]`, HTMLSelectElement));
/** @type {Map<string, { info: RunInfo, node: HTMLElement }>} */
const rows = new Map();  // by run: { info, node }
let asking = new AbortController(), typing = 0, following = "";

async function begin() {
  const wanted = new URLSearchParams(location.search);
  /** @type {AssistantInfo[]} */
  const assistants = await ask("/api/assistants").catch(() => []);
  assistant.append(...assistants.map(({ name, title }) => element("option", { value: name }, title)));
  for (const field of [search, status, assistant]) field.value = wanted.get(field.name) ?? "";
  for (const field of [status, assistant]) if (field.selectedIndex < 0) field.value = "";
  await show();
}

/** @param {Record<string, string>} [more] */
function picked(more = {}) {
  return new URLSearchParams([...fieldsOf(form), ...Object.entries(more)]);
}

/** What is asked for, from the newest on. */
async function show() {
  asking.abort();
  asking = new AbortController();
  history.replaceState(null, "", `${location.pathname}${picked().size ? `?${picked()}` : ""}`);
  await careful(async (signal) => {
    /** @type {RunPage} */
    const { runs, more, next } = await ask(`/api/runs?${picked({ limit: AT_ONCE })}`, undefined, { signal });
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
    /** @type {RunPage} */
    const { runs, more, next } = await ask(`/api/runs?${picked({ limit: AT_ONCE, before: following })}`, undefined, { signal });
    following = next;
    const fresh = runs.filter(({ run_id }) => !rows.has(run_id));
    put(fresh);
    list.append(...nodesOf(fresh));
    rows.get(fresh[0]?.run_id)?.node.querySelector("a")?.focus();
    older.hidden = !more;
    tell();
  });
  older.disabled = false;
}

/** Whatever is new or has changed, without an announcement. */
async function lookAgain() {
  const { signal } = asking;
  /** @type {RunPage | null} */
  const news = await ask(`/api/runs?${picked({ limit: AT_ONCE })}`, undefined, { signal }).catch(() => null);
  if (!news || signal.aborted) return;
  const fresh = news.runs.filter(({ run_id }) => !rows.has(run_id));
  put(news.runs);
  list.prepend(...nodesOf(fresh));
  if (fresh.length) tell();
}

/** @param {RunInfo[]} runs */
function nodesOf(runs) {
  return runs.flatMap(({ run_id }) => rows.get(run_id)?.node ?? []);
}

/** @param {RunInfo[]} runs */
function put(runs) {
  for (const info of runs) {
    const row = rows.get(info.run_id);
    if (row && row.info.status === info.status && row.info.entries === info.entries) continue;
    const node = rowOf(info);
    if (row) row.node.replaceChildren(...node.childNodes);
    rows.set(info.run_id, { info, node: row?.node ?? node });
  }
}

/** @param {RunInfo} runInfo */
function rowOf({ run_id, agent, model, user, title, status, updated_at, entries }) {
  return element("li", { class: "row-line" },
    element("a", { class: "title", href: `/runs/${encodeURIComponent(run_id)}` }, titleOf({ title, run_id })), mark(status),
    element("p", { class: "small soft facts-line" },
      [agent, model, user, counted(entries, "entry", "entries")].filter(Boolean).map((each) => element("span", {}, each)),
      ago(updated_at * 1000)));
}

function tell() {
  const amount = rows.size;
  list.hidden = amount === 0;
  said.className = "soft small";
  said.textContent = amount
    ? `${counted(amount, "run")}${older.hidden ? "" : ", the newest"}.`
    : picked().size ? "No matching runs." : "No runs yet.";
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
regularly(lookAgain, OFTEN);

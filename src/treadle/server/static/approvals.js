// The page of pending approvals of all runs: each with its effect, answered in place.

import { boxFor, patternWords } from "./approval.js";
import { formatDuration } from "./format.js";
import { callTitle } from "./call-title.js";
import { pollWhileVisible } from "./polling.js";
import { refreshShell } from "./shell.js";
import { titleOf } from "./journal.js";
import { ask, byId, element, fill, messageOf } from "./treadle.js";
import { visible } from "./visible.js";
import { pluralize } from "./format.js";
import { timeAgo } from "./time-ago.js";

const OFTEN = 5000;  // milliseconds between two looks
/** @type {Map<string, DecisionBox>} */
const boxes = new Map();  // by run and call
/** @type {Map<string, { asked: PendingCall, select: HTMLInputElement, wasShown: boolean }>} */
const choices = new Map();  // those that can be decided together, by run and call
const seen = new IntersectionObserver((changes) => {
  for (const { isIntersecting, target } of changes) {
    const choice = isIntersecting ? choices.get(/** @type {HTMLElement} */ (target).dataset.key ?? "") : null;
    if (choice) choice.wasShown = true;
  }
});
/** @type {Record<PastDecision["outcome"], [string, string]>} */
const OUTCOMES = {
  approved: ["approved", "good"], denied: ["denied", "bad"], happened: ["settled: it happened", "good"],
  not_happened: ["settled: it did not happen", "warn"], again: ["settled: try again", "warn"],
};
let next = 0;  // where older decisions begin
let isExtended = false;  // whether older decisions are shown

async function show() {
  /** @type {PendingCall[]} */
  let waiting;
  try {
    waiting = (await ask("/api/approvals")).approvals;
  } catch (error) {
    tell(messageOf(error), "notice bad");
    return;
  }
  const keys = waiting.map(keyOf);
  for (const [key, box] of boxes) if (!keys.includes(key)) forget(key, box);
  for (const asked of waiting) if (!boxes.has(keyOf(asked))) add(asked);
  const words = `${pluralize(waiting.length, "call")} ${waiting.length === 1 ? "needs" : "need"} your approval.`;
  tell(waiting.length ? words : "Nothing needs your approval.", "soft");
}

/** @param {PendingCall} asked */
function add(asked) {
  const run = element("a", { href: `/runs/${encodeURIComponent(asked.root)}` }, titleOf({ ...asked, run_id: asked.root }));
  const from = element("p", { class: "small soft facts-line" }, element("span", {}, "In ", run),
    element("span", {}, asked.assistant), element("span", {}, "asked ", timeAgo(asked.asked_at * 1000)));
  const box = boxFor(asked, async (said) => {
    await ask(`/api/runs/${encodeURIComponent(asked.run_id)}/approvals/${encodeURIComponent(asked.call_id)}`,
      { ...said, digest: asked.digest });
    boxes.delete(keyOf(asked));
    choices.delete(keyOf(asked));
    box.settle(said);
    drawSeveral();
    byId("main").focus();
    refreshShell();
    await Promise.all([show(), showGrants(), showHistory()]);
  }, { edits: true, above: [from] });
  boxes.set(keyOf(asked), box);
  if (!asked.unclear && asked.effect && asked.effect !== "destroy") box.node.append(selector(asked));
  byId("approvals").append(box.node);
  drawSeveral();
}

// several at once

/**
 * The check box at the end of a call's box, below its preview: what it would do was shown when it is reached. A call whose preview is
 * cut has to be expanded first, and one that can't be undone, or whose values have
 * an untrusted origin, is decided by itself.
 * @param {PendingCall} asked
 */
function selector(asked) {
  const select = element("input", { type: "checkbox", onchange: () => {
    if (select.checked && isCut(select)) {
      select.checked = false;
      byId("several-said").textContent = "Show everything that this call would do before you select it.";
    }
    drawSeveral();
  } });
  const label = element("label", { class: "select", "data-key": keyOf(asked) }, select, "Decide together with others");
  choices.set(keyOf(asked), { asked, select, wasShown: false });
  seen.observe(label);
  return label;
}

/** Whether a part of what a call would do isn't shown. @param {HTMLElement} select */
function isCut(select) {
  return select.closest(".approval")?.querySelector(".cut > .warn") !== null;
}

function drawSeveral() {
  const chosen = selected(), open = [...choices.keys()].filter((key) => boxes.has(key));
  byId("several").hidden = open.length < 2;
  byId("selected").textContent = `${chosen.length} of ${pluralize(open.length, "call")} selected`;
  for (const id of ["approve-selected", "deny-selected"]) byId(id, HTMLButtonElement).disabled = chosen.length === 0;
  if (chosen.length) byId("several-said").textContent = "";
}

/** @returns {PendingCall[]} */
function selected() {
  return [...choices].flatMap(([key, { asked, select }]) => (select.checked && boxes.has(key) ? [asked] : []));
}

function selectAll() {
  for (const { select, wasShown } of choices.values()) select.checked = wasShown && !isCut(select);
  drawSeveral();
}

/** Decide the selected calls, those of each run together. @param {boolean} approved */
async function decideSeveral(approved) {
  const calls = selected(), runs = [...new Set(calls.map(({ run_id }) => run_id))], problems = [];
  const reason = approved ? "" : byId("why-selected", HTMLInputElement).value.trim();
  for (const id of ["approve-selected", "deny-selected"]) byId(id, HTMLButtonElement).disabled = true;
  for (const run of runs) {
    const mine = calls.filter(({ run_id }) => run_id === run), path = `/api/runs/${encodeURIComponent(run)}/approvals`;
    const given = mine.map(({ call_id, digest }) => ({ call_id, digest }));
    try {
      if (mine.length > 1) await ask(path, { approved, reason, calls: given });
      else await ask(`${path}/${encodeURIComponent(mine[0].call_id)}`, { approved, reason, digest: mine[0].digest });
      for (const each of mine) {
        boxes.get(keyOf(each))?.settle({ approved, reason });
        boxes.delete(keyOf(each));
        choices.delete(keyOf(each));
      }
    } catch (error) {
      problems.push(messageOf(error));
    }
  }
  byId("several-said").textContent = problems.join(" ");
  byId("main").focus();
  refreshShell();
  await Promise.all([show(), showHistory()]);
}

// past decisions

/** @param {number} [before] */
async function showHistory(before = 0) {
  /** @type {{ decisions: PastDecision[], next: number }} */
  const page = await ask(`/api/approvals/history${before ? `?before=${before}` : ""}`);
  const rows = page.decisions.map(decisionRow);
  if (before) byId("decisions").append(...rows);
  else fill(byId("decisions"), rows);
  isExtended = before > 0;
  if (before) rows[0]?.querySelector("a")?.focus();
  next = page.next;
  byId("older").hidden = !next;
  byId("history").hidden = byId("decisions").childElementCount === 0;
}

/** @param {PastDecision} decision */
function decisionRow(decision) {
  const { root, outcome, by, at, waited, reason, scope, edited, name, assistant } = decision, [words, kind] = OUTCOMES[outcome];
  const more = scope === "once" ? "" : scope === "always" ? ", and calls like it always" : ", and calls like it in this conversation";
  return element("li", {}, element("div", { class: "row-line" },
    element("a", { class: "title", href: `/runs/${encodeURIComponent(root)}` }, visible(callTitle(decision))),
    element("span", { class: "mark", "data-kind": kind }, words),
    element("p", { class: "small soft facts-line" },
      element("span", {}, `by ${by || "you"}${more}`), element("span", {}, timeAgo(at * 1000)),
      element("span", {}, `waited ${formatDuration(waited)}`), element("span", {}, element("code", {}, visible(name)), ` in ${assistant}`),
      edited ? element("span", {}, "arguments changed") : null, reason ? element("span", {}, `reason: ${visible(reason)}`) : null)));
}

/** Another user has decided, or the run is over. @param {string} key @param {DecisionBox} box */
function forget(key, box) {
  boxes.delete(key);
  choices.delete(key);
  box.node.remove();
  drawSeveral();
}

/** @param {string} words @param {string} kind */
function tell(words, kind) {
  const said = byId("said");
  said.className = kind;
  if (said.textContent !== words) said.textContent = words;
}

/** What is allowed for always, each with a button that revokes it. */
async function showGrants() {
  /** @type {Grant[]} */
  const grants = (await ask("/api/permissions")).grants;
  byId("permissions").hidden = !grants.length;
  byId("grants").replaceChildren(...grants.map((grant) => element("li", {},
    element("code", {}, visible(grant.tool)), " with ", patternWords(grant.where ?? {}),
    element("span", { class: "small soft" },
      ` in ${grant.agent}, allowed by ${grant.by ?? "a user"} `, timeAgo((grant.at ?? 0) * 1000)), " ",
    element("button", { type: "button", class: "quiet revoke", onclick: () => revoke(grant) }, "Revoke"))));
}

/** @param {Grant} grant */
async function revoke({ id }) {
  try {
    await ask(`/api/permissions/${encodeURIComponent(id)}`, undefined, { method: "DELETE" });
  } catch (error) {
    tell(messageOf(error), "notice bad");
  }
  await showGrants();
  byId("main").focus();
}

/** @param {PendingCall} pendingCall */
function keyOf({ run_id, call_id }) {
  return `${run_id}/${call_id}`;
}

byId("select-all").addEventListener("click", selectAll);
byId("approve-selected").addEventListener("click", () => decideSeveral(true));
byId("deny-selected").addEventListener("click", () => decideSeveral(false));
byId("older").addEventListener("click", () => showHistory(next));
await Promise.all([show(), showGrants(), showHistory()]);
pollWhileVisible(() => Promise.all([show(), isExtended ? null : showHistory()]), OFTEN);

// The page of pending approvals of all runs: each with its effect, answered in place.

import { boxFor, patternWords } from "./approval.js";
import { regularly } from "./regularly.js";
import { refreshShell } from "./shell.js";
import { titleOf } from "./journal.js";
import { ask, byId, element, messageOf } from "./treadle.js";
import { visible } from "./visible.js";
import { ago, counted } from "./words.js";

const OFTEN = 5000;  // milliseconds between two looks
/** @type {Map<string, DecisionBox>} */
const boxes = new Map();  // by run and call

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
  const words = `${counted(waiting.length, "call")} ${waiting.length === 1 ? "needs" : "need"} your approval.`;
  tell(waiting.length ? words : "Nothing needs your approval.", "soft");
}

/** @param {PendingCall} asked */
function add(asked) {
  const run = element("a", { href: `/runs/${encodeURIComponent(asked.root)}` }, titleOf({ ...asked, run_id: asked.root }));
  const from = element("p", { class: "small soft facts-line" }, element("span", {}, "In ", run),
    element("span", {}, asked.assistant), element("span", {}, "asked ", ago(asked.asked_at * 1000)));
  const box = boxFor(asked, async (said) => {
    await ask(`/api/runs/${encodeURIComponent(asked.run_id)}/approvals/${encodeURIComponent(asked.call_id)}`,
      { ...said, digest: asked.digest });
    boxes.delete(keyOf(asked));
    box.settle(said);
    byId("main").focus();
    refreshShell();
    await Promise.all([show(), showGrants()]);
  }, { edits: true, above: [from] });
  boxes.set(keyOf(asked), box);
  byId("approvals").append(box.node);
}

/** Another user has decided, or the run is over. @param {string} key @param {DecisionBox} box */
function forget(key, box) {
  boxes.delete(key);
  box.node.remove();
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
    element("span", { class: "small soft" }, ` in ${grant.agent}, allowed by ${grant.by ?? "a user"} `, ago((grant.at ?? 0) * 1000)), " ",
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

await Promise.all([show(), showGrants()]);
regularly(show, OFTEN);

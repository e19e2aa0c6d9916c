// The page of what waits for somebody, over all runs: each with its effect, to be answered right there.

import { boxFor } from "./approval.js";
import { countApprovals, regularly } from "./bar.js";
import { titleOf } from "./journal.js";
import { ask, element } from "./treadle.js";
import { ago, counted } from "./words.js";

const OFTEN = 5000;  // milliseconds between two looks
const byId = (id) => document.getElementById(id);
const boxes = new Map();  // by run and call

async function show() {
  let waiting;
  try {
    waiting = (await ask("/api/approvals")).approvals;
  } catch (error) {
    tell(error.message, "notice bad");
    return;
  }
  const keys = waiting.map(keyOf);
  for (const [key, box] of boxes) if (!keys.includes(key)) forget(key, box);
  for (const asked of waiting) if (!boxes.has(keyOf(asked))) add(asked);
  const words = `${counted(waiting.length, "call")} ${waiting.length === 1 ? "waits" : "wait"} for you.`;
  tell(waiting.length ? words : "Nothing waits for you.", "soft");
}

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
    countApprovals();
    await show();
  }, { edits: true, above: [from] });
  boxes.set(keyOf(asked), box);
  byId("approvals").append(box.node);
}

/** Somebody else has decided, or the run is over. */
function forget(key, box) {
  boxes.delete(key);
  box.node.remove();
}

function tell(words, kind) {
  const said = byId("said");
  said.className = kind;
  if (said.textContent !== words) said.textContent = words;
}

function keyOf({ run_id, call_id }) {
  return `${run_id}/${call_id}`;
}

await show();
regularly(show, OFTEN);

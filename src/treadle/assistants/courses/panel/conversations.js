// Earlier conversations: the last few, each of which can be shown again or removed.

import { sure } from "/static/sure.js";
import { ask, element, fill } from "/static/treadle.js";
import { ago } from "/static/words.js";

const FEW = 6;
const byId = (id) => document.getElementById(id);
const list = byId("conversations");

/** Have it work. `open(id)` shows a conversation, `removed(id)` hears that one is gone. */
export function conversations({ open, removed }) {
  let draws = 0, current = null;

  const draw = async (shown) => {
    const mine = ++draws;
    current = shown;
    const sessions = (await ask("/api/courses/sessions").catch(() => null))?.sessions;
    if (mine !== draws || !sessions) return;
    const rows = sessions.map((each) => row(each, each.id === current, { pick, remove: () => remove(each) }));
    fill(list, [...rows.slice(0, FEW), ...folded(rows.slice(FEW))]);
    byId("earlier").hidden = !sessions.length;
  };

  const pick = (id) => careful(() => open(id));

  const remove = async ({ id, question }) => {
    if (!await sure(`Remove “${shortened(question)}”? This conversation is deleted for good.`, "Remove it")) return;
    await careful(async () => {
      await ask(`/api/courses/sessions/${encodeURIComponent(id)}`, undefined, { method: "DELETE" });
      removed(id);
      await draw(id === current ? null : current);
      byId("earlier-title").focus();
    });
  };

  return { draw, tell };
}

function row({ id, question, last }, isCurrent, { pick, remove }) {
  const words = shortened(question);
  return element("li", { "data-id": id },
    element("button", { type: "button", class: "pick", "aria-current": isCurrent ? "true" : null, onclick: () => pick(id) },
      element("span", { class: "name" }, words), element("span", { class: "small soft" }, ago(new Date(last * 1000)))),
    element("button", { type: "button", class: "bare", "aria-label": `Remove ${words}`, onclick: remove }, "Remove"));
}

function folded(rows) {
  if (!rows.length) return [];
  return [element("li", {}, element("details", { class: "rest" },
    element("summary", { class: "small soft" }, `${rows.length} before that`), element("ul", {}, rows)))];
}

async function careful(act) {
  tell("");
  try {
    await act();
  } catch (error) {
    tell(error.message);
  }
}

/** Say what went wrong. */
function tell(words) {
  byId("earlier-said").textContent = words;
  if (words) byId("earlier").hidden = false;
}

function shortened(words) {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

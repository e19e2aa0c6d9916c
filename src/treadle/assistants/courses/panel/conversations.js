// Earlier conversations: the last few, each of which can be shown again or removed.

import { confirmDialog } from "/static/confirm-dialog.js";
import { ask, byId, element, fill, messageOf } from "/static/treadle.js";
import { timeAgo } from "/static/time-ago.js";

const FEW = 6;
const list = byId("conversations");

/** @typedef {{ id: string, question: string, last: number }} Conversation */

/**
 * Have it work. `open(id)` shows a conversation, `removed(id)` hears that one is gone.
 * @param {{ open: (id: string) => Promise<void>, removed: (id: string) => void }} given
 */
export function conversations({ open, removed }) {
  /** @type {string | null} */
  let current = null;
  let draws = 0;

  /** @param {string | null} shown */
  const draw = async (shown) => {
    const mine = ++draws;
    current = shown;
    /** @type {Conversation[] | undefined} */
    const sessions = (await ask("/api/courses/sessions").catch(() => null))?.sessions;
    if (mine !== draws || !sessions) return;
    const rows = sessions.map((each) => row(each, each.id === current, { pick, remove: () => remove(each) }));
    fill(list, [...rows.slice(0, FEW), ...folded(rows.slice(FEW))]);
    byId("earlier").hidden = !sessions.length;
  };

  /** @param {string} id */
  const pick = (id) => careful(() => open(id));

  /** @param {Conversation} conversation */
  const remove = async ({ id, question }) => {
    if (!await confirmDialog(`Remove “${shortened(question)}”? This conversation is deleted for good.`, "Remove it")) return;
    await careful(async () => {
      await ask(`/api/courses/sessions/${encodeURIComponent(id)}`, undefined, { method: "DELETE" });
      removed(id);
      await draw(id === current ? null : current);
      byId("earlier-title").focus();
    });
  };

  return { draw, tell };
}

/**
 * @param {Conversation} conversation @param {boolean} isCurrent @param {{ pick: (id: string) => void, remove: () => void }} given
 */
function row({ id, question, last }, isCurrent, { pick, remove }) {
  const words = shortened(question);
  return element("li", { "data-id": id },
    element("button", { type: "button", class: "pick", "aria-current": isCurrent ? "true" : null, onclick: () => pick(id) },
      element("span", { class: "name" }, words), element("span", { class: "small soft" }, timeAgo(new Date(last * 1000)))),
    element("button", { type: "button", class: "bare", "aria-label": `Remove ${words}`, onclick: remove }, "Remove"));
}

/** @param {HTMLElement[]} rows */
function folded(rows) {
  if (!rows.length) return [];
  return [element("li", {}, element("details", { class: "rest" },
    element("summary", { class: "small soft" }, `${rows.length} before that`), element("ul", {}, rows)))];
}

/** @param {() => Promise<void>} act */
async function careful(act) {
  tell("");
  try {
    await act();
  } catch (error) {
    tell(messageOf(error));
  }
}

/** Say what went wrong. @param {string} words */
function tell(words) {
  byId("earlier-said").textContent = words;
  if (words) byId("earlier").hidden = false;
}

/** @param {string} words */
function shortened(words) {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

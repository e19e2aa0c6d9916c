// What is at the top of each of the server's own pages: where one can go, what waits, and who one is. The page's HTML has the
// places; this fills them.

import "./switch.js";
import { ask, byId, element, query } from "./treadle.js";

const OFTEN = 20_000;  // milliseconds between two looks at what waits

const panels = byId("panels", HTMLDetailsElement);

/** Load the pending approvals again; call it where they have changed. */
export async function countApprovals() {
  const { approvals } = await ask("/api/approvals").catch(() => ({ approvals: [] })), amount = approvals.length;
  byId("waiting").hidden = amount === 0;
  byId("waiting").replaceChildren(`${amount}`, element("span", { class: "unseen" }, " waiting"));
}

/** Do something now and then, while the page is looked at. @param {() => unknown} act @param {number} pause */
export function regularly(act, pause) {
  setInterval(() => document.visibilityState === "visible" && act(), pause);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && act());
}

async function drawPerson() {
  const me = await ask("/api/me").catch(() => null);
  if (!me || me.local) return;
  byId("who").replaceChildren(element("strong", {}, me.name), me.role === "user" ? "" : `, ${me.role}`);
  byId("person").hidden = false;
}

async function drawPanels() {
  /** @type {AssistantInfo[]} */
  const assistants = (await ask("/api/assistants").catch(() => [])).filter((/** @type {AssistantInfo} */ { panel }) => panel);
  byId("panels-list").replaceChildren(...assistants.map(({ panel, title }) =>
    element("li", {}, element("a", { href: panel }, title))));
  panels.hidden = assistants.length === 0;
}

// what can be folded

/** @param {boolean} isOpen */
function fold(isOpen) {
  byId("menu").setAttribute("aria-expanded", `${isOpen}`);
}

/** @param {MouseEvent} mouseEvent */
function closeOutside({ target }) {
  if (!panels.contains(/** @type {Node} */ (target))) panels.open = false;
}

/** @param {KeyboardEvent} keyboardEvent */
function escape({ key }) {
  if (key !== "Escape") return;
  if (panels.open) {
    panels.open = false;
    query(panels, "summary").focus();
  } else if (byId("menu").getAttribute("aria-expanded") === "true") {
    fold(false);
    byId("menu").focus();
  }
}

byId("menu").addEventListener("click", () => fold(byId("menu").getAttribute("aria-expanded") !== "true"));
document.addEventListener("click", closeOutside);
document.addEventListener("keydown", escape);
drawPerson();
drawPanels();
countApprovals();
regularly(countApprovals, OFTEN);

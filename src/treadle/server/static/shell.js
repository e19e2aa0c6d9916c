// What is around every page: a sidebar with where one can go, one's own conversations, what needs approval, and who one is. On a
// phone it is a sheet behind a button in the bar. A page includes shell.css and this, and has a `.bar` and a `main`.

import { assistantIcon, icon } from "./icons.js";
import { ACTIVITY, isAt, pathTo, SETTINGS } from "./navigation.js";
import { recent } from "./recent.js";
import { pollWhileVisible } from "./polling.js";
import { themeButton } from "./theme-button.js";
import { ask, element, query } from "./treadle.js";

const OFTEN = 20_000;  // milliseconds between two looks at what has changed
const SOON = 250;  // milliseconds after which a change on the page is looked at
const KEY = "treadle-sidebar";
const NARROW = matchMedia("(max-width: 56rem)");
const root = document.documentElement, main = query(document, "main"), bar = query(document, ".bar");
/** @type {AssistantInfo[]} */
let assistants = [];
let soon = 0;
/** @type {[import("./navigation.js").NavigationItem, HTMLAnchorElement][]} */
const links = [];

const badge = element("span", { class: "side-count", id: "waiting", hidden: true });
const offered = element("ul", { class: "side-list" });
const person = element("form", { class: "side-person", method: "post", action: "/logout", hidden: true });
const conversations = recent(() => assistants);
const collapse = element("button", { type: "button", class: "side-icon", id: "side-collapse", "aria-controls": "sidebar", onclick: fold },
  icon("panel-left"));
const menu = element("button", { type: "button", class: "side-icon", id: "menu", "aria-label": "Menu", "aria-controls": "sidebar",
  "aria-expanded": "false", onclick: () => slide(true) }, icon("menu"));
const sidebar = element("nav", { id: "sidebar", class: "sidebar", "aria-label": "Treadle" },
  element("div", { class: "side-head" },
    element("a", { class: "brand", href: "/" }, element("img", { src: "/static/treadle.svg", alt: "", width: "24", height: "24" }),
      element("span", { class: "side-words" }, "Treadle")), collapse),
  element("div", { class: "side-section" },
    link({ path: "/", title: "New conversation", icon: "square-pen" }),
    element("button", { type: "button", class: "side-item", id: "side-find", "aria-haspopup": "dialog", onclick: openPalette },
      icon("search"), element("span", { class: "side-words" }, "Go to…"), element("kbd", {}, shortcut()))),
  element("section", { class: "side-section", "aria-labelledby": "side-assistants" },
    element("p", { class: "side-group", id: "side-assistants" }, "Assistants"), offered),
  conversations.node,
  element("section", { class: "side-section", "aria-labelledby": "side-activity" },
    element("p", { class: "side-group", id: "side-activity" }, "Activity"),
    element("ul", { class: "side-list" }, ACTIVITY.map((place) =>
      element("li", {}, link(place, place.path === "/approvals" ? badge : null))))),
  element("div", { class: "side-section" }, link(SETTINGS)),
  element("div", { class: "side-foot" }, person, themeButton()));
const shade = element("div", { class: "side-shade", hidden: true, onclick: () => slide(false) });

/** @param {import("./navigation.js").NavigationItem} place @param {Child} [more] */
function link(place, more = null) {
  const made = element("a", { class: "side-item", href: place.path, title: place.title },
    icon(place.icon), element("span", { class: "side-words" }, place.title), more);
  links.push([place, made]);
  return made;
}

/** Mark the place where one is: the address of a page changes when a conversation begins on it. */
function markHere() {
  for (const [place, node] of links) {
    if (isAt(place, location)) node.setAttribute("aria-current", "page");
    else node.removeAttribute("aria-current");
  }
}

// what changes

/** Load the pending approvals and the conversations again; call it where they have changed. */
export async function refreshShell() {
  markHere();
  const [{ approvals }] = await Promise.all([ask("/api/approvals").catch(() => ({ approvals: [] })), conversations.load()]);
  badge.hidden = approvals.length === 0;
  badge.replaceChildren(`${approvals.length}`, element("span", { class: "unseen" }, " waiting"));
  menu.classList.toggle("notes", approvals.length > 0);
}

async function drawPerson() {
  const me = await ask("/api/me").catch(() => null);
  if (!me || me.local) return;
  person.replaceChildren(
    element("p", { class: "small side-words", id: "side-who" }, element("strong", {}, me.name), me.role === "user" ? "" : `, ${me.role}`),
    element("button", { class: "side-icon", "aria-label": "Sign out", title: "Sign out" }, icon("log-out")));
  person.hidden = false;
}

async function drawAssistants() {
  assistants = await ask("/api/assistants").catch(() => []);
  offered.replaceChildren(...assistants.map((each) => {
    const isHere = each.panel && location.pathname.startsWith(each.panel);
    return element("li", {}, element("a", { class: "side-item", href: pathTo(each), title: each.title,
      "aria-current": isHere ? "page" : null }, assistantIcon(each.name), element("span", { class: "side-words" }, each.title)));
  }));
  offered.closest("section")?.toggleAttribute("hidden", assistants.length === 0);
}

// open and closed

/** Whether there is only room for icons, or the user wants no more. */
function isRail() {
  return sidebar.getBoundingClientRect().width < 100;
}

function fold() {
  if (NARROW.matches) return slide(false);
  root.dataset.sidebar = isRail() ? "open" : "closed";
  try {
    localStorage.setItem(KEY, root.dataset.sidebar);
  } catch {
    // then it holds for this page alone
  }
  drawFold();
}

function drawFold() {
  const words = NARROW.matches ? "Close menu" : isRail() ? "Expand sidebar" : "Collapse sidebar";
  collapse.setAttribute("aria-expanded", `${NARROW.matches || !isRail()}`);
  collapse.setAttribute("aria-label", words);
  collapse.title = words;
  collapse.replaceChildren(icon(NARROW.matches ? "x" : "panel-left"));
}

/** Show the sheet on a phone, or put it away. @param {boolean} isOpen */
function slide(isOpen) {
  sidebar.toggleAttribute("data-open", isOpen);
  menu.setAttribute("aria-expanded", `${isOpen}`);
  shade.hidden = !isOpen;
  for (const each of [main, bar]) each.inert = isOpen;
  if (isOpen) collapse.focus();
  else menu.focus();
}

// keys

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    openPalette();
  } else if (event.key === "Escape" && sidebar.hasAttribute("data-open") && !document.querySelector("dialog[open], :popover-open")) {
    slide(false);
  }
}

async function openPalette() {
  const { palette } = await import("./palette.js");
  palette(assistants);
}

function shortcut() {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";
}

/** A change on the page, of which there may be several at once. */
function changed() {
  clearTimeout(soon);
  soon = setTimeout(refreshShell, SOON);
}

main.id ||= "main";
if (!main.hasAttribute("tabindex")) main.tabIndex = -1;
if (!document.querySelector(".skip")) document.body.prepend(element("a", { class: "skip", href: `#${main.id}` }, "Skip to content"));
query(document, ".skip").after(sidebar, shade);
bar.prepend(menu);
document.addEventListener("keydown", onKey);
document.addEventListener("conversationchange", changed);
NARROW.addEventListener("change", () => {
  if (sidebar.hasAttribute("data-open")) slide(false);
  drawFold();
});
addEventListener("resize", drawFold);
drawFold();
drawPerson();
drawAssistants();
refreshShell();
pollWhileVisible(refreshShell, OFTEN);

// A menu at a button: opened with a click or Enter, walked through with the arrow keys, closed with Escape or a click elsewhere.

import { icon } from "./icons.js";
import { element } from "./treadle.js";

const GAP = 4;  // pixels

/** @typedef {{ words: string, icon: string, act?: () => unknown, href?: string, isDangerous?: boolean }} MenuItem */

/** Open a menu at a button. @param {HTMLElement} button @param {MenuItem[]} items */
export function openMenu(button, items) {
  const menu = element("div", { class: "menu", role: "menu", popover: "auto", "aria-label": button.getAttribute("aria-label") ?? "" },
    items.map((item) => itemNode(item, () => menu.hidePopover())));
  const entries = /** @type {HTMLElement[]} */ ([...menu.children]);

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const at = entries.indexOf(/** @type {HTMLElement} */ (document.activeElement)), last = entries.length - 1;
    const next = { ArrowDown: at === last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (event.key === "Tab") menu.hidePopover();
    if (next === undefined) return;
    event.preventDefault();
    entries[next].focus();
  }

  menu.addEventListener("keydown", onKey);
  menu.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState !== "closed") return;
    button.setAttribute("aria-expanded", "false");
    if (menu.contains(document.activeElement) || document.activeElement === document.body) button.focus();
    menu.remove();
  });
  document.body.append(menu);
  menu.showPopover();
  place(menu, button.getBoundingClientRect());
  button.setAttribute("aria-expanded", "true");
  entries[0]?.focus();
}

/** @param {MenuItem} item @param {() => void} close */
function itemNode({ words, icon: name, act, href, isDangerous }, close) {
  const attributes = { role: "menuitem", tabindex: "-1", class: isDangerous ? "bad" : null };
  const chosen = () => {
    close();
    act?.();
  };
  return href
    ? element("a", { ...attributes, href, download: true, onclick: chosen }, icon(name), words)
    : element("button", { ...attributes, type: "button", onclick: chosen }, icon(name), words);
}

/** Below the button, or above it where there is no room. @param {HTMLElement} menu @param {DOMRect} at */
function place(menu, at) {
  const { width, height } = menu.getBoundingClientRect();
  const top = at.bottom + GAP + height > innerHeight ? at.top - GAP - height : at.bottom + GAP;
  menu.style.top = `${Math.max(GAP, top)}px`;
  menu.style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - width - GAP))}px`;
}

// Tabs: one is chosen with a click or the arrow keys, and its panel is shown in place of the others.

import { byId } from "./treadle.js";

/** @type {Record<string, (index: number, amount: number) => number>} */
const KEYS = {
  ArrowRight: (index, amount) => (index + 1) % amount, ArrowLeft: (index, amount) => (index + amount - 1) % amount,
  Home: () => 0, End: (_, amount) => amount - 1,
};

/**
 * The tabs in an element with the role `tablist`. Each names its panel in `aria-controls`; several may share one. `chosen(id)` is
 * called with the tab's id. Gives a function that chooses one.
 * @param {HTMLElement} list @param {(id: string) => void} chosen
 */
export function makeTabs(list, chosen) {
  const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("[role=tab]")]);
  const panels = new Set(tabs.map((tab) => byId(tab.getAttribute("aria-controls") ?? "")));

  /** @param {string} id */
  function choose(id) {
    for (const tab of tabs) {
      const isChosen = tab.id === id;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    const own = byId(byId(id).getAttribute("aria-controls") ?? "");
    for (const panel of panels) panel.hidden = panel !== own;
    own.setAttribute("aria-labelledby", id);
    chosen(id);
  }

  list.addEventListener("click", (event) => {
    const tab = event.target instanceof Element ? event.target.closest("[role=tab]") : null;
    if (tab) choose(tab.id);
  });
  list.addEventListener("keydown", (event) => {
    const next = KEYS[event.key]?.(tabs.findIndex((tab) => tab === document.activeElement), tabs.length);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    tabs[next].focus();
    choose(tabs[next].id);
  });
  return choose;
}

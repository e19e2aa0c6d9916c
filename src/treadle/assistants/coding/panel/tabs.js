// Two tabs, where there isn't room for both panes side by side: the steps of a job, and what it changes.

import { byId } from "/static/treadle.js";

const NAMES = ["work", "changes"];

/** Have them work. `show(name)` brings one to the front. */
export function tabs() {
  /** @param {string} name */
  const show = (name) => {
    byId("job").dataset.tab = name;
    for (const each of NAMES) {
      byId(`tab-${each}`).setAttribute("aria-selected", `${each === name}`);
      byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    }
  };
  /** @param {KeyboardEvent} keyboardEvent */
  const other = ({ key, target }) => {
    if (!["ArrowLeft", "ArrowRight"].includes(key)) return;
    const name = NAMES.find((each) => byId(`tab-${each}`) !== target) ?? NAMES[0];
    show(name);
    byId(`tab-${name}`).focus();
  };
  for (const name of NAMES) byId(`tab-${name}`).addEventListener("click", () => show(name));
  byId("tabs").addEventListener("keydown", other);
  show("work");
  return { show };
}

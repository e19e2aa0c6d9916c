// How the states of runs and jobs are marked, on every page the same.

import { stateName } from "./state-names.js";
import { element } from "./treadle.js";

/** @type {Record<string, string>} */
const KINDS = {
  open: "busy", running: "busy", waiting: "warn", asking: "warn", answered: "good", completed: "good", failed: "bad",
};

/** A state as a mark. @param {string} state */
export function mark(state) {
  return element("span", { class: "mark", "data-kind": KINDS[state] }, stateName(state));
}

/** A line of facts: names and what they are, without those that are nothing. @param {Record<string, Child>} pairs */
export function facts(pairs) {
  return Object.entries(pairs).filter(([, value]) => value != null && value !== "").map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

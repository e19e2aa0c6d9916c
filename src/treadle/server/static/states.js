// How the states of runs and jobs are named and marked, on every page the same.

import { element } from "./treadle.js";

const STATES = {
  open: ["under way", "busy"], running: ["running", "busy"], pending: ["pending", ""],
  waiting: ["waits for you", "warn"], answered: ["answered", "good"], completed: ["completed", "good"],
  limit: ["at a limit", ""], failed: ["failed", "bad"], cancelled: ["cancelled", ""],
};

/** A state as a mark. */
export function mark(state) {
  const [words, kind] = STATES[state] ?? [state, ""];
  return element("span", { class: "mark", "data-kind": kind || null }, words);
}

/** A line of facts: names and what they are, without those that are nothing. */
export function facts(pairs) {
  return Object.entries(pairs).filter(([, value]) => value != null && value !== "").map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

// How jobs are said: their states, their kinds, and folders by their names. No page is needed.

import { stateName } from "/static/state-names.js";

/** @type {Record<string, string>} */
export const KINDS = { build: "Build", debug: "Debug", review: "Review", triage: "Triage" };

/** @type {Record<string, [string, string]>} */
const STATES = {  // how it looks, and a sign
  pending: ["busy", ""], running: ["busy", ""], waiting: ["warn", "?"],
  completed: ["good", "✓"], failed: ["bad", "!"], cancelled: ["soft", "–"],
};

/** How a job stands: `[look, sign, words]`. @param {{ state: string, is_good?: boolean }} given */
export function stateOf({ state, is_good: isGood }) {
  if (state === "completed" && isGood === false) return ["warn", "!", `${stateName(state)}, not verified`];
  return [...STATES[state], stateName(state)];
}

/** The last part of a path. @param {string} path */
export function nameOf(path) {
  return path.split("/").filter(Boolean).at(-1) ?? path;
}

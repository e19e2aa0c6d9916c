// How jobs are said: their states, their kinds, and folders by their names.

export const KINDS = { build: "Build", debug: "Debug", review: "Review", triage: "Triage" };

const STATES = {  // how it looks, a sign, and words
  pending: ["busy", "", "about to begin"],
  running: ["busy", "", "working"],
  waiting: ["warn", "?", "waits for you"],
  completed: ["good", "✓", "done"],
  failed: ["bad", "!", "failed"],
  cancelled: ["soft", "–", "cancelled"],
};
const DOUBTFUL = ["warn", "!", "done, not verified"];

/** How a job stands: `[look, sign, words]`. */
export function stateOf({ state, is_good: isGood }) {
  return state === "completed" && isGood === false ? DOUBTFUL : STATES[state];
}

/** The last part of a path. */
export function nameOf(path) {
  return path.split("/").filter(Boolean).at(-1) ?? path;
}

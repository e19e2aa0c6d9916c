// What a call would do, as a title: its tool's name or action as words, with what it is about. Needs no page.
// It isn't taken from the preview, which may begin with words of a model or of a file.

const LONGEST = 120;  // characters
const MAIN = ["path", "file", "command", "url", "name", "title", "id", "item", "query"];  // arguments that say what a call is about

/**
 * @param {{ name: string, arguments: Record<string, unknown> }} call
 * @returns {string}
 */
export function callTitle({ name, arguments: given }) {
  const about = subject(given), { action } = given;
  if (typeof action === "string" && action) return shortened(about ? `${worded(action)} ${about}` : `${worded(action)} (${worded(name)})`);
  return shortened(about ? `${worded(name)}: ${about}` : worded(name));
}

/** "order_items" as "Order items". @param {string} name */
function worded(name) {
  const words = name.replace(/[_\-.]+/g, " ").replace(/([a-z])([A-Z])/g, "$1 $2").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a call is about: an argument that says so, or the first short text. @param {Record<string, unknown>} given */
function subject(given) {
  const known = MAIN.map((name) => given[name]).find(isShort);
  const other = Object.entries(given).find(([name, value]) => name !== "action" && isShort(value))?.[1];
  return `${known ?? other ?? ""}`;
}

/** @param {unknown} value */
function isShort(value) {
  return typeof value === "number" || (typeof value === "string" && value !== "" && !value.includes("\n") && value.length <= LONGEST);
}

/** @param {string} text */
function shortened(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

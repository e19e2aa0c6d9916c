// How things are said: moments, amounts, names of the server's in words, and the heads of sections.

import { byId, fill, query } from "/static/treadle.js";

export { pluralize } from "/static/format.js";
export { timeAgo } from "/static/time-ago.js";

/** A name such as `full_search` in words: "full search". @param {string} name */
export function plain(name) {
  return name.replaceAll("_", " ");
}

/** The same at the beginning of a line. @param {string} name */
export function title(name) {
  const words = plain(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * Have a section of the state show a few words beside its title, and these nodes; without any, those that are there stay.
 * @param {string} id @param {string} amount @param {...Element} nodes
 */
export function section(id, amount, ...nodes) {
  const place = byId(id);
  query(place, ".amount").textContent = amount;
  if (nodes.length) fill(query(place, ".within"), nodes);
}

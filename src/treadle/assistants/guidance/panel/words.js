// How things are said: moments, amounts, names of the server's in words, and the heads of sections.

import { byId, query } from "/static/treadle.js";

export { ago, counted } from "/static/words.js";

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
 * @param {string} id @param {string} amount @param {...Node} nodes
 */
export function section(id, amount, ...nodes) {
  const place = byId(id);
  query(place, ".amount").textContent = amount;
  if (nodes.length) keepFocus(query(place, ".within"), (within) => within.replaceChildren(...nodes));
}

/** Draw an element anew; the focus stays where it is in it. @param {HTMLElement} node @param {(node: HTMLElement) => void} draw */
function keepFocus(node, draw) {
  const fields = () => /** @type {HTMLElement[]} */ ([...node.querySelectorAll("a[href], button, input, select, textarea, summary")]);
  const at = fields().findIndex((field) => field === document.activeElement);
  draw(node);
  if (at >= 0) fields()[at]?.focus();
}

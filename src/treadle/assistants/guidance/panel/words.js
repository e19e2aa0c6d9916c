// How things are said: moments, amounts, names of the server's in words, and the heads of sections.

export { ago, counted } from "/static/words.js";

/** A name such as `full_search` in words: "full search". */
export function plain(name) {
  return name.replaceAll("_", " ");
}

/** The same at the beginning of a line. */
export function title(name) {
  const words = plain(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Have a section of the state show a few words beside its title, and these nodes; without any, those that are there stay. */
export function section(id, amount, ...nodes) {
  const place = document.getElementById(id);
  place.querySelector(".amount").textContent = amount;
  if (nodes.length) place.querySelector(".within").replaceChildren(...nodes);
}

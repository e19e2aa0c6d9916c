// Searching in the material without a model: what was found, each with the words around it.

import { ask, byId, element, messageOf } from "/static/treadle.js";
import { excerpt, patternOf } from "./excerpt.js";
import { pluralize } from "/static/format.js";

const box = byId("find", HTMLInputElement), list = byId("found"), said = byId("found-said");
let searches = 0;

/** @typedef {{ id: string, source: string, place: string, text: string }} Found */

/**
 * Have the box work. `filter(words)` narrows the courses and says whether any are left, `open(id)` has a passage read.
 * @param {{ filter: (words: string) => boolean, open: (id: string) => void }} given
 */
export function materialSearch({ filter, open }) {
  const narrow = () => {
    searches++;
    show(false);
    said.textContent = filter(box.value) ? "" : "No course or lesson is called that. Enter searches in them.";
  };
  byId("finding").addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim()) search(box.value.trim(), open);
  });
  box.addEventListener("input", narrow);
}

/** @param {string} words @param {(id: string) => void} open */
async function search(words, open) {
  const mine = ++searches;
  said.textContent = "Searching…";
  try {
    const { found } = await ask(`/api/courses/search?q=${encodeURIComponent(words)}`);
    if (mine !== searches) return;
    said.textContent = found.length ? `${pluralize(found.length, "passage")} found` : "Nothing was found. Try other words.";
    list.replaceChildren(...found.map((/** @type {Found} */ each) => resultOf(each, words, open)));
    show(true);
  } catch (error) {
    if (mine === searches) said.textContent = messageOf(error);
  }
}

/** What was found stands in place of the courses. @param {boolean} on */
function show(on) {
  list.hidden = !on;
  byId("courses").hidden = on;
}

/**
 * @param {Found} found @param {string} words
 * @param {(id: string) => void} open
 */
function resultOf({ id, source, place, text }, words, open) {
  return element("li", {}, element("button", { type: "button", class: "result", title: place, onclick: () => open(id) },
    element("span", { class: "name" }, source), element("span", { class: "small soft" }, marked(excerpt(text, words), words))));
}

/** @param {string} text @param {string} words */
function marked(text, words) {
  return text.split(patternOf(words)).map((part, index) => (index % 2 ? element("mark", {}, part) : part));
}

// Searching in the material without a model: what was found, each with the words around it.

import { ask, element } from "/static/treadle.js";
import { counted } from "/static/words.js";

const AROUND = 70;    // characters before the first word that was looked for
const LONGEST = 190;  // characters of what is shown
const byId = (id) => document.getElementById(id);
const box = byId("find"), list = byId("found"), said = byId("found-said");
let searches = 0;

/** Have the box work. `filter(words)` narrows the courses and says whether any are left, `open(id)` has a passage read. */
export function finding({ filter, open }) {
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

async function search(words, open) {
  const mine = ++searches;
  said.textContent = "Searching…";
  try {
    const { found } = await ask(`/api/courses/search?q=${encodeURIComponent(words)}`);
    if (mine !== searches) return;
    said.textContent = found.length ? `${counted(found.length, "passage")} found` : "Nothing was found. Try other words.";
    list.replaceChildren(...found.map((each) => resultOf(each, words, open)));
    show(true);
  } catch (error) {
    if (mine === searches) said.textContent = error.message;
  }
}

/** What was found stands in place of the courses. */
function show(on) {
  list.hidden = !on;
  byId("courses").hidden = on;
}

function resultOf({ id, source, place, text }, words, open) {
  return element("li", {}, element("button", { type: "button", class: "result", title: place, onclick: () => open(id) },
    element("span", { class: "name" }, source), element("span", { class: "small soft" }, marked(excerpt(text, words), words))));
}

/** The words around the first one that was looked for. */
function excerpt(text, words) {
  const at = Math.max(text.search(patternOf(words)), 0), from = at > AROUND ? text.indexOf(" ", at - AROUND) + 1 : 0;
  const cut = text.slice(from, from + LONGEST), isCut = from + LONGEST < text.length;
  return `${from ? "… " : ""}${isCut ? `${cut.replace(/\s+\S*$/, "")} …` : cut}`;
}

function marked(text, words) {
  return text.split(patternOf(words)).map((part, index) => (index % 2 ? element("mark", {}, part) : part));
}

/** Whole words that were looked for, without those that are everywhere. */
function patternOf(words) {
  const wanted = words.match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  return wanted.length ? new RegExp(`(?<![\\p{L}\\p{N}])((?:${wanted.join("|")})[\\p{L}\\p{N}]*)`, "iu") : /(?!)()/;
}

// The steps of a job as cards: files read and changed, commands with their exit codes, tests with their counts; and words between.
// A card that changes keeps its node, so that what somebody has opened stays open.

import { argumentList, lasting } from "/static/calls.js";
import { show } from "/static/markdown.js";
import { element } from "/static/treadle.js";

const STATES = {
  running: ["", "under way"], waiting: ["?", "waits for you"], done: ["✓", "done"], failed: ["!", "failed"],
  denied: ["×", "not allowed"], stopped: ["–", "stopped"],
};
const NEAR = 60;  // pixels from the end, from which on the view follows

/** The list. `find(path)` shows a file that a step has changed. */
export class Steps {
  #place;
  #find;
  #shown = new Map();

  constructor(place, { find }) {
    this.#place = place;
    this.#find = find;
  }

  clear() {
    this.#shown.clear();
    this.#place.replaceChildren();
  }

  /** All of them, anew. */
  fill(steps) {
    const wanted = new Set(steps.map(({ id }) => id));
    for (const [id, node] of this.#shown) {
      if (wanted.has(id)) continue;
      node.remove();
      this.#shown.delete(id);
    }
    for (const step of steps) this.put(step);
  }

  /** One that is new, or has changed. */
  put(step) {
    const pane = this.#place.parentElement, atEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR;
    const old = this.#shown.get(step.id), node = old ?? element("li", { "data-what": step.what });
    this.#shown.set(step.id, node);
    if (!old) this.#place.append(node);
    if (step.what === "words") wordsIn(node, step);
    else cardIn(node, step, this.#find);
    if (atEnd && pane.scrollTop) pane.scrollTop = pane.scrollHeight;
  }
}

function wordsIn(node, { text }) {
  if (!node.firstChild) node.append(element("div", { class: "words" }));
  show(node.firstChild, text);
}

function cardIn(node, step, find) {
  if (!node.firstChild) {
    node.append(element("details", { class: "call step" }, element("summary"), element("div", { class: "inside" })));
  }
  const card = node.firstChild, [look, sign, words] = lookOf(step), isLine = ["bash", "run_command"].includes(step.tool);
  card.dataset.state = look;
  card.firstChild.replaceChildren(
    element("span", { class: "sign", "aria-hidden": "true" }, sign),
    element("span", { class: isLine ? "name line" : "name" }, step.title, element("span", { class: "unseen" }, words)),
    element("span", { class: `outcome ${step.good === false ? "bad" : step.good ? "good" : "soft"}` }, outcomeOf(step)),
    element("span", { class: "took" }, step.seconds ? lasting(step.seconds) : ""));
  card.lastChild.replaceChildren(...insideOf(step, find));
}

/** How a card looks, its sign, and what is said instead of it. Tests that fail are a step that is done, and no success. */
function lookOf({ what, state, good }) {
  if (what === "task") return ["done", "›", ""];
  if (what === "back") return ["waiting", "↩", ""];
  const look = good === false && state === "done" ? "failed" : state, [sign] = STATES[look];
  return [look, sign, `, ${STATES[state][1]}. `];
}

function outcomeOf({ outcome, files, state, text }) {
  if (outcome) return files.length ? `${outcome}, ${files.length === 1 ? files[0] : `${files.length} files`}` : outcome;
  return ["failed", "denied"].includes(state) ? shortened(text) : "";
}

function insideOf({ what, text, files, arguments: given }, find) {
  const has = Object.keys(given).length > 0;
  return [
    files.length ? element("div", {}, element("h4", {}, "Changed"), element("ul", { class: "row" }, files.map((file) =>
      element("li", {}, element("button", { type: "button", class: "chip", onclick: () => find(file) }, file))))) : null,
    has ? element("div", {}, element("h4", {}, "Asked for"), argumentList(given)) : null,
    text ? element("div", {}, what === "call" ? element("h4", {}, "What came back") : null, block(text)) : null,
    !text && !has ? element("p", { class: "soft" }, "Nothing has come back yet.") : null,
  ].filter(Boolean);
}

function block(text) {
  return element("pre", { tabindex: "0" }, text);
}

function shortened(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}

// The steps of a job as cards: files read and changed, commands with their exit codes, tests with their counts; and words between.
// A card that changes keeps its node, so that what somebody has opened stays open.

import { argumentList } from "/static/calls.js";
import { formatDuration } from "/static/format.js";
import { show } from "/static/markdown.js";
import { stateName } from "/static/state-names.js";
import { element, query } from "/static/treadle.js";

/** @type {Record<string, [string, string]>} */
const STATES = {  // a sign, and the name of the state
  running: ["", stateName("running")], waiting: ["?", stateName("asking")], done: ["✓", stateName("done")],
  failed: ["!", stateName("failed")], denied: ["×", stateName("denied")], stopped: ["–", stateName("stopped")],
};
const NEAR = 60;  // pixels from the end, from which on the view follows

/** The list. `find(path)` shows a file that a step has changed. */
export class Steps {
  #place;
  #find;
  /** @type {Map<string, HTMLElement>} */
  #shown = new Map();

  /** @param {HTMLElement} place @param {{ find: (path: string) => void }} given */
  constructor(place, { find }) {
    this.#place = place;
    this.#find = find;
  }

  clear() {
    this.#shown.clear();
    this.#place.replaceChildren();
  }

  /** All of them, anew. @param {JobStep[]} steps */
  fill(steps) {
    const wanted = new Set(steps.map(({ id }) => id));
    for (const [id, node] of this.#shown) {
      if (wanted.has(id)) continue;
      node.remove();
      this.#shown.delete(id);
    }
    for (const step of steps) this.put(step);
  }

  /** One that is new, or has changed. @param {JobStep} step */
  put(step) {
    const pane = this.#place.parentElement ?? this.#place, atEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR;
    const old = this.#shown.get(step.id), node = old ?? element("li", { "data-what": step.what });
    this.#shown.set(step.id, node);
    if (!old) this.#place.append(node);
    if (step.what === "words") wordsIn(node, step);
    else cardIn(node, step, this.#find);
    if (atEnd && pane.scrollTop) pane.scrollTop = pane.scrollHeight;
  }
}

/** @param {HTMLElement} node @param {JobStep} jobStep */
function wordsIn(node, { text }) {
  if (!node.firstChild) node.append(element("div", { class: "words" }));
  show(query(node, "div"), text);
}

/** @param {HTMLElement} node @param {JobStep} step @param {(path: string) => void} find */
function cardIn(node, step, find) {
  if (!node.firstChild) {
    node.append(element("details", { class: "call step" }, element("summary"), element("div", { class: "inside" })));
  }
  const card = query(node, "details"), [look, sign, words] = lookOf(step), isLine = ["bash", "run_command"].includes(step.tool);
  card.dataset.state = look;
  query(card, "summary").replaceChildren(
    element("span", { class: "sign", "aria-hidden": "true" }, sign),
    element("span", { class: isLine ? "name line" : "name" }, step.title, element("span", { class: "unseen" }, words)),
    element("span", { class: `outcome ${step.good === false ? "bad" : step.good ? "good" : "soft"}` }, outcomeOf(step)),
    element("span", { class: "took" }, step.seconds ? formatDuration(step.seconds) : ""));
  query(card, ".inside").replaceChildren(...insideOf(step, find));
}

/**
 * How a card looks, its sign, and what is said instead of it. Tests that fail are a step that is done, and no success.
 * @param {JobStep} jobStep
 */
function lookOf({ what, state, good }) {
  if (what === "task") return ["done", "›", ""];
  if (what === "back") return ["waiting", "↩", ""];
  const look = good === false && state === "done" ? "failed" : state, [sign] = STATES[look];
  return [look, sign, `, ${STATES[state][1]}. `];
}

/** @param {JobStep} jobStep */
function outcomeOf({ outcome, files, state, text }) {
  if (outcome) return files.length ? `${outcome}, ${files.length === 1 ? files[0] : `${files.length} files`}` : outcome;
  return ["failed", "denied"].includes(state) ? shortened(text) : "";
}

/** @param {JobStep} jobStep @param {(path: string) => void} find */
function insideOf({ what, text, files, arguments: given }, find) {
  const has = Object.keys(given).length > 0;
  return [
    files.length ? element("div", {}, element("h4", {}, "Changed"), element("ul", { class: "row" }, files.map((file) =>
      element("li", {}, element("button", { type: "button", class: "chip", onclick: () => find(file) }, file))))) : null,
    has ? element("div", {}, element("h4", {}, "Input"), argumentList(given)) : null,
    text ? element("div", {}, what === "call" ? element("h4", {}, "Result") : null, block(text)) : null,
    !text && !has ? element("p", { class: "soft" }, "No result yet.") : null,
  ].filter((each) => each !== null);
}

/** @param {string} text */
function block(text) {
  return element("pre", { tabindex: "0" }, text);
}

/** @param {string} text */
function shortened(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}

// A call of a tool, as a card that fills while it runs: which tool, with what, how long it took, what came back or went wrong.
// Closed it is a line or two; opened it shows everything.

import { formatCost, formatDuration } from "./format.js";
import { recordTables } from "./records.js";
import { stateName } from "./state-names.js";
import { element } from "./treadle.js";
import { visible } from "./visible.js";

/** @typedef {"written" | "waiting" | "running" | "done" | "failed" | "denied" | "stopped"} CallState */

/** @type {Record<CallState, [string, string]>} */
const STATES = {  // a sign for those who see it, words for those who hear it
  written: ["", stateName("written")],
  waiting: ["?", stateName("asking")],
  running: ["", stateName("running")],
  done: ["✓", stateName("done")],
  failed: ["!", stateName("failed")],
  denied: ["×", stateName("denied")],
  stopped: ["–", stateName("stopped")],
};
const LONGEST = 160;  // characters of a problem, or of arguments, in the closed card

/** The card of a call that the model has begun to write. It is updated event by event. */
export class Card {
  #sign = element("span", { class: "sign", "aria-hidden": "true" });
  #state = element("span", { class: "unseen" });
  #brief = element("span", { class: "brief" });
  #took = element("span", { class: "took" });
  #problem = element("span", { class: "problem", hidden: true });
  #inside = element("div", { class: "inside" });

  /** @param {string} name */
  constructor(name) {
    this.node = element("details", { class: "call" }, element("summary", {},
      this.#sign, element("span", { class: "name" }, name), this.#state, this.#brief, this.#took, this.#problem), this.#inside);
    this.#set("written");
  }

  /** @param {RunEvent} runEvent */
  judged({ call, verdict, mended }) {
    this.#wants(call.arguments);
    if (verdict.verdict === "ask") this.waits();
    if (verdict.verdict === "deny") this.denied(verdict.reason);
    if (mended) this.#put("mended", "Repaired arguments", element("p", {}, mended));
  }

  waits() {
    this.#set("waiting");
  }

  /** It isn't carried out: the policy or a person says so. @param {string} reason */
  denied(reason) {
    this.#set("denied");
    this.#trouble(reason);
  }

  /** @param {RunEvent} runEvent */
  started({ call }) {
    this.#wants(call.arguments);
    this.#set("running");
  }

  /** @param {RunEvent | { text: string }} event */
  progressed({ text }) {
    this.#put("progress", "Progress", element("p", {}, text));
  }

  /** @param {RunEvent} runEvent */
  returned({ result: { problem, content, data }, seconds, cached, usage }) {
    const took = cached ? "cached" : problem === "denied" || !seconds ? "" : formatDuration(seconds);
    this.#set(problem === "denied" ? "denied" : problem ? "failed" : "done");
    this.#took.textContent = usage?.cost ? `${took} · ${formatCost(usage.cost)}` : took;
    this.#trouble(problem ? content : "");
    this.#put("result", problem ? "Error" : "Result", ...shown(content, problem ? null : data));
  }

  /** Nothing more is heard of it. */
  ended() {
    if (["written", "running"].includes(this.node.dataset.state ?? "")) this.#set("stopped");
  }

  /** @param {CallState} state */
  #set(state) {
    const [sign, words] = STATES[state];
    this.node.dataset.state = state;
    this.#sign.textContent = sign;
    this.#state.textContent = `, ${words}: `;
  }

  /** @param {string} words */
  #trouble(words) {
    this.#problem.textContent = shortened(words);
    this.#problem.hidden = !words;
  }

  /** @param {Record<string, unknown>} given */
  #wants(given) {
    this.#brief.textContent = shortened(Object.entries(given).map(([name, value]) => `${name}: ${inWords(value)}`).join(", "));
    this.#put("arguments", "Arguments", Object.keys(given).length ? argumentList(given) : element("p", { class: "soft" }, "None."));
  }

  /** @param {string} part @param {string} title @param {...Child} nodes */
  #put(part, title, ...nodes) {
    const made = element("div", { "data-part": part }, element("h4", {}, title), nodes);
    const old = this.#inside.querySelector(`[data-part="${part}"]`);
    if (old) old.replaceWith(made);
    else this.#inside.append(made);
  }
}

/**
 * Arguments in full: each with its name, text as it is, anything else as JSON. `draw` makes the node of a value.
 * @param {Record<string, unknown>} given @param {(text: string) => Node} [draw]
 */
export function argumentList(given, draw = block) {
  return element("dl", { class: "arguments" }, Object.entries(given).map(([name, value]) =>
    element("div", {}, element("dt", {}, visible(name)), element("dd", {}, draw(inWords(value, 2))))));
}

/** @param {string} text */
function block(text) {
  return element("pre", { tabindex: "0" }, visible(text) || "(nothing)");
}

/**
 * What came back: records as tables, with the text that the model read behind them; anything else as that text.
 * @param {string} content @param {unknown} data
 */
function shown(content, data) {
  const tables = recordTables(data), text = block(pretty(content));
  return tables.length ? [...tables, element("details", { class: "as-text" }, element("summary", {}, "As text"), text)] : [text];
}

/** @param {unknown} value */
function inWords(value, indent = 0) {
  return typeof value === "string" ? value : JSON.stringify(value, null, indent);
}

/** JSON that a person can read; anything else as it is. @param {string} content */
function pretty(content) {
  try {
    const value = JSON.parse(content);
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : content;
  } catch {
    return content;
  }
}

/** @param {string} text */
function shortened(text) {
  const line = visible(text.replace(/\s+/g, " ").trim());
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

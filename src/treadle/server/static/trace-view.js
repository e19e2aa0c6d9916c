// The trace of a run as a tree that can be walked with the keyboard, each step with a bar of its duration, and one step in full: its
// input, its output, and the entries of the journal as they are stored.

import { textOrDiff } from "./diff.js";
import { formatCost, formatNumber, formatDuration } from "./format.js";
import { runPath } from "./shared-runs.js";
import { stateName } from "./state-names.js";
import { facts } from "./states.js";
import { makeTabs } from "./tabs.js";
import { flattened, tokensOf } from "./trace.js";
import { byId, element } from "./treadle.js";
import { visible } from "./visible.js";

/** @typedef {import("./trace.js").Step} Step */
/** @typedef {import("./trace.js").Trace} Trace */
/**
 * @typedef {{ step: Step, node: HTMLElement, group: HTMLElement, parent: Item | null, level: number, isOpen: boolean,
 *   isLoaded: boolean }} Item
 */

/** @type {Record<string, string>} */
const SIGNS = { turn: "❯", round: "↻", request: "✦", call: "⚙", wait: "…", note: "·" };
const LONGEST = 120;   // characters of a line
const MANY = 200;      // steps from which on turns are closed at first, except the last
const RAW = 100_000;   // characters of entries that are shown

/** The tree of a trace. `load(runId)` brings the trace of a nested run, `select(step)` is called with the step that is chosen. */
export class TraceTree {
  #list;
  #load;
  #select;
  /** @type {Item[]} */
  #items = [];
  /** @type {Item | null} */
  #current = null;
  #start = 0;
  #whole = 1;

  /** @param {HTMLElement} list @param {(runId: string) => Promise<Trace>} load @param {(step: Step) => void} select */
  constructor(list, load, select) {
    this.#list = list;
    this.#load = load;
    this.#select = select;
    list.addEventListener("keydown", (event) => this.#typed(event));
  }

  /** Show a trace; what was open and chosen stays so, where it is still there. @param {Trace} trace */
  show({ steps, start, end }) {
    const known = new Set(this.#items.filter(({ step }) => step.children.length).map(({ step }) => keyOf(step)));
    const opened = new Set(this.#items.filter(({ isOpen }) => isOpen).map(({ step }) => keyOf(step)));
    const before = this.#current ? keyOf(this.#current.step) : "";
    const hasFocus = this.#list.contains(document.activeElement), isLarge = flattened(steps).length > MANY;
    this.#start = start;
    this.#whole = Math.max(end - start, 0.001);
    this.#items = [];
    const items = steps.map((step) => this.#item(step, null, 1));
    this.#list.replaceChildren(...items.map(({ node }) => node));
    for (let at = 0; at < this.#items.length; at++) {  // more come when one is opened
      const { step, parent } = this.#items[at], isNew = !known.has(keyOf(step));
      const isOpen = isNew ? !isLarge || step === steps.at(-1) || parent !== null : opened.has(keyOf(step));
      if (step.children.length) this.#toggle(this.#items[at], isOpen);
    }
    this.#current = null;
    const chosen = this.#items.find(({ step }) => keyOf(step) === before) ?? this.#items[0];
    if (chosen) this.choose(chosen.step, hasFocus);
  }

  /** @param {Step} step @param {boolean} [focuses] */
  choose(step, focuses = false) {
    const item = this.#items.find((each) => each.step === step);
    if (!item) return;
    for (let outer = item.parent; outer; outer = outer.parent) if (!outer.isOpen) this.#toggle(outer, true);
    this.#current?.node.setAttribute("aria-selected", "false");
    if (this.#current) this.#current.node.tabIndex = -1;
    this.#current = item;
    item.node.setAttribute("aria-selected", "true");
    item.node.tabIndex = 0;
    if (focuses) item.node.focus();
    this.#select(step);
  }

  /** @param {Step} step @param {Item | null} parent @param {number} level @returns {Item} */
  #item(step, parent, level) {
    const group = element("ul", { role: "group", hidden: true });
    const node = element("li", {
      role: "treeitem", "aria-level": level, "aria-selected": "false", tabindex: "-1", "aria-label": nameOf(step),
    }, this.#row(step, level));
    /** @type {Item} */
    const item = { step, node, group, parent, level, isOpen: false, isLoaded: false };
    this.#items.push(item);
    if (step.children.length || step.run) {
      node.setAttribute("aria-expanded", "false");
      node.append(group);
    }
    node.addEventListener("click", (event) => {
      event.stopPropagation();
      if (this.#current === item || (event.target instanceof Element && event.target.closest(".twig"))) this.#toggle(item, !item.isOpen);
      this.choose(step, true);
    });
    return item;
  }

  /** @param {Step} step @param {number} level */
  #row(step, level) {
    const { kind, name, brief, state, start, end, usage } = step, tokens = tokensOf(usage);
    const bar = element("span", { class: "stretch" }), isOpen = end === null;
    bar.style.left = `${this.#share(start - this.#start)}%`;
    bar.style.width = `${this.#share((end ?? this.#start + this.#whole) - start)}%`;
    const row = element("div", { class: "step-row", "data-kind": kind, "data-state": state, "aria-hidden": "true" },
      element("span", { class: "twig" }, step.children.length || step.run ? "▸" : ""), element("span", { class: "sign" }, SIGNS[kind]),
      element("span", { class: "what" }, element("span", { class: "name" }, name), " ", element("span", { class: "brief" }, inLine(brief))),
      element("span", { class: "track" }, bar),
      element("span", { class: "took" }, isOpen ? "…" : kind === "note" ? "" : formatDuration(end - start)),
      element("span", { class: "tokens" }, tokens ? formatNumber(tokens) : ""),
      element("span", { class: "cost" }, usage.cost == null ? "" : formatCost(usage.cost)));
    row.style.setProperty("--level", String(level - 1));
    return row;
  }

  /** @param {number} seconds */
  #share(seconds) {
    return Math.min(Math.max((seconds / this.#whole) * 100, 0), 100);
  }

  /** @param {Item} item @param {boolean} isOpen */
  #toggle(item, isOpen) {
    if (!item.node.hasAttribute("aria-expanded")) return;
    item.isOpen = isOpen;
    item.group.hidden = !isOpen;
    item.node.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen || item.isLoaded) return;
    item.isLoaded = true;
    item.group.append(...item.step.children.map((step) => this.#item(step, item, item.level + 1).node));
    if (item.step.run) this.#open(item, item.step.run);
  }

  /** @param {Item} item @param {string} runId */
  async #open(item, runId) {
    try {
      const { steps } = await this.#load(runId);
      item.group.append(...steps.map((step) => this.#item(step, item, item.level + 1).node));
    } catch (error) {
      Object.assign(item, { isLoaded: item.step.children.length > 0 });
      this.#toggle(item, false);
      throw error;
    }
  }

  /** @param {KeyboardEvent} event */
  #typed(event) {
    const item = this.#current;
    if (!item || event.altKey || event.ctrlKey || event.metaKey) return;
    const seen = this.#seen(), at = seen.indexOf(item);
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowDown: () => this.#move(seen[at + 1]), ArrowUp: () => this.#move(seen[at - 1]),
      Home: () => this.#move(seen[0]), End: () => this.#move(seen.at(-1)),
      ArrowRight: () => (item.isOpen ? this.#move(seen.find(({ parent }) => parent === item)) : this.#toggle(item, true)),
      ArrowLeft: () => (item.isOpen ? this.#toggle(item, false) : this.#move(item.parent)),
      Enter: () => this.#toggle(item, !item.isOpen), " ": () => this.#toggle(item, !item.isOpen),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    acts[event.key]();
  }

  /** The items that are not inside of a closed one, in their order. */
  #seen() {
    const items = new Map(this.#items.map((item) => [item.node, item]));
    return /** @type {HTMLElement[]} */ ([...this.#list.querySelectorAll("[role=treeitem]")])
      .flatMap((node) => items.get(node) ?? []).filter(isSeen);
  }

  /** @param {Item | null | undefined} item */
  #move(item) {
    if (item) this.choose(item.step, true);
  }
}

/** The view of one step: `show` it. `toEntry(position)` leads to the journal. */
export class StepView {
  /** @type {Step | null} */
  #step = null;
  #tab = "step-input";
  #choose;
  #owner;

  /** @param {(position: number) => void} toEntry @param {string} [owner] the user who shares the run */
  constructor(toEntry, owner = "") {
    this.#owner = owner;
    this.#choose = makeTabs(byId("step-tabs"), (id) => this.#draw(id));
    byId("to-journal").addEventListener("click", () => toEntry(this.#step?.entries[0].position ?? 1));
  }

  /** @param {Step} step */
  show(step) {
    if (this.#step !== step) this.#tab = step.output.length && !step.input.length ? "step-output" : this.#tab;
    this.#step = step;
    const { usage, start, end, seconds } = step, inside = step.run;
    byId("step-title").textContent = `${step.name}${step.state === "done" ? "" : ` (${stateName(step.state)})`}`;
    byId("step-facts").replaceChildren(...facts({
      Duration: end === null ? "in progress" : formatDuration(end - start),
      Execution: seconds && end !== null && end - start - seconds > 0.01 ? formatDuration(seconds) : null,
      Model: step.model, Tokens: tokensOf(usage) ? tokensInWords(usage) : null, Cost: usage.cost == null ? null : formatCost(usage.cost),
      ...step.facts, "Nested run": inside ? element("a", { href: runPath(inside, this.#owner) }, inside) : null,
    }));
    this.#choose(this.#tab);
  }

  /** @param {string} id */
  #draw(id) {
    this.#tab = id;
    if (!this.#step) return;
    const { input, output, entries } = this.#step;
    byId("step-content").replaceChildren(...(id === "step-raw" ? [rawOf(entries)] : contentNodes(id === "step-input" ? input : output)));
  }
}

/** The contents of a step. @param {import("./trace.js").Content[]} contents */
export function contentNodes(contents) {
  if (!contents.length) return [element("p", { class: "soft" }, "None.")];
  return contents.map(({ title, text }) => element("div", {}, element("h3", {}, visible(title)), textOrDiff(text)));
}

/** @param {Entry[]} entries */
function rawOf(entries) {
  const whole = JSON.stringify(entries, null, 2), rest = whole.length - RAW;
  return element("pre", { tabindex: "0", "aria-label": "The entries, as they are stored" },
    rest > 0 ? `${whole.slice(0, RAW)}\n… ${formatNumber(rest)} more characters` : whole);
}

/** @param {Usage} usage */
function tokensInWords({ input_tokens = 0, output_tokens = 0, cache_read_tokens = 0 }) {
  const cached = cache_read_tokens ? ` (${formatNumber(cache_read_tokens)} cached)` : "";
  return `${formatNumber(input_tokens)} in${cached}, ${formatNumber(output_tokens)} out`;
}

/** @param {Item} item @returns {boolean} */
function isSeen({ parent }) {
  return parent === null || (parent.isOpen && isSeen(parent));
}

/** What tells a step from others after the trace was read again. @param {Step} step */
function keyOf({ kind, entries }) {
  return `${kind} ${entries[0]?.position}`;
}

/** What a step is called for those who hear it. @param {Step} step */
function nameOf({ kind, name, brief, state, start, end, usage }) {
  const tokens = tokensOf(usage);
  return [
    `${name}${brief ? `: ${inLine(brief)}` : ""}`, state === "done" ? "" : stateName(state),
    end === null || kind === "note" ? "" : formatDuration(end - start),
    tokens ? `${formatNumber(tokens)} tokens` : "", usage.cost == null ? "" : formatCost(usage.cost),
  ].filter(Boolean).join(", ");
}

/** @param {string} text */
export function inLine(text) {
  const line = visible(text.slice(0, 4 * LONGEST).replace(/\s+/g, " ").trim());
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

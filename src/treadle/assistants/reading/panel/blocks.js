// The right side: what a file is for, its blocks, how it was read, and where things stand meanwhile.

import { formatNumber } from "/static/format.js";
import { byId, element, query } from "/static/treadle.js";
import { phaseOf } from "./readings.js";
import { hueOf } from "./source.js";
import { blocks, cancel, find, fold, hover, jumpTo, pin, read, state, step, unpin } from "./state.js";

/** @typedef {keyof ReadingState} Field */

const [status, phaseText, readButton, cancelButton, notices, result] =
  ["status", "phase", "read", "cancel", "notices", "result"].map((id) => byId(id));
const KINDS = { functions: "Functions", types: "Types", state: "State", constants: "Constants", imports: "Imports" };
/** @type {Record<string, string>} */
const PATHS = {
  "fast-path": "whole file",
  "tool-calling": "by outline, with a tool for what it leaves open",
  "two-stage": "in two stages",
  sketch: "Sketched",
};
const WELCOME = "Pick a file, and read in a few lines why it is there, and which of its parts belong together, even far apart.";
const NO_MODEL = "There is no model here: what you get is a sketch, made from the code alone.";
const NOUNS = { file: "file", pasted: "text" };
const MOMENT = 400;  // milliseconds
const FEW = 5;  // ranges that are shown of a block that isn't pinned
/** @type {HTMLElement[]} */
let items = [];
let clicked = { folded: -1 };

/** Draw what has changed. @param {ReadingState} now @param {Partial<ReadingState>} before */
export function drawSide(now, before) {
  drawStatus(now);
  if (differs(["error", "trouble", "model", "source", "reading", "picking"], now, before)) drawNotices(now);
  if (now.reading !== before.reading || now.source !== before.source) drawResult(now);
  if (differs(["reading", "pinned", "place", "folded", "hovered"], now, before)) drawChoice(now, before);
}

/** @param {Field[]} names @param {ReadingState} now @param {Partial<ReadingState>} before */
function differs(names, now, before) {
  return names.some((name) => now[name] !== before[name]);
}

// where things stand

/** @param {ReadingState} now */
function drawStatus(now) {
  const phase = phaseOf(now), isEmpty = now.source !== null && !now.source.text.trim();
  document.body.dataset.phase = phase;
  const isTold = now.error?.again === read;  // with a button of its own
  status.hidden = !now.source || now.picking || phase === "analyzed" || (isTold && phase === "idle");
  phaseText.className = phase === "analyzing" ? "busy" : "";
  readButton.hidden = phase === "analyzing" || isEmpty || isTold;
  readButton.textContent = phase === "stale" ? "Read again" : "Read";
  cancelButton.hidden = phase !== "analyzing";
  if (phase === "idle") phaseText.textContent = isEmpty ? "This file is empty; there is nothing to read." : "Not read yet.";
  if (phase === "stale" && now.source) phaseText.textContent = `The ${NOUNS[now.source.kind]} has changed since it was read.`;
  if (phase === "analyzing") tick();
}

/** Cancel, unless it is the second click on what was "Read" a moment ago. */
function stop() {
  if (Date.now() - (state.running?.began ?? 0) < MOMENT) return;
  cancel();
  readButton.focus();
}

function tick() {
  if (!state.running) return;
  const seconds = Math.floor((Date.now() - state.running.began) / 1000);
  phaseText.textContent = seconds ? `Reading… ${seconds} s` : "Reading…";
}

/** A button without the looks of one. @param {string} kind @param {Attributes} attributes @param {...Child | Child[]} words */
function bare(kind, attributes, ...words) {
  return element("button", { type: "button", class: `bare ${kind}`, ...attributes }, ...words);
}

/** @param {ReadingState} readingState */
function drawNotices({ error, trouble, model, source, reading, picking }) {
  const shown = [];
  if (!source && picking) shown.push(welcome());
  if (error) shown.push(notice("bad", error.text, tryAgain(error)));
  if (trouble && !error) shown.push(notice("warn", trouble));
  if (model && !reading) shown.push(notice("", NO_MODEL, details("Why", model)));
  notices.replaceChildren(...shown);
}

/** @param {string} kind @param {string} words @param {...Node} more */
function notice(kind, words, ...more) {
  return element("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : null }, element("p", {}, words), ...more);
}

/** @param {{ again: () => unknown }} given */
function tryAgain({ again }) {
  return element("button", { type: "button", class: "quiet", onclick: () => again() }, "Try again");
}

/** @param {string} title @param {string} words */
function details(title, words) {
  return element("details", { class: "small" }, element("summary", {}, title), element("p", {}, words));
}

function welcome() {
  return element("div", { class: "welcome" },
    element("h2", {}, "Know what a file is for before you read it"), element("p", { class: "soft" }, WELCOME));
}

// what was found

/** @param {ReadingState} readingState */
function drawResult({ reading }) {
  items = (reading?.blocks ?? []).map(itemOf);
  result.replaceChildren();
  if (reading) result.append(heading(reading), element("ol", { class: "blocks", onkeydown: walk }, items), how(reading.how));
}

/** @param {FileReading} fileReading */
function heading({ intent, blocks: found, how: { execution_path, fallbacks } }) {
  const sketch = execution_path === "sketch" ? element("p", { class: "tag sketch" }, "Sketch, made without a model") : null;
  const none = found.length ? null : element("p", { class: "soft" }, "No parts were found.");
  const failed = (fallbacks ?? []).map(({ path, reason }) =>
    element("p", { class: "fallback small" }, `Fallback: ${path} failed: ${reason}`));
  return element("header", { class: "intent" }, sketch, ...failed, element("h2", {}, worded(intent)), none);
}

/** Words in which `names` are set apart. @param {unknown} text */
function worded(text) {
  return String(text ?? "").split(/`([^`\n]+)`/).map((part, number) => (number % 2 ? element("code", {}, part) : part));
}

/** @param {CodeBlock} block @param {number} index */
function itemOf(block, index) {
  const head = bare("head", { "aria-pressed": "false", onclick: (event) => choose(index, event) },
    element("span", { class: "dot", "aria-hidden": "true" }, String(index + 1)),
    element("span", { class: "label" }, block.label),
    element("span", { class: "description soft" }, worded(block.description)));
  const item = element("li", { class: "block", "data-hue": hueOf(index) },
    head, element("div", { class: "places" }), element("div", { class: "more" }));
  item.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && hover(index));
  item.addEventListener("pointerleave", () => hover(-1));
  item.addEventListener("focusin", ({ target }) => target instanceof Element && target.matches(":focus-visible") && hover(index));
  item.addEventListener("focusout", () => hover(-1));
  return item;
}

/**
 * One click pins, or lets go; the second of a double click shows the block alone, or everything again.
 * @param {number} index @param {MouseEvent} mouseEvent
 */
function choose(index, { detail }) {
  if (detail === 2) return fold(index, clicked.folded !== index);
  clicked = { folded: state.folded };
  if (state.pinned === index) unpin();
  else pin(index);
}

/** @param {ReadingState} now @param {Partial<ReadingState>} before */
function drawChoice(now, before) {
  for (const [index, item] of items.entries()) {
    const isPinned = index === now.pinned;
    item.classList.toggle("lit", index === now.hovered);
    item.classList.toggle("pinned", isPinned);
    query(item, ".head").setAttribute("aria-pressed", String(isPinned));
  }
  if (!differs(["reading", "pinned", "place", "folded"], now, before)) return;
  for (const [index, item] of items.entries()) drawMore(item, index, index === now.pinned);
  if (now.pinned !== before.pinned) items[now.pinned]?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** @param {HTMLElement} item @param {number} index @param {boolean} isPinned */
function drawMore(item, index, isPinned) {
  const focused = item.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  query(item, ".places").replaceChildren(...placesOf(index, isPinned));
  query(item, ".more").replaceChildren(...(isPinned ? [navigator(index), ...chips(index)] : []));
  /** @type {HTMLElement | null} */
  const again = focused ? item.querySelector(`[data-key="${focused}"]`) : null;
  again?.focus();
}

/** @param {number} index @param {boolean} isPinned */
function placesOf(index, isPinned) {
  const { ranges } = blocks()[index];
  const shown = isPinned || ranges.length <= FEW + 1 ? ranges : ranges.slice(0, FEW);
  const link = (/** @type {LineRange} */ range, /** @type {number} */ place) => bare("place", {
    "data-key": `place-${place}`,
    "aria-current": isPinned && place === state.place ? "true" : null,
    onclick: () => pin(index, place),
  }, spoken(range));
  const links = shown.map(link);
  const left = ranges.length - shown.length;
  return left ? [...links, element("span", { class: "soft" }, `and ${left} more`)] : links;
}

/** @param {LineRange} lineRange */
function spoken([from, to]) {
  return from === to ? String(from) : `${from}–${to}`;
}

/** @param {number} index */
function navigator(index) {
  const amount = blocks()[index].ranges.length, isAlone = state.folded === index;
  /** @type {(by: number, key: string, arrow: string, words: string) => HTMLElement} */
  const go = (by, key, arrow, words) =>
    bare("arrow", { "data-key": key, "aria-label": words, title: words, disabled: amount < 2, onclick: () => step(by) }, arrow);
  return element("div", { class: "navigator" },
    element("span", { class: "count" }, amount ? `${state.place + 1}/${amount}` : "no lines"),
    go(-1, "previous", "↑", "Previous place, Ctrl+Up or ["), go(1, "next", "↓", "Next place, Ctrl+Down or ]"),
    bare("fold", { "data-key": "fold", onclick: () => fold(index) }, isAlone ? "Show everything" : "Fold the rest"));
}

/** @param {number} index */
function chips(index) {
  const { elements } = blocks()[index];
  return Object.entries(KINDS).filter(([kind]) => elements[kind]?.length).map(([kind, title]) =>
    element("div", { class: "chips" }, element("span", { class: "soft" }, title), element("span", {},
      (elements[kind] ?? []).map((name) => bare("chip", { onclick: () => find(name, index) }, name)))));
}

/** The arrow keys go from block to block. @param {KeyboardEvent} event */
function walk(event) {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0, heads = items.map((item) => query(item, ".head"));
  const at = heads.findIndex((head) => head === event.target);
  if (!by || event.ctrlKey || at < 0) return;
  event.preventDefault();
  heads[(at + by + heads.length) % heads.length].focus();
}

// how it was read

/** @param {ReadingMetadata} readingMetadata */
function how({ execution_path, why, model, seconds, tokens, cached, notes, tool_reads }) {
  const facts = [
    model && `Read by ${model}`, PATHS[execution_path ?? ""], seconds !== undefined && took(seconds),
    tokens?.input && spent(tokens), cached && "cached",
  ].filter(Boolean);
  return element("footer", { class: "how small soft" },
    element("p", {}, facts.join(" · ")),
    why && element("p", {}, `Reason: ${why.replace(/\.?$/, ".")}`),
    notes && element("p", {}, worded(notes)),
    tool_reads?.length ? reads(tool_reads) : null);
}

/** @param {number} seconds */
function took(seconds) {
  return seconds < 0.1 ? "less than 0.1 s" : `${Number(seconds).toFixed(1)} s`;
}

/** @param {{ input: number, output: number, cached?: number, requests?: number }} given */
function spent({ input, output, cached, requests }) {
  const before = cached ? ` (${formatNumber(cached)} of them cached)` : "";
  const several = requests && requests > 1 ? `, ${requests} requests` : "";
  return `${formatNumber(input)} tokens in${before}, ${formatNumber(output)} out${several}`;
}

/** @param {{ start_line: number, end_line: number, reason: string }[]} seen */
function reads(seen) {
  const rows = seen.map(({ start_line, end_line, reason }) => element("li", {},
    bare("place", { onclick: () => jumpTo(start_line, end_line) }, spoken([start_line, end_line])), ` ${reason}`));
  return element("details", {}, element("summary", {}, `Lines that were looked at: ${seen.length}`), element("ul", {}, rows));
}

readButton.addEventListener("click", read);
cancelButton.addEventListener("click", stop);
setInterval(tick, 1000);

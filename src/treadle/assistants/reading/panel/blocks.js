// The right side: what a file is for, its blocks, how it was read, and where things stand meanwhile.

import { element } from "/static/treadle.js";
import { hueOf } from "./source.js";
import { blocks, cancel, find, fold, hover, jumpTo, phaseOf, pin, read, state, step, unpin } from "./state.js";

const [status, phaseText, readButton, cancelButton, notices, result] =
  ["#status", "#phase", "#read", "#cancel", "#notices", "#result"].map((name) => document.querySelector(name));
const KINDS = { functions: "Functions", types: "Types", state: "State", constants: "Constants", imports: "Imports" };
const PATHS = {
  "fast-path": "sent whole",
  "tool-calling": "by outline, with a tool for what it leaves open",
  "two-stage": "in two stages",
  sketch: "Sketched",
};
const WELCOME = "Pick a file, and read in a few lines why it is there, and which of its parts belong together, even far apart.";
const NO_MODEL = "There is no model here: what you get is a sketch, made from the code alone.";
const NOUNS = { file: "file", pasted: "text" };
const MOMENT = 400;  // milliseconds
const FEW = 5;  // ranges that are shown of a block that isn't pinned
let items = [];
let clicked = { folded: -1 };

/** Draw what has changed. */
export function drawSide(now, before) {
  drawStatus(now);
  if (["error", "trouble", "model", "source", "reading", "picking"].some((name) => now[name] !== before[name])) drawNotices(now);
  if (now.reading !== before.reading || now.source !== before.source) drawResult(now);
  if (["reading", "pinned", "place", "folded", "hovered"].some((name) => now[name] !== before[name])) drawChoice(now, before);
}

// where things stand

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
  if (phase === "stale") phaseText.textContent = `The ${NOUNS[now.source.kind]} has changed since it was read.`;
  if (phase === "analyzing") tick();
}

/** Cancel, unless it is the second click on what was "Read" a moment ago. */
function stop() {
  if (Date.now() - state.running.began < MOMENT) return;
  cancel();
  readButton.focus();
}

function tick() {
  if (!state.running) return;
  const seconds = Math.floor((Date.now() - state.running.began) / 1000);
  phaseText.textContent = seconds ? `Reading… ${seconds} s` : "Reading…";
}

/** A button without the looks of one. */
function bare(kind, attributes, ...words) {
  return element("button", { type: "button", class: `bare ${kind}`, ...attributes }, ...words);
}

function drawNotices({ error, trouble, model, source, reading, picking }) {
  const shown = [];
  if (!source && picking) shown.push(welcome());
  if (error) shown.push(notice("bad", error.text, tryAgain(error)));
  if (trouble && !error) shown.push(notice("warn", trouble));
  if (model && !reading) shown.push(notice("", NO_MODEL, details("Why", model)));
  notices.replaceChildren(...shown);
}

function notice(kind, words, ...more) {
  return element("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : null }, element("p", {}, words), ...more);
}

function tryAgain({ again }) {
  return element("button", { type: "button", class: "quiet", onclick: () => again() }, "Try again");
}

function details(title, words) {
  return element("details", { class: "small" }, element("summary", {}, title), element("p", {}, words));
}

function welcome() {
  return element("div", { class: "welcome" },
    element("h2", {}, "Know what a file is for before you read it"), element("p", { class: "soft" }, WELCOME));
}

// what was found

function drawResult({ reading }) {
  items = (reading?.blocks ?? []).map(itemOf);
  result.replaceChildren();
  if (reading) result.append(heading(reading), element("ol", { class: "blocks", onkeydown: walk }, items), how(reading.how));
}

function heading({ intent, blocks: found, how: { execution_path, fallbacks } }) {
  const sketch = execution_path === "sketch" ? element("p", { class: "tag sketch" }, "Sketch, made without a model") : null;
  const none = found.length ? null : element("p", { class: "soft" }, "No parts were told apart in it.");
  const failed = (fallbacks ?? []).map(({ path, reason }) => element("p", { class: "fallback small" }, `Fallback: ${path} failed: ${reason}`));
  return element("header", { class: "intent" }, sketch, ...failed, element("h2", {}, worded(intent)), none);
}

/** Words in which `names` are set apart. */
function worded(text) {
  return String(text ?? "").split(/`([^`\n]+)`/).map((part, number) => (number % 2 ? element("code", {}, part) : part));
}

function itemOf(block, index) {
  const head = bare("head", { "aria-pressed": "false", onclick: (event) => choose(index, event) },
    element("span", { class: "dot", "aria-hidden": "true" }, String(index + 1)),
    element("span", { class: "label" }, block.label),
    element("span", { class: "description soft" }, worded(block.description)));
  const item = element("li", { class: "block", "data-hue": hueOf(index) },
    head, element("div", { class: "places" }), element("div", { class: "more" }));
  item.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && hover(index));
  item.addEventListener("pointerleave", () => hover(-1));
  item.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && hover(index));
  item.addEventListener("focusout", () => hover(-1));
  return item;
}

/** One click pins, or lets go; the second of a double click shows the block alone, or everything again. */
function choose(index, { detail }) {
  if (detail === 2) return fold(index, clicked.folded !== index);
  clicked = { folded: state.folded };
  if (state.pinned === index) unpin();
  else pin(index);
}

function drawChoice(now, before) {
  for (const [index, item] of items.entries()) {
    const isPinned = index === now.pinned;
    item.classList.toggle("lit", index === now.hovered);
    item.classList.toggle("pinned", isPinned);
    item.querySelector(".head").setAttribute("aria-pressed", String(isPinned));
  }
  if (["reading", "pinned", "place", "folded"].every((name) => now[name] === before[name])) return;
  for (const [index, item] of items.entries()) drawMore(item, index, index === now.pinned);
  if (now.pinned !== before.pinned) items[now.pinned]?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

function drawMore(item, index, isPinned) {
  const focused = item.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  item.querySelector(".places").replaceChildren(...placesOf(index, isPinned));
  item.querySelector(".more").replaceChildren(...(isPinned ? [navigator(index), ...chips(index)] : []));
  if (focused) item.querySelector(`[data-key="${focused}"]`)?.focus();
}

function placesOf(index, isPinned) {
  const { ranges } = blocks()[index];
  const shown = isPinned || ranges.length <= FEW + 1 ? ranges : ranges.slice(0, FEW);
  const link = (range, place) => bare("place", {
    "data-key": `place-${place}`,
    "aria-current": isPinned && place === state.place ? "true" : null,
    onclick: () => pin(index, place),
  }, spoken(range));
  const links = shown.map(link);
  const left = ranges.length - shown.length;
  return left ? [...links, element("span", { class: "soft" }, `and ${left} more`)] : links;
}

function spoken([from, to]) {
  return from === to ? String(from) : `${from}–${to}`;
}

function navigator(index) {
  const amount = blocks()[index].ranges.length, isAlone = state.folded === index;
  const go = (by, key, arrow, words) =>
    bare("arrow", { "data-key": key, "aria-label": words, title: words, disabled: amount < 2, onclick: () => step(by) }, arrow);
  return element("div", { class: "navigator" },
    element("span", { class: "count" }, amount ? `${state.place + 1}/${amount}` : "no lines"),
    go(-1, "previous", "↑", "Previous place, Ctrl+Up or ["), go(1, "next", "↓", "Next place, Ctrl+Down or ]"),
    bare("fold", { "data-key": "fold", onclick: () => fold(index) }, isAlone ? "Show everything" : "Fold the rest"));
}

function chips(index) {
  const { elements } = blocks()[index];
  return Object.entries(KINDS).filter(([kind]) => elements[kind]?.length).map(([kind, title]) =>
    element("div", { class: "chips" }, element("span", { class: "soft" }, title), element("span", {},
      elements[kind].map((name) => bare("chip", { onclick: () => find(name, index) }, name)))));
}

/** The arrow keys go from block to block. */
function walk(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || event.ctrlKey || !event.target.matches(".head")) return;
  event.preventDefault();
  const heads = items.map((item) => item.querySelector(".head"));
  heads[(heads.indexOf(event.target) + by + heads.length) % heads.length].focus();
}

// how it was read

function how({ execution_path, why, model, seconds, tokens, cached, notes, tool_reads }) {
  const facts = [
    model && `Read by ${model}`, PATHS[execution_path], seconds !== undefined && took(seconds),
    tokens?.input && spent(tokens), cached && "kept from an earlier reading",
  ].filter(Boolean);
  return element("footer", { class: "how small soft" },
    element("p", {}, facts.join(" · ")),
    why && element("p", {}, `Why this way: ${why.replace(/\.?$/, ".")}`),
    notes && element("p", {}, worded(notes)),
    tool_reads?.length ? reads(tool_reads) : null);
}

function took(seconds) {
  return seconds < 0.1 ? "less than 0.1 s" : `${Number(seconds).toFixed(1)} s`;
}

function spent({ input, output, cached, requests }) {
  const number = (value) => Number(value).toLocaleString("en");
  const before = cached ? ` (${number(cached)} of them cached)` : "";
  return `${number(input)} tokens in${before}, ${number(output)} out${requests > 1 ? `, ${requests} requests` : ""}`;
}

function reads(seen) {
  const rows = seen.map(({ start_line, end_line, reason }) => element("li", {},
    bare("place", { onclick: () => jumpTo(start_line, end_line) }, spoken([start_line, end_line])), ` ${reason}`));
  return element("details", {}, element("summary", {}, `Lines that were looked at: ${seen.length}`), element("ul", {}, rows));
}

readButton.addEventListener("click", read);
cancelButton.addEventListener("click", stop);
setInterval(tick, 1000);

// The panel of the reading assistant: starts it, and joins what belongs to no single view: keys, the address, noticing changes, and
// what is said aloud to those who don't see the page. What there is to know is in state.js; the views draw it.

import { pluralize } from "/static/format.js";
import { ask, byId, element, question } from "/static/treadle.js";
import { drawSide } from "./blocks.js";
import { drawPicker, look as lookForFiles, toggle } from "./picker.js";
import "./repository.js";
import { drawSource } from "./source.js";
import { linesOf, phaseOf } from "./readings.js";
import { blocks, loadFiles, loadHealth, look, open, pin, read, state, step, unpin, watch } from "./state.js";
import { languageOf, titleOf } from "/static/languages.js";

const OFTEN = 2000;  // milliseconds between looks for a change

// the bar

/** @param {ReadingState} readingState @param {Partial<ReadingState>} before */
function drawBar({ source }, before) {
  if (source === before.source) return;
  byId("name").replaceChildren(...(source ? nameOf(source) : ["Pick a file"]));
  byId("facts").textContent = source ? factsOf(source) : "";
  document.title = `${source ? `${source.name} · ` : ""}Reading · Treadle`;
}

/** The folder is what may be cut off. @param {SourceText} sourceText */
function nameOf({ name }) {
  const cut = name.lastIndexOf("/") + 1;
  return [element("span", { class: "folder" }, name.slice(0, cut)), element("span", {}, name.slice(cut))];
}

/** @param {SourceText} sourceText */
function factsOf({ name, language, text }) {
  const title = titleOf(language || languageOf(name)), lines = pluralize(linesOf(text).length, "line");
  return title ? `${title} · ${lines}` : lines;
}

// the address: #file=…&block=…

/** @param {ReadingState} readingState */
function written({ source, pinned, wanted }) {
  if (source?.kind !== "file") return "";
  const block = blocks()[pinned]?.id ?? wanted;
  const words = new URLSearchParams({ file: source.name, ...(block ? { block } : {}) });
  return `#${words}`.replaceAll("%2F", "/");
}

/** @param {ReadingState} now @param {Partial<ReadingState>} before */
function drawAddress(now, before) {
  if (now.source === null) return;
  const address = `${location.pathname}${location.search}${written(now)}`;
  const isAnother = before.source != null && now.source.name !== before.source.name;
  if (written(now) !== location.hash) history[isAnother ? "pushState" : "replaceState"](null, "", address);
}

function named() {
  return new URLSearchParams(location.hash.slice(1));
}

/** Show what the address names. A block that is named there has been read before, and is read again. */
async function follow() {
  const file = named().get("file"), id = named().get("block") ?? "";
  if (!file || written(state) === location.hash || !(await open(file, id))) return;
  const known = blocks().findIndex((block) => block.id === id);
  if (known >= 0) pin(known);
  else if (id && !state.reading) await read();
  else if (state.pinned >= 0) unpin();
}

// keys

/** @param {KeyboardEvent} event */
function onKey(event) {
  const isWriting = event.target instanceof Element && event.target.matches("input, textarea, select");
  if (event.key === "Escape") return escape();
  if (event.key === "/" && !isWriting && !event.ctrlKey && !event.metaKey) return taken(event, () => toggle(true));
  const by = event.ctrlKey ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : { "[": -1, "]": 1 }[event.key];
  if (by && !isWriting && state.pinned >= 0) taken(event, () => step(by));
}

/** @param {Event} event @param {() => void} act */
function taken(event, act) {
  event.preventDefault();
  act();
}

function escape() {
  if (state.picking) toggle(false);
  else if (state.pinned >= 0) unpin();
}

// said aloud

/** @param {ReadingState} now @param {Partial<ReadingState>} before */
function announce(now, before) {
  const words = newsOf(now, before);
  if (words) byId("said").textContent = words;
}

/** @param {ReadingState} now @param {Partial<ReadingState>} before @returns {string} */
function newsOf(now, before) {
  if (!now.source) return "";
  const phase = phaseOf(now), { name } = now.source;
  if (phase !== phaseOf(before) || now.reading !== before.reading) {
    if (phase === "analyzing") return `Reading ${name}.`;
    if (phase === "analyzed") return `${name} was read: ${pluralize(now.reading?.blocks.length ?? 0, "block")}.`;
    if (phase === "stale") return `${name} has changed since it was read.`;
  }
  if (name !== before.source?.name) return `${name} is shown.`;
  return now.pinned !== before.pinned || now.place !== before.place ? pinnedNews(now) : "";
}

/** @param {ReadingState} readingState */
function pinnedNews({ pinned, place }) {
  const block = blocks()[pinned];
  if (!block) return "No block is pinned.";
  const [from, to] = block.ranges[place] ?? [];
  if (!from) return `${block.label} is pinned.`;
  return `${block.label}, place ${place + 1} of ${block.ranges.length}: lines ${from} to ${to}.`;
}

// the start

function lookWhileSeen() {
  if (document.visibilityState === "visible") look();
}

/** A run in the address: the file that it has read, or else what was said in it, which the first page shows. */
async function followRun() {
  const run = new URLSearchParams(location.search).get("run");
  if (!run || named().get("file")) return;
  const { origin } = await ask(`/api/runs/${encodeURIComponent(run)}`).catch(() => ({ origin: null }));
  if (origin?.about?.path) location.hash = `#${new URLSearchParams({ file: origin.about.path })}`;
  else if (origin) location.replace(`/?run=${encodeURIComponent(run)}`);
}

state.picking = !named().get("file");
for (const draw of [drawBar, drawPicker, drawSource, drawSide, drawAddress, announce]) watch(draw);
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", lookWhileSeen);
addEventListener("focus", lookWhileSeen);
addEventListener("hashchange", follow);
setInterval(lookWhileSeen, OFTEN);
lookForFiles(question().match(/[\w./-]+\.\w+/)?.[0] ?? "");
loadHealth();
loadFiles();
followRun().then(follow);

// The source: lines with their numbers, the blocks they belong to, folds, and the strip that shows the whole file at once. Lines
// lie in chunks that are laid out and tinted only when they come into view. Every row is equally high, so that where a line is can
// be reckoned rather than measured.

import { fitNumbers, tintLine } from "/static/code-view.js";
import { languageOf, tinted } from "/static/languages.js";
import { byId, element } from "/static/treadle.js";
import { linesOf } from "./readings.js";
import { blocks, pin, state, unfold } from "./state.js";

const CHUNK = 100;     // lines
const LONG = 2000;     // lines from which a browser gains by leaving out what isn't seen
const LONGEST = 5000;  // characters of a line that are shown
const CUT = " ⋯ the rest of this line isn't shown";
const FEW = 3;         // lines that aren't worth a fold
const PLAIN = /^[\x20-\x7e]*$/, WIDE = /[\u1100-\uffdc]/g;
const HUES = 6;
const pane = byId("source"), strip = byId("strip");
const seen = element("div", { id: "seen" });

const near = new IntersectionObserver(tintChunks, { root: pane, rootMargin: "100%" });

/** @type {HTMLElement[]} */
let lines = [];   // one for each line
/** @type {[string, string][][]} */
let pieces = [];  // what each line is made of
/** @type {HTMLElement[]} */
let chunks = [];
/** @type {number[]} */
let rows = [];    // the line that each row shows, or begins to hide
/** @type {Element[]} */
let lit = [];
/** @type {HTMLElement | null} */
let spot = null;

/** The hue of a block, from 1. @param {number} index */
export function hueOf(index) {
  return (index % HUES) + 1;
}

/** A block's number in a circle. @param {number} index */
function markOf(index) {
  return index < 20 ? String.fromCodePoint(0x2460 + index) : `(${index + 1})`;
}

/** Draw what has changed. @param {ReadingState} now @param {Partial<ReadingState>} before */
export function drawSource(now, before) {
  const isNew = now.source !== before.source, isRead = isNew || now.reading !== before.reading;
  if (isNew && now.source) build(now.source);
  if (isRead) mark();
  if (isRead || now.folded !== before.folded || now.opened !== before.opened) fold(isNew, now);
  if (isRead || now.hovered !== before.hovered || now.pinned !== before.pinned) light(now);
  if (now.jump && now.jump !== before.jump) jump(now.jump);
}

/** @param {SourceText} sourceText */
function build({ name, text, language }) {
  const texts = linesOf(text);
  near.disconnect();
  pieces = tinted(texts.join("\n"), language || languageOf(name));
  lines = texts.map(lineOf);
  chunks = Array.from({ length: Math.ceil(lines.length / CHUNK) }, (_, number) => chunkOf(number));
  pane.replaceChildren(...chunks);
  for (const chunk of chunks) near.observe(chunk);
  pane.classList.toggle("long", lines.length > LONG);
  pane.setAttribute("aria-label", `Source of ${name}`);
  fitNumbers(pane, lines.length);
  pane.style.setProperty("--columns", `${widest(texts)}`);
  [lit, spot] = [[], null];
  pane.scrollTo({ top: 0, left: 0, behavior: "instant" });
}

/** @param {string} text @param {number} index */
function lineOf(text, index) {
  const line = document.createElement("div");
  line.className = "line";
  line.dataset.n = `${index + 1}`;
  const shown = text.length > LONGEST ? text.slice(0, LONGEST) + CUT : text;
  line.textContent = `${shown}\n`;  // for those who copy it
  return line;
}

/** @param {number} number */
function chunkOf(number) {
  const chunk = element("div", { class: "chunk", "data-chunk": number });
  chunk.append(...lines.slice(number * CHUNK, (number + 1) * CHUNK));
  return chunk;
}

/** How many columns the longest line takes: chunks out of view don't say how wide they would be. @param {string[]} texts */
function widest(texts) {
  return texts.reduce((most, text) => Math.max(most, columnsOf(text)), 0);
}

/** @param {string} text */
function columnsOf(text) {
  const length = Math.min(text.length, LONGEST + CUT.length);
  return PLAIN.test(text) ? length : length + 3 * (text.split("\t").length - 1) + (text.match(WIDE)?.length ?? 0);
}

/** @param {IntersectionObserverEntry[]} changes */
function tintChunks(changes) {
  for (const { target, isIntersecting } of changes) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    const first = Number(target.getAttribute("data-chunk")) * CHUNK;
    for (const [more, line] of lines.slice(first, first + CHUNK).entries()) {
      if (line.textContent.length <= LONGEST) tintLine(line, pieces[first + more]);
    }
  }
}

// blocks

function mark() {
  for (const line of pane.querySelectorAll(".line[data-block]")) {
    for (const name of ["data-block", "data-hue", "data-mark"]) line.removeAttribute(name);
  }
  const bars = [];
  for (const [index, { ranges }] of blocks().entries()) {
    for (const [from, to] of ranges) {
      for (const line of lines.slice(from - 1, to)) own(line, index);
      lines[from - 1].dataset.mark = markOf(index);
      bars.push(barOf(index, from, to));
    }
  }
  strip.replaceChildren(seen, ...bars);
}

/** @param {HTMLElement} line @param {number} index */
function own(line, index) {
  if (line.hasAttribute("data-block")) return;
  line.dataset.block = `${index}`;
  line.dataset.hue = `${hueOf(index)}`;
}

/** @param {number} index @param {number} from @param {number} to */
function barOf(index, from, to) {
  const bar = element("div", { class: "bar-of-block", "data-hue": hueOf(index), "data-block": index });
  bar.style.top = `${((from - 1) / lines.length) * 100}%`;
  bar.style.height = `${((to - from + 1) / lines.length) * 100}%`;
  return bar;
}

/** @param {ReadingState} readingState */
function light({ hovered, pinned }) {
  for (const each of lit) each.classList.remove("lit", "pinned");
  lit = [...partsOf(hovered), ...partsOf(pinned)];
  for (const each of partsOf(hovered)) each.classList.add("lit");
  for (const each of partsOf(pinned)) each.classList.add("pinned");
}

/** The lines of a block, and its bars on the strip. @param {number} index @returns {Element[]} */
function partsOf(index) {
  const ranges = blocks()[index]?.ranges ?? [];
  return [...ranges.flatMap(([from, to]) => lines.slice(from - 1, to)), ...strip.querySelectorAll(`[data-block="${index}"]`)];
}

// folds

/** @param {boolean} isNew @param {ReadingState} readingState */
function fold(isNew, { opened }) {
  const anchor = isNew ? 1 : [...opened].at(-1) ?? firstSeen();
  const shift = isNew ? 0 : topOf(anchor) - pane.scrollTop;
  const gaps = gapsNow();
  for (const old of pane.querySelectorAll(".gap")) old.remove();
  for (const line of pane.querySelectorAll(".line[hidden]")) line.removeAttribute("hidden");
  for (const [from, to] of gaps) foldAway(from, to);
  rows = rowsWithout(new Map(gaps));
  size();
  pane.scrollTo({ top: topOf(anchor) - shift, behavior: "instant" });  // what was looked at stays where it was
  showSeen();
}

/** @param {Map<number, number>} hidden */
function rowsWithout(hidden) {
  const shown = [];
  for (let number = 1; number <= lines.length; number = (hidden.get(number) ?? number) + 1) shown.push(number);
  return shown;
}

/** The first line in view that isn't the beginning of a fold. */
function firstSeen() {
  const top = rowAt(pane.scrollTop);
  return rows.slice(top).find((line) => !lines[line - 1].hidden) ?? rows[top];
}

/** @returns {LineRange[]} */
function gapsNow() {
  const alone = blocks()[state.folded];
  if (!alone) return [];
  /** @type {LineRange[]} */
  const edges = [[0, 0], ...alone.ranges, [lines.length + 1, 0]];
  const gaps = edges.slice(1).map(([from], index) => /** @type {LineRange} */ ([edges[index][1] + 1, from - 1]));
  return gaps.filter(([from, to]) => to - from + 1 >= FEW && !state.opened.has(from));
}

/** @param {number} from @param {number} to */
function foldAway(from, to) {
  const attributes = { type: "button", class: "bare gap", title: `Show lines ${from} to ${to}`, onclick: () => unfold(from) };
  const gap = element("button", attributes, `⋯ ${(to - from + 1).toLocaleString("en")} lines`);
  lines[from - 1].before(gap);
  for (const line of lines.slice(from - 1, to)) line.hidden = true;
}

/** Tell each chunk how many rows it has. */
function size() {
  const amounts = new Map();
  for (const line of rows) {
    const chunk = Math.floor((line - 1) / CHUNK);
    amounts.set(chunk, (amounts.get(chunk) ?? 0) + 1);
  }
  for (const [number, chunk] of chunks.entries()) chunk.style.setProperty("--rows", `${amounts.get(number) ?? 0}`);
}

// where one is

function height() {
  return parseFloat(getComputedStyle(pane).lineHeight);
}

/** @param {number} top */
function rowAt(top) {
  return Math.min(Math.max(Math.floor(top / height()), 0), rows.length - 1);
}

/** The row that shows a line, or the fold that hides it. @param {number} line */
function rowOf(line) {
  const after = rows.findIndex((first) => first > line);
  return (after < 0 ? rows.length : after) - 1;
}

/** @param {number} line */
function topOf(line) {
  return rowOf(line) * height();
}

/** @param {{ from: number, to: number }} given */
function jump({ from, to }) {
  const row = height(), view = pane.clientHeight;
  const top = topOf(from), extent = topOf(to) - top + row;
  point(lines[from - 1]);
  if (top >= pane.scrollTop && top + Math.min(extent, view / 2) <= pane.scrollTop + view) return;
  const wanted = extent < view * 0.8 ? top - (view - extent) / 2 : top - 3 * row;
  pane.scrollTo({ top: wanted, left: 0, behavior: "instant" });  // a next jump must not meet one under way
}

/** @param {HTMLElement} line */
function point(line) {
  spot?.classList.remove("spot");
  spot = line;
  spot?.classList.add("spot");
}

function showSeen() {
  const last = rowAt(pane.scrollTop + pane.clientHeight - 1);
  seen.hidden = rows.length === 0 || (rowAt(pane.scrollTop) === 0 && last === rows.length - 1);
  if (seen.hidden) return;
  const first = firstSeen();
  seen.style.top = `${((first - 1) / lines.length) * 100}%`;
  seen.style.height = `${((rows[last] - first + 1) / lines.length) * 100}%`;
}

/** @param {PointerEvent} event */
function followStrip(event) {
  if (!(event.buttons & 1)) return;
  const box = strip.getBoundingClientRect();
  const line = Math.ceil(((event.clientY - box.top) / box.height) * lines.length);
  pane.scrollTo({ top: topOf(line) - pane.clientHeight / 2, behavior: "instant" });
}

/** @param {MouseEvent} event */
function chooseLine(event) {
  const line = event.target instanceof Element ? event.target.closest(".line[data-block]") : null;
  if (!(line instanceof HTMLElement) || !getSelection()?.isCollapsed) return;
  const index = Number(line.dataset.block), number = Number(line.dataset.n);
  const place = blocks()[index].ranges.findIndex(([from, to]) => from <= number && number <= to);
  pin(index, place, { jump: false });
}

let drawing = 0;
pane.addEventListener("scroll", () => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(showSeen);
}, { passive: true });
new ResizeObserver(showSeen).observe(pane);
pane.addEventListener("click", chooseLine);
strip.addEventListener("pointerdown", (event) => {
  strip.setPointerCapture(event.pointerId);
  followStrip(event);
});
strip.addEventListener("pointermove", followStrip);

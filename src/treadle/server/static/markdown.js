// Markdown made elements: what a model says, as it says it. Nothing here is ever HTML: what looks like it is shown as text.
//   import { markdown, show } from "/static/markdown.js";
// `markdown` makes nodes of a text. `show` keeps an element up to date with a text that grows, and touches only what has changed.
// Blocks are here, what stands within a line is in inline.js.

import { inline } from "./inline.js";
import { formulaAt, formulaNode } from "./math.js";
import { element } from "./treadle.js";

const FENCE = /^( {0,3})(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*)|[ \t]*)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*)|[ \t]*)$/;
const UNDERLINE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const MATH = /^ {0,3}(?:\$\$|\\\[)/;
const TALLEST = 60;  // lines of a formula
const DEEPEST = 20;  // lists and quotes within one another; what lies deeper is a paragraph

const shown = new WeakMap();  // what an element shows: [{ source, node }]

/** The nodes of a text. */
export function markdown(text) {
  return blocksOf(linesOf(text), 0).map(nodeOf);
}

/** Have an element show a text. Blocks that are as they were keep their nodes, so that it is cheap while the text grows. */
export function show(place, text) {
  const before = shown.get(place) ?? [], blocks = blocksOf(linesOf(text), 0);
  const now = blocks.map((block, index) => {
    const { source, node } = before[index] ?? {};
    return source === block.source ? before[index] : { source: block.source, node: continued(block, node) ?? nodeOf(block) };
  });
  for (const [index, { node }] of now.entries()) {
    const old = before[index]?.node;
    if (!old) place.append(node);
    else if (old !== node) old.replaceWith(node);
  }
  for (const { node } of before.slice(now.length)) node.remove();
  shown.set(place, now);
}

/** Code that has grown: its node with more text in it, so that what was selected or scrolled there stays so. */
function continued(block, node) {
  if (block.kind !== "code" || node?.tagName !== "PRE" || (node.dataset.language ?? "") !== block.language) return null;
  node.firstChild.firstChild.data = block.text;
  return node;
}

function linesOf(text) {
  return text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd").split("\n");
}

// telling blocks apart: each with its kind, what is in it, and the source it was made of

function blocksOf(lines, depth) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (!lines[at].trim()) {
      at++;
      continue;
    }
    const block = blockAt(lines, at, depth);
    blocks.push({ ...block, source: lines.slice(at, block.end).join("\n") });
    at = block.end;
  }
  return blocks;
}

function blockAt(lines, at, depth) {
  return codeAt(lines, at) ?? mathAt(lines, at) ?? headingAt(lines, at) ?? ruleAt(lines, at)
    ?? (depth < DEEPEST ? quoteAt(lines, at, depth) ?? listAt(lines, at, depth) : null)
    ?? tableAt(lines, at) ?? paragraphAt(lines, at, depth);
}

/** A fence lasts to one like it; one that isn't there yet is still to come. */
function codeAt(lines, at) {
  const [, indent, fence, language] = FENCE.exec(lines[at]) ?? [];
  if (!fence) return null;
  const close = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}[ \\t]*$`);
  const more = lines.slice(at + 1).findIndex((line) => close.test(line));
  const end = more < 0 ? lines.length : at + 1 + more;
  const text = lines.slice(at + 1, end).map((line) => dedented(line, indent.length)).join("\n");
  return { kind: "code", language: language.trim().split(/\s/)[0], text, end: more < 0 ? end : end + 1 };
}

/** A formula of its own lines, whatever its signs would mean elsewhere. */
function mathAt(lines, at) {
  if (!MATH.test(lines[at])) return null;
  const text = lines.slice(at, at + TALLEST).join("\n").trimStart(), formula = formulaAt(text, 0);
  if (!formula || !/^[ \t]*(?:\n|$)/.test(text.slice(formula.end))) return null;
  return { kind: "math", formula, end: at + formula.source.split("\n").length };
}

function headingAt(lines, at) {
  const [, marks, words] = HEADING.exec(lines[at]) ?? [];
  return marks ? { kind: "heading", level: marks.length, text: unclosed(words ?? ""), end: at + 1 } : null;
}

/** The words of a heading without the marks that may close it. */
function unclosed(words) {
  const text = words.trimEnd();
  let end = text.length;
  while (text[end - 1] === "#") end--;
  return end === 0 || /[ \t]/.test(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

function ruleAt(lines, at) {
  return RULE.test(lines[at]) ? { kind: "rule", end: at + 1 } : null;
}

function quoteAt(lines, at, depth) {
  const end = until(lines, at, (line) => !QUOTE.test(line));
  if (end === at) return null;
  return { kind: "quote", blocks: blocksOf(lines.slice(at, end).map((line) => line.replace(QUOTE, "")), depth + 1), end };
}

function listAt(lines, at, depth) {
  const first = itemAt(lines, at, depth);
  if (!first) return null;
  const items = [first];
  for (let next = first; ;) {
    const start = until(lines, next.end, (line) => line.trim());
    next = RULE.test(lines[start] ?? "") ? null : itemAt(lines, start, depth);
    if (next?.mark !== first.mark) break;
    items.push({ ...next, isApart: start > items.at(-1).end });
  }
  const isLoose = items.some((item) => item.isApart || item.isLoose);
  return { kind: "list", start: first.number, items, isLoose, end: items.at(-1).end };
}

/** An item: its first line, and those that are set in under it. Two spaces are enough, as that is what many write. */
function itemAt(lines, at, depth) {
  const [, indent, mark, space = " ", rest = ""] = ITEM.exec(lines[at] ?? "") ?? [];
  if (!mark) return null;
  const least = indent.length + 2, belongs = (line) => widthOf(line) >= least;
  const goesOn = (end) => isPlain(inside, inside.length - 1, depth) && isPlain(lines, end, depth);
  const inside = [rest];
  let end = at + 1, isLoose = false, offset = indent.length + mark.length + (space.length > 4 ? 1 : space.length);
  for (; end < lines.length; end++) {
    if (lines[end].trim()) {
      if (!belongs(lines[end]) && !goesOn(end)) break;
      if (belongs(lines[end])) offset = Math.min(offset, widthOf(lines[end]));
      inside.push(dedented(lines[end], offset));
      continue;
    }
    const next = until(lines, end, (line) => line.trim());
    if (next === lines.length || !belongs(lines[next])) break;
    isLoose = true;
    inside.push(...Array(next - end).fill(""));
    end = next - 1;
  }
  const number = Number.parseInt(mark, 10);
  return { mark: Number.isNaN(number) ? mark : `1${mark.at(-1)}`, number, blocks: blocksOf(inside, depth + 1), isLoose, end };
}

function tableAt(lines, at) {
  if (!lines[at].includes("|") || !UNDERLINE.test(lines[at + 1] ?? "")) return null;
  const head = cellsOf(lines[at]), aligned = cellsOf(lines[at + 1]).map(alignmentOf);
  if (head.length !== aligned.length) return null;
  const end = until(lines, at + 2, (line) => !line.trim() || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line));
  return { kind: "table", head, aligned, rows: lines.slice(at + 2, end).map(cellsOf), end };
}

function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function alignmentOf(cell) {
  if (!cell.endsWith(":")) return null;
  return cell.startsWith(":") ? "center" : "right";
}

function paragraphAt(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && isPlain(lines, end, depth)) end++;
  return { kind: "paragraph", text: lines.slice(at, end).map((line) => line.trimStart()).join("\n"), end };
}

/** Whether a line goes on with a paragraph. */
function isPlain(lines, at, depth) {
  const line = lines[at];
  if (!line.trim() || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || mathAt(lines, at)) return false;
  if (depth < DEEPEST && (QUOTE.test(line) || ITEM.exec(line)?.[4])) return false;
  return !(line.includes("|") && tableAt(lines, at));
}

function until(lines, at, isEnd) {
  let end = at;
  while (end < lines.length && !isEnd(lines[end])) end++;
  return end;
}

function widthOf(line) {
  return line.replaceAll("\t", "    ").search(/\S|$/);
}

function dedented(line, width) {
  const plain = line.replace(/^[ \t]+/, (space) => space.replaceAll("\t", "    "));
  return plain.slice(Math.min(width, plain.search(/\S|$/)));
}

// the elements of blocks

const MAKERS = {
  code: ({ language, text }) =>
    element("pre", { "data-language": language || null }, element("code", {}, document.createTextNode(text))),
  math: ({ formula }) => element("p", {}, formulaNode(formula)),
  heading: ({ level, text }) => element(`h${Math.min(level + 2, 6)}`, {}, inline(text)),  // the page has two above
  rule: () => element("hr"),
  quote: ({ blocks }) => element("blockquote", {}, blocks.map(nodeOf)),
  list: ({ start, items, isLoose }) => element(Number.isNaN(start) ? "ul" : "ol", { start: start > 1 ? start : null },
    items.map((item) => itemOf(item, isLoose))),
  table: ({ head, aligned, rows }) => element("div", { class: "table", tabindex: "0" }, element("table", {},
    element("thead", {}, rowOf("th", head, aligned)),
    element("tbody", {}, rows.map((row) => rowOf("td", head.map((_, index) => row[index] ?? ""), aligned))))),
  paragraph: ({ text }) => element("p", {}, inline(text)),
};

function nodeOf(block) {
  return MAKERS[block.kind](block);
}

function itemOf({ blocks }, isLoose) {
  const isBare = ({ kind }) => kind === "paragraph" && !isLoose;
  return element("li", {}, blocks.flatMap((block) => (isBare(block) ? inline(block.text) : [nodeOf(block)])));
}

function rowOf(tag, cells, aligned) {
  return element("tr", {}, cells.map((cell, index) => element(tag, { "data-align": aligned[index] }, inline(cell))));
}

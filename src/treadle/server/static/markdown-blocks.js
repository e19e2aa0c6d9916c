// The blocks of a Markdown text as data: headings, lists, tables, code. No page is needed: markdown.js makes elements of them, and
// inline.js reads what stands within a line. Takes time in proportion to the text, whatever is in it.

import { formulaAt } from "./formulas.js";

const FENCE = /^( {0,3})(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*)|[ \t]*)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*)|[ \t]*)$/;
const UNDERLINE = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const MATH = /^ {0,3}(?:\$\$|\\\[)/;
const TALLEST = 60;  // lines of a formula
const DEEPEST = 20;  // lists and quotes within one another; what lies deeper is a paragraph

/**
 * @typedef {{ kind: "code", language: string, text: string } | { kind: "math", formula: Formula }
 *   | { kind: "heading", level: number, text: string } | { kind: "rule" } | { kind: "quote", blocks: Block[] }
 *   | { kind: "list", start: number, items: Item[], isLoose: boolean } | { kind: "paragraph", text: string }
 *   | { kind: "table", head: string[], aligned: (string | null)[], rows: string[][] }} Content
 * @typedef {Content & { end: number }} Found
 * @typedef {Found & { source: string }} Block each with the lines that it was made of
 * @typedef {{ mark: string, number: number, blocks: Block[], isLoose: boolean, end: number, isApart?: boolean }} Item
 */

/** The blocks of a text. @param {string} text */
export function blocksIn(text) {
  return blocksOf(linesOf(text), 0);
}

/** @param {string} text */
function linesOf(text) {
  return text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd").split("\n");
}

/** @param {string[]} lines @param {number} depth @returns {Block[]} */
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

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Found} */
function blockAt(lines, at, depth) {
  return codeAt(lines, at) ?? mathAt(lines, at) ?? headingAt(lines, at) ?? ruleAt(lines, at)
    ?? (depth < DEEPEST ? quoteAt(lines, at, depth) ?? listAt(lines, at, depth) : null)
    ?? tableAt(lines, at) ?? paragraphAt(lines, at, depth);
}

/**
 * A fence lasts to one like it; one that isn't there yet is still to come.
 * @param {string[]} lines @param {number} at @returns {Found | null}
 */
function codeAt(lines, at) {
  const [, indent, fence, language] = FENCE.exec(lines[at]) ?? [];
  if (!fence) return null;
  const close = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}[ \\t]*$`);
  const more = lines.slice(at + 1).findIndex((line) => close.test(line));
  const end = more < 0 ? lines.length : at + 1 + more;
  const text = lines.slice(at + 1, end).map((line) => dedented(line, indent.length)).join("\n");
  return { kind: "code", language: language.trim().split(/\s/)[0], text, end: more < 0 ? end : end + 1 };
}

/**
 * A formula of its own lines, whatever its signs would mean elsewhere.
 * @param {string[]} lines @param {number} at @returns {Found | null}
 */
function mathAt(lines, at) {
  if (!MATH.test(lines[at])) return null;
  const text = lines.slice(at, at + TALLEST).join("\n").trimStart(), formula = formulaAt(text, 0);
  if (!formula || !/^[ \t]*(?:\n|$)/.test(text.slice(formula.end))) return null;
  return { kind: "math", formula, end: at + formula.source.split("\n").length };
}

/** @param {string[]} lines @param {number} at @returns {Found | null} */
function headingAt(lines, at) {
  const [, marks, words] = HEADING.exec(lines[at]) ?? [];
  return marks ? { kind: "heading", level: marks.length, text: unclosed(words ?? ""), end: at + 1 } : null;
}

/** The words of a heading without the marks that may close it. @param {string} words */
function unclosed(words) {
  const text = words.trimEnd();
  let end = text.length;
  while (text[end - 1] === "#") end--;
  return end === 0 || /[ \t]/.test(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

/** @param {string[]} lines @param {number} at @returns {Found | null} */
function ruleAt(lines, at) {
  return RULE.test(lines[at]) ? { kind: "rule", end: at + 1 } : null;
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Found | null} */
function quoteAt(lines, at, depth) {
  const end = until(lines, at, (line) => !QUOTE.test(line));
  if (end === at) return null;
  return { kind: "quote", blocks: blocksOf(lines.slice(at, end).map((line) => line.replace(QUOTE, "")), depth + 1), end };
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Found | null} */
function listAt(lines, at, depth) {
  const first = itemAt(lines, at, depth);
  if (!first) return null;
  const items = [first];
  for (let last = first; ;) {
    const start = until(lines, last.end, (line) => line.trim()), next = RULE.test(lines[start] ?? "") ? null : itemAt(lines, start, depth);
    if (next?.mark !== first.mark) break;
    items.push({ ...next, isApart: start > last.end });
    last = next;
  }
  const isLoose = items.some((item) => item.isApart || item.isLoose);
  return { kind: "list", start: first.number, items, isLoose, end: items[items.length - 1].end };
}

/**
 * An item: its first line, and those that are set in under it. Two spaces are enough, as that is what many write.
 * @param {string[]} lines @param {number} at @param {number} depth @returns {Item | null}
 */
function itemAt(lines, at, depth) {
  const [, indent, mark, space = " ", rest = ""] = ITEM.exec(lines[at] ?? "") ?? [];
  if (!mark) return null;
  const least = indent.length + 2, belongs = (/** @type {string} */ line) => widthOf(line) >= least;
  const goesOn = (/** @type {number} */ end) => isPlain(inside, inside.length - 1, depth) && isPlain(lines, end, depth);
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

/** @param {string[]} lines @param {number} at @returns {Found | null} */
function tableAt(lines, at) {
  if (!lines[at].includes("|") || !UNDERLINE.test(lines[at + 1] ?? "")) return null;
  const head = cellsOf(lines[at]), aligned = cellsOf(lines[at + 1]).map(alignmentOf);
  if (head.length !== aligned.length) return null;
  const end = until(lines, at + 2, (line) => !line.trim() || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line));
  return { kind: "table", head, aligned, rows: lines.slice(at + 2, end).map(cellsOf), end };
}

/** @param {string} line */
function cellsOf(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** @param {string} cell */
function alignmentOf(cell) {
  if (!cell.endsWith(":")) return null;
  return cell.startsWith(":") ? "center" : "right";
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Found} */
function paragraphAt(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && isPlain(lines, end, depth)) end++;
  return { kind: "paragraph", text: lines.slice(at, end).map((line) => line.trimStart()).join("\n"), end };
}

/** Whether a line goes on with a paragraph. @param {string[]} lines @param {number} at @param {number} depth @returns {boolean} */
function isPlain(lines, at, depth) {
  const line = lines[at];
  if (!line.trim() || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || mathAt(lines, at)) return false;
  if (depth < DEEPEST && (QUOTE.test(line) || ITEM.exec(line)?.[4])) return false;
  return !(line.includes("|") && tableAt(lines, at));
}

/** @param {string[]} lines @param {number} at @param {(line: string) => unknown} isEnd */
function until(lines, at, isEnd) {
  let end = at;
  while (end < lines.length && !isEnd(lines[end])) end++;
  return end;
}

/** @param {string} line */
function widthOf(line) {
  return line.replaceAll("\t", "    ").search(/\S|$/);
}

/** @param {string} line @param {number} width */
function dedented(line, width) {
  const plain = line.replace(/^[ \t]+/, (space) => space.replaceAll("\t", "    "));
  return plain.slice(Math.min(width, plain.search(/\S|$/)));
}

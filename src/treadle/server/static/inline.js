// What stands within a line of Markdown, as data: emphasis, code, links, formulas. No page is needed: markdown.js makes nodes of it.
// Takes time in proportion to the text, whatever is in it: it may be a stranger's.

import { formulaAt } from "./formulas.js";

const PROTOCOLS = ["http:", "https:", "mailto:"];
/** @type {Record<string, (string | null)[]>} */
const TAGS = { "*": ["em", "strong"], "_": ["em", "strong"], "~": [null, "del"] };  // for one mark, and for two
const PLAIN = /[^\\`*_~[\]!<h\n$]+/y;
const ESCAPE = /\\([!-/:-@[-`{-~])/y;
const TICKS = /`+/y;
const WORDS = String.raw`!?\[((?:[^[\]\\]|\\[^]|\[[^[\]]*\])*)\]`;
const TARGET = String.raw`(<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)`, TITLE = String.raw`(?:\s{1,3}(?:"[^"]*"|'[^']*'))?`;
const LINK = new RegExp(String.raw`${WORDS}\([ \t]{0,3}${TARGET}${TITLE}[ \t]{0,3}\)`, "y");
const POINTED = /<((?:https?:|mailto:)[^\s<>]+)>/y;
const BARE = /https?:\/\/[^\s<>`*]*[^\s<>`*.,:;!?'")\]}|_~]/y;
const BREAK = /\n[ \t]*/y;
const MARKS = /\*+|_+|~+/y;
const DEEPEST = 30;  // openings of one sign that wait to be closed
const SPACE = /\s|^$/, SIGN = /[\p{P}\p{S}]/u;

/**
 * @typedef {string | { formula: Formula } | { tag: string, attributes?: Record<string, string>, pieces: Piece[] }} Piece
 * @typedef {{ mark: string, left: number, opened: string[], closed: number, opens: boolean, closes: boolean }} Mark
 * @typedef {{ text?: string, piece?: Piece, mark?: undefined } | Mark & { text?: undefined, piece?: undefined }} Token
 * @typedef {[Token, number]} Found a token, and where the next one begins
 * @typedef {(pattern: RegExp, index: number) => RegExpExecArray | null} At
 */

/** The pieces of a text without blocks. @param {string} text @param {{ links?: boolean }} [options] @returns {Piece[]} */
export function inline(text, { links = true } = {}) {
  return nested(paired(tokensOf(text, links)));
}

// tokens: text, pieces, and marks of which it isn't clear yet what they mean

/** @param {string} text @param {boolean} links */
function tokensOf(text, links) {
  /** @type {Token[]} */
  const tokens = [];
  /** @type {Set<number>} */
  const without = new Set();  // lengths of runs of backticks that aren't closed
  /** @type {At} */
  const at = (pattern, index) => {
    pattern.lastIndex = index;
    return pattern.exec(text);
  };
  for (let index = 0; index < text.length;) {
    /** @type {Found} */
    const [token, end] = mathAt(text, index) ?? plainAt(at, index) ?? codeAt(text, at, index, without)
      ?? (links ? linkAt(text, at, index) : null) ?? breakAt(at, index, tokens) ?? marksAt(text, at, index)
      ?? [{ text: text[index] }, index + 1];
    tokens.push(token);
    index = end;
  }
  return tokens;
}

/** @param {string} text @param {number} index @returns {Found | null} */
function mathAt(text, index) {
  const formula = formulaAt(text, index);
  return formula && [{ piece: { formula } }, formula.end];
}

/** @param {At} at @param {number} index @returns {Found | null} */
function plainAt(at, index) {
  const escaped = at(ESCAPE, index);
  if (escaped) return [{ text: escaped[1] }, index + 2];
  const plain = at(PLAIN, index);
  return plain && [{ text: plain[0] }, index + plain[0].length];
}

/** @param {string} text @param {At} at @param {number} index @param {Set<number>} without @returns {Found | null} */
function codeAt(text, at, index, without) {
  const ticks = at(TICKS, index)?.[0];
  if (!ticks) return null;
  const start = index + ticks.length;
  const close = without.has(ticks.length) ? -1 : closing(text, ticks, start);
  if (close < 0) {
    without.add(ticks.length);
    return [{ text: ticks }, start];
  }
  const inner = text.slice(start, close).replaceAll("\n", " ");
  const code = /^ .*\S.* $/.test(inner) ? inner.slice(1, -1) : inner;
  return [{ piece: { tag: "code", pieces: [code] } }, close + ticks.length];
}

/** @param {string} text @param {string} ticks @param {number} start */
function closing(text, ticks, start) {
  for (let index = text.indexOf(ticks, start); index >= 0; index = text.indexOf(ticks, index)) {
    let end = index;
    while (text[end] === "`") end++;
    if (end - index === ticks.length) return index;
    index = end;
  }
  return -1;
}

/** @param {string} text @param {At} at @param {number} index @returns {Found | null} */
function linkAt(text, at, index) {
  const found = "![".includes(text[index]) ? at(LINK, index) : null;
  if (found) {
    const piece = linkOf(found[2].replace(/^<|>$/g, ""), inline(found[1] || found[2], { links: false }));
    return piece ? [{ piece }, index + found[0].length] : null;
  }
  const address = at(POINTED, index)?.[1] ?? (isWord(text[index - 1]) ? null : at(BARE, index)?.[0]);
  const piece = address && linkOf(address, [address]);
  return piece ? [{ piece }, index + address.length + (text[index] === "<" ? 2 : 0)] : null;
}

/**
 * A link, where its address is one that may be followed; null where it isn't. Pictures become links too: nothing is fetched.
 * @param {string} address @param {Piece[]} pieces @returns {Piece | null}
 */
function linkOf(address, pieces) {
  let url;
  try {
    url = new URL(address.replace(/\\([!-/:-@[-`{-~])/g, "$1"), location.href);
  } catch {
    return null;
  }
  if (!PROTOCOLS.includes(url.protocol)) return null;
  return { tag: "a", attributes: { href: url.href, rel: "noopener noreferrer", target: "_blank" }, pieces };
}

/**
 * A line that ends in two spaces or a backslash is broken there; any other goes on.
 * @param {At} at @param {number} index @param {Token[]} tokens @returns {Found | null}
 */
function breakAt(at, index, tokens) {
  const found = at(BREAK, index);
  if (!found) return null;
  const last = tokens.at(-1), isBroken = last?.text === "\\" || last?.text?.endsWith("  ");
  if (last?.text !== undefined) last.text = last.text === "\\" ? "" : last.text.trimEnd();
  return [isBroken ? { piece: { tag: "br", pieces: [] } } : { text: "\n" }, index + found[0].length];
}

/** @param {string} text @param {At} at @param {number} index @returns {Found | null} */
function marksAt(text, at, index) {
  const marks = at(MARKS, index)?.[0];
  if (!marks) return null;
  const end = index + marks.length, before = charBefore(text, index), after = String.fromCodePoint(text.codePointAt(end) ?? 32);
  const opens = !SPACE.test(after) && (!SIGN.test(after) || SPACE.test(before) || SIGN.test(before));
  const closes = !SPACE.test(before) && (!SIGN.test(before) || SPACE.test(after) || SIGN.test(after));
  const isInner = marks[0] === "_" && opens && closes;  // as in snake_case
  const mark = { mark: marks[0], left: marks.length, opened: [], closed: 0 };
  return [{ ...mark, opens: opens && !(isInner && !SIGN.test(before)), closes: closes && !(isInner && !SIGN.test(after)) }, end];
}

/** @param {string} text @param {number} index */
function charBefore(text, index) {
  if (index === 0) return " ";
  return /[\udc00-\udfff]/.test(text[index - 1]) && index > 1 ? text.slice(index - 2, index) : text[index - 1];
}

/** @param {string | undefined} letter */
function isWord(letter) {
  return letter !== undefined && /[\p{L}\p{N}]/u.test(letter);
}

// marks that belong together: the one that opens learns which tags it opens, the one that closes how many

/** @param {Token[]} tokens */
function paired(tokens) {
  /** @type {Record<string, number[]>} */
  const waiting = { "*": [], "_": [], "~": [] };  // indexes of marks that may open something, for each sign
  for (const [index, token] of tokens.entries()) {
    if (!token.mark) continue;
    while (token.closes && token.left && pair(tokens, waiting, token));
    if (token.opens && token.left && waiting[token.mark].length < DEEPEST) waiting[token.mark].push(index);
  }
  return tokens;
}

/**
 * Close what was opened last with the same sign. What was opened since can't be closed any more.
 * @param {Token[]} tokens @param {Record<string, number[]>} waiting @param {Mark} closer
 */
function pair(tokens, waiting, closer) {
  const stack = waiting[closer.mark], last = stack[stack.length - 1], opener = tokens[last];
  if (!opener?.mark) return false;
  const amount = Math.min(2, opener.left, closer.left), tag = TAGS[closer.mark][amount - 1];
  if (!tag) return false;
  opener.opened.unshift(tag);
  closer.closed++;
  opener.left -= amount;
  closer.left -= amount;
  for (const sign of Object.keys(waiting)) while (waiting[sign][waiting[sign].length - 1] > last) waiting[sign].pop();
  if (!opener.left) stack.pop();
  return true;
}

/** Pieces within pieces, as the marks say. @param {Token[]} tokens */
function nested(tokens) {
  /** @type {Piece[][]} */
  const open = [[]];
  for (const token of tokens) {
    if (!token.mark) {
      append(open[open.length - 1], token.piece ?? token.text ?? "");
      continue;
    }
    for (let count = 0; count < token.closed; count++) open.pop();
    if (token.left) append(open[open.length - 1], token.mark.repeat(token.left));
    for (const tag of token.opened) {
      /** @type {Piece[]} */
      const pieces = [];
      open[open.length - 1].push({ tag, pieces });
      open.push(pieces);
    }
  }
  return open[0];
}

/** Texts that follow one another become one. @param {Piece[]} pieces @param {Piece} piece */
function append(pieces, piece) {
  const last = pieces.length - 1, before = pieces[last];
  if (typeof piece === "string" && typeof before === "string") pieces[last] = before + piece;
  else if (piece !== "") pieces.push(piece);
}

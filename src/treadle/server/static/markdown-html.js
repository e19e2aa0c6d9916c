// Markdown as HTML, block by block, parsed by markdown-it: CommonMark with tables, strikethrough, bare addresses, task lists and
// formulas. HTML in a text is shown as text. No page is needed; markdown.js checks what comes out of this, and makes nodes of it.

import { formulaAt } from "./formulas.js";
import MarkdownIt from "/static/markdown-it/markdown-it.min.js";

/** @typedef {import("/static/markdown-it/markdown-it.min.js").Token} Token */
/**
 * A block: the lines it was made of, which tell whether it has changed, where they begin, and of a block of code its language and
 * text, and whether its end is still to come.
 * @typedef {{ key: string, source: string, start: number, code: Code | null, references: object }} Block
 * @typedef {{ language: string, text: string, isOpen?: boolean }} Code
 */

const PROTOCOLS = ["http:", "https:", "mailto:"];
const TALLEST = 60;  // lines of a formula
const TASK = /^\[([ xX])\] /;
const md = new MarkdownIt({ html: false, linkify: true });

md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }).add("//", null).add("ftp:", null);
md.validateLink = isSafe;
md.inline.ruler.before("escape", "formula", inlineFormula);
md.block.ruler.before("fence", "formula", blockFormula, { alt: ["paragraph", "reference", "blockquote", "list"] });
md.core.ruler.push("page", adapt);

/**
 * The blocks of a text that has grown: those before the last block stay as they are, so that it is cheap. References that came since
 * are not in them.
 * @param {string} text @param {string} before @param {Block[]} blocks those of the text before
 * @returns {Block[]}
 */
export function continuedBlocks(text, before, blocks) {
  const last = blocks.at(-1);
  if (!last || text.includes("\r") || !text.startsWith(before)) return blocksOf(text);
  const rest = blocksOf(text.slice(last.start)).map((block) => ({ ...block, start: block.start + last.start }));
  return [...blocks.slice(0, -1), ...rest];
}

/** The blocks of a text. @param {string} text @returns {Block[]} */
export function blocksOf(text) {
  const source = text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd"), lines = source.split("\n"), starts = [0];
  for (const line of lines) starts.push(starts[starts.length - 1] + line.length + 1);
  /** @type {{ references?: object }} */
  const env = {};
  /** @type {Token[]} */
  const tokens = [];
  md.block.parse(source, md, env, tokens);
  const references = env.references ?? {}, known = env.references ? JSON.stringify(references) : "";
  return tokens.filter(({ level, nesting, map }) => level === 0 && nesting >= 0 && map).map((token) => {
    const [start, end] = token.map ?? [0, 0], own = lines.slice(start, end).join("\n").trimEnd();
    return { key: own + known, source: own, start: starts[start], code: token.type === "fence" ? fenceOf(token, lines) : null, references };
  });
}

/** Blocks as HTML, each in a `div`, with the formulas that elements `[data-formula]` stand for, by number. @param {Block[]} blocks */
export function htmlOf(blocks) {
  /** @type {Formula[]} */
  const formulas = [];
  return { html: blocks.map(({ source, references }) => `<div>${md.render(source, { references, formulas })}</div>`).join(""), formulas };
}

/** The same of a text without blocks. @param {string} text */
export function inlineHtmlOf(text) {
  /** @type {{ formulas: Formula[] }} */
  const env = { formulas: [] };
  return { html: md.renderInline(text, env), formulas: env.formulas };
}

/** Where links may lead. @param {string} address */
function isSafe(address) {
  try {
    return PROTOCOLS.includes(new URL(address, location.href).protocol);
  } catch {
    return false;
  }
}

// formulas

/** @param {any} state @param {boolean} silent */
function inlineFormula(state, silent) {
  const sign = state.src[state.pos], formula = sign === "$" || sign === "\\" ? formulaAt(state.src, state.pos) : null;
  if (!formula || formula.end > state.posMax) return false;
  if (!silent) state.push("formula", "", 0).meta = formula;
  state.pos = formula.end;
  return true;
}

/**
 * A formula of its own lines, whatever its signs would mean elsewhere.
 * @param {any} state @param {number} line @param {number} end @param {boolean} silent
 */
function blockFormula(state, line, end, silent) {
  const begin = state.bMarks[line] + state.tShift[line];
  if (state.sCount[line] - state.blkIndent >= 4 || !/^(?:\$\$|\\\[)/.test(state.src.slice(begin, begin + 2))) return false;
  const text = state.getLines(line, Math.min(end, line + TALLEST), state.sCount[line], false), formula = formulaAt(text, 0);
  if (!formula || !/^[ \t]*(?:\n|$)/.test(text.slice(formula.end))) return false;
  if (silent) return true;
  state.line = line + formula.source.split("\n").length;
  Object.assign(state.push("formula_block", "", 0), { map: [line, state.line], meta: formula });
  return true;
}

/** @type {(typeof md.renderer.rules)[string]} */
function drawFormula(tokens, index, _options, env) {
  const number = env.formulas.push(tokens[index].meta) - 1, span = `<span data-formula="${number}"></span>`;
  return tokens[index].type === "formula_block" ? `<p>${span}</p>\n` : span;
}

// what pages have differently

Object.assign(md.renderer.rules, {
  formula: drawFormula,
  formula_block: drawFormula,
  fence: drawCode,
  code_block: drawCode,
  image: (/** @type {Token[]} */ tokens, /** @type {number} */ index) => md.utils.escapeHtml(tokens[index].content),
  table_open: () => '<div class="table" tabindex="0"><table>\n',
  table_close: () => "</table></div>\n",
});

/** @param {Token[]} tokens @param {number} index */
function drawCode(tokens, index) {
  const { language, text } = codeOf(tokens[index]), named = language ? ` data-language="${md.utils.escapeHtml(language)}"` : "";
  return `<pre${named}><code>${md.utils.escapeHtml(text)}</code></pre>\n`;
}

/** @param {Token} token @param {string[]} lines @returns {Code} */
function fenceOf(token, lines) {
  const [start, end] = token.map ?? [0, 0], isOpen = end - start < 2 || !lines[end - 1].trim().startsWith(token.markup);
  return { ...codeOf(token), ...(isOpen ? { isOpen } : {}) };
}

/** @param {Token} token */
function codeOf({ content, info }) {
  return { language: info.trim().split(/\s/)[0], text: content.replace(/\n$/, "") };
}

/** Adapt what was parsed to a page: its headings, its links, and no styles on elements. @param {any} state */
function adapt(state) {
  for (const [index, token] of /** @type {[number, Token][]} */ ([...state.tokens.entries()])) {
    if (token.type.startsWith("heading_")) token.tag = `h${Math.min(Number(token.tag[1]) + 2, 6)}`;  // the page has two above
    if (token.type === "th_open" || token.type === "td_open") align(token);
    if (token.type !== "inline" || !token.children) continue;
    if (state.tokens[index - 2]?.type === "list_item_open") markTask(token.children);
    token.children = withLinks(token.children, state.Token);
  }
}

/** @param {Token} token */
function align(token) {
  const side = /** @type {any} */ (token).attrs?.[0]?.[1].replace("text-align:", "");
  /** @type {any} */ (token).attrs = side && side !== "left" ? [["data-align", side]] : null;
}

/** @param {Token[]} children */
function markTask([first]) {
  const [mark, sign] = TASK.exec(first?.content ?? "") ?? [];
  if (mark) first.content = `${sign === " " ? "☐" : "☑"} ${first.content.slice(mark.length)}`;
}

/**
 * Links that open apart; pictures as links, because a page fetches nothing from elsewhere; links without words with their address.
 * @param {Token[]} children @param {new (type: string, tag: string, nesting: number) => Token} Made
 */
function withLinks(children, Made) {
  let isInside = false;
  return children.flatMap((token, index) => {
    const isPicture = token.type === "image", text = new Made("text", "", 0);
    if (token.type === "link_close") isInside = false;
    if (token.type === "link_open") {
      isInside = true;
      setApart(token);
      text.content = token.attrGet("href") ?? "";
      return children[index + 1]?.type === "link_close" ? [token, text] : [token];
    }
    if (!isPicture) return [token];
    const open = new Made("link_open", "a", 1), address = token.attrGet("src") ?? "";
    text.content = token.content || address;
    open.attrSet("href", address);
    setApart(open);
    return isInside ? [text] : [open, text, new Made("link_close", "a", -1)];
  });
}

/** @param {Token} link */
function setApart(link) {
  link.attrSet("rel", "noopener noreferrer");
  link.attrSet("target", "_blank");
}

// Formulas in text: found where TeX marks them ($…$, $$…$$, \(…\), \[…\]), and typeset as MathML. KaTeX is loaded with the first
// formula, so that a page without any never asks for it; until it is there, or where it can't read one, the source stands there.

import { element } from "./treadle.js";

const CLOSERS = [["$$", "$$"], ["\\[", "\\]"], ["\\(", "\\)"]];
const LONGEST = 2000;  // characters of a formula; what is further apart doesn't belong together
const DOLLARS = /\$(?!\s)((?:[^$\\]|\\[^]){1,2000}?)(?<!\s)\$(?![\p{L}\p{N}$])/uy;
const BLANK = /\n[ \t]*\n/;
const COMMAND = /\\[a-zA-Z]+\*?\s*(?:\{[^{}]*\})?/g;
const PROSE = /\p{L}{2,}\s+\p{L}{2,}/u, WORD = /^\p{L}{4,}$/u;
const AMOUNT = /^\d.*(?<![\p{L}\p{N}])\p{L}{2,}/su;  // as in "5 per kilo"
const SIGN = /[\\^_=+<>*/|-]/;
const LIMITS = { maxExpand: 500, maxSize: 20, trust: false };  // a text may be a stranger's
const OPTIONS = { ...LIMITS, output: "mathml", strict: "ignore", throwOnError: true };
let katex = null, loading = null;

/**
 * The formula that begins at this index: { tex, source, isDisplay, end }; null where none does. Amounts of money are none, nor is
 * what reads as prose. Takes a bounded time.
 */
export function formulaAt(text, index) {
  return delimited(text, index) ?? dollars(text, index);
}

/** The text in pieces, one behind the other: { start, end }, and for a formula what it is. */
export function segmentsOf(text) {
  const segments = [];
  let start = 0;
  for (let index = text.search(/[$\\]/); index >= 0 && index < text.length;) {
    const formula = formulaAt(text, index);
    if (formula) {
      if (index > start) segments.push({ start, end: index });
      segments.push({ ...formula, start: index });
      index = start = formula.end;
    } else {
      index += text[index] === "\\" ? 2 : 1;
    }
    const more = text.slice(index, index + LONGEST).search(/[$\\]/);
    index += more < 0 ? LONGEST : more;
  }
  return start < text.length ? [...segments, { start, end: text.length }] : segments;
}

/** The element of a formula. */
export function formulaNode(formula) {
  const node = element("span", { class: formula.isDisplay ? "math display" : "math" }, formula.source);
  if (katex) typeset(node, formula);
  else load().then(() => typeset(node, formula), () => {});  // the source says it, too
  return node;
}

// finding them

function delimited(text, index) {
  const [open, close] = CLOSERS.find(([mark]) => text.startsWith(mark, index)) ?? [];
  if (!open) return null;
  const inner = text.slice(index + 2, index + 2 + LONGEST), length = inner.indexOf(close);
  const tex = inner.slice(0, Math.max(length, 0)).trim();
  if (!tex || !isMath(tex) || (open === "\\[" && !SIGN.test(tex))) return null;  // Markdown may mean a bracket
  const end = index + length + 4;
  return { tex, source: text.slice(index, end), isDisplay: open !== "\\(", end };
}

function dollars(text, index) {
  if (text[index] !== "$" || /[\p{L}\p{N}$]/u.test(text[index - 1] ?? "")) return null;
  DOLLARS.lastIndex = index;
  const [source, tex] = DOLLARS.exec(text) ?? [];
  if (!source || !isMath(tex) || AMOUNT.test(tex.replace(COMMAND, " "))) return null;
  return { tex, source, isDisplay: false, end: index + source.length };
}

function isMath(tex) {
  return !BLANK.test(tex) && !PROSE.test(tex.replace(COMMAND, " ")) && !WORD.test(tex);
}

// typesetting them

function load() {
  loading ??= import("./katex/katex.min.js").then(() => {
    katex = globalThis.katex;
  }, (error) => {
    loading = null;  // the next formula may have more luck
    throw error;
  });
  return loading;
}

/** MathML needs neither fonts of its own nor styles on elements, which the policy of our pages forbids. */
function typeset(node, { tex, source, isDisplay }) {
  try {
    katex.render(tex, node, { ...OPTIONS, displayMode: isDisplay });
  } catch (error) {
    if (!(error instanceof katex.ParseError)) throw error;
    node.textContent = source;
  }
}

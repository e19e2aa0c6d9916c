// Formulas in text: found where TeX marks them ($…$, $$…$$, \(…\), \[…\]). Amounts of money are none, nor is prose. No page is needed;
// math.js typesets them.

const CLOSERS = [["$$", "$$"], ["\\[", "\\]"], ["\\(", "\\)"]];
const LONGEST = 2000;  // characters of a formula; what is further apart doesn't belong together
const DOLLARS = /\$(?!\s)((?:[^$\\]|\\[^]){1,2000}?)(?<!\s)\$(?![\p{L}\p{N}$])/uy;
const BLANK = /\n[ \t]*\n/;
const COMMAND = /\\[a-zA-Z]+\*?\s*(?:\{[^{}]*\})?/g;
const PROSE = /\p{L}{2,}\s+\p{L}{2,}/u, WORD = /^\p{L}{4,}$/u;
const AMOUNT = /^\d.*(?<![\p{L}\p{N}])\p{L}{2,}/su;  // as in "5 per kilo"
const SIGN = /[\\^_=+<>*/|-]/;

/**
 * The formula that begins at this index: { tex, source, isDisplay, end }; null where none does. Amounts of money are none, nor is
 * what reads as prose. Takes a bounded time.
 * @param {string} text @param {number} index @returns {Formula | null}
 */
export function formulaAt(text, index) {
  return delimited(text, index) ?? dollars(text, index);
}

/** The text in pieces, one behind the other: { start, end }, and for a formula what it is. @param {string} text */
export function segmentsOf(text) {
  /** @type {({ start: number, end: number } & Partial<Formula>)[]} */
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

/** @param {string} text @param {number} index */
function delimited(text, index) {
  const [open, close] = CLOSERS.find(([mark]) => text.startsWith(mark, index)) ?? [];
  if (!open) return null;
  const inner = text.slice(index + 2, index + 2 + LONGEST), length = inner.indexOf(close);
  const tex = inner.slice(0, Math.max(length, 0)).trim();
  if (!tex || !isMath(tex) || (open === "\\[" && !SIGN.test(tex))) return null;  // Markdown may mean a bracket
  const end = index + length + 4;
  return { tex, source: text.slice(index, end), isDisplay: open !== "\\(", end };
}

/** @param {string} text @param {number} index */
function dollars(text, index) {
  if (text[index] !== "$" || /[\p{L}\p{N}$]/u.test(text[index - 1] ?? "")) return null;
  DOLLARS.lastIndex = index;
  const [source, tex] = DOLLARS.exec(text) ?? [];
  if (!source || !isMath(tex) || AMOUNT.test(tex.replace(COMMAND, " "))) return null;
  return { tex, source, isDisplay: false, end: index + source.length };
}

/** @param {string} tex */
function isMath(tex) {
  return !BLANK.test(tex) && !PROSE.test(tex.replace(COMMAND, " ")) && !WORD.test(tex);
}

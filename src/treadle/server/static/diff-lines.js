// Previews and diffs as data: words, then a diff or a text; what each line of a diff is, its number, and its colours. No page is
// needed; code-view.js draws them.

import { languageOf, tinted } from "./languages.js";

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?/;
const SIGNS = " +-\\";
const MOST_TINTED = 2000;  // lines of a diff; a longer one is shown without colours of its language

/**
 * @typedef {"heading" | "added" | "removed" | "warning" | "same"} LineKind
 * @typedef {import("./languages.js").Piece} Piece
 * @typedef {{ text: string, kind: LineKind, number: number | null, language: string }} DiffLine
 *   `number` is the line's in the file now, or was it if the line is gone; null outside of hunks
 */

/**
 * The parts of a preview. A diff in it is told by its two headings, `--- …` and `+++ …`; else the first line is words.
 * @param {string} text
 */
export function previewOf(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  const from = lines.findIndex((line, at) => line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  const isDiff = from >= 0, start = isDiff ? from : 1;
  return { words: lines.slice(0, start).join("\n"), rest: lines.slice(start).join("\n"), isDiff };
}

/**
 * The lines of a unified diff. How long a hunk is, its heading says: a line `--- x` within it is one that goes, and no name of a file.
 * @param {string[]} lines @param {string} [path] the file, where no heading names it
 * @returns {DiffLine[]}
 */
export function diffLines(lines, path = "") {
  let language = languageOf(path), old = 0, now = 0, oldLeft = 0, nowLeft = 0;
  return lines.map((text, at) => {
    const hunk = HUNK.exec(text), sign = text[0] ?? " ";
    if (hunk) [old, oldLeft, now, nowLeft] = [hunk[1], hunk[2] ?? 1, hunk[3], hunk[4] ?? 1].map(Number);
    else if (!SIGNS.includes(sign)) oldLeft = nowLeft = 0;
    if (hunk || sign === "\\") return { text, kind: "heading", number: null, language };
    if (oldLeft <= 0 && nowLeft <= 0) {
      if (isName(lines, at)) language = languageOf(text) || (sign === "+" ? language : "");
      return { text, kind: isName(lines, at) ? "heading" : looseKind(text), number: null, language };
    }
    const isOld = sign !== "+", isNew = sign !== "-", number = isNew ? now : old;
    [old, oldLeft] = [old + Number(isOld), oldLeft - Number(isOld)];
    [now, nowLeft] = [now + Number(isNew), nowLeft - Number(isNew)];
    return { text, kind: kindBySign(text), number, language };
  });
}

/** Whether a line is one of the two that name a file: they are the first, or a hunk follows. @param {string[]} lines @param {number} at */
function isName(lines, at) {
  const from = lines[at].startsWith("+++ ") ? at - 1 : at;
  const isPair = Boolean(lines[from]?.startsWith("--- ") && lines[from + 1]?.startsWith("+++ "));
  return isPair && (from === 0 || HUNK.test(lines[from + 2] ?? ""));
}

/** What a line outside of hunks is. @param {string} text @returns {LineKind} */
function looseKind(text) {
  return text.startsWith("! ") ? "warning" : kindBySign(text);
}

/** @param {string} text @returns {LineKind} */
function kindBySign(text) {
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "same";
}

/**
 * What each line is made of behind its sign, or null for one without colours. Lines that go are read with what was around them,
 * others with what is, hunk by hunk.
 * @param {DiffLine[]} lines @returns {(Piece[] | null)[]}
 */
export function diffPieces(lines) {
  /** @type {(Piece[] | null)[]} */
  const pieces = lines.map(() => null);
  if (lines.length > MOST_TINTED) return pieces;
  for (const hunk of hunksOf(lines)) {
    for (const [side, other] of /** @type {const} */ ([["removed", "added"], ["added", "removed"]])) {
      const numbers = hunk.filter((at) => lines[at].kind !== other);
      const made = tinted(numbers.map((at) => lines[at].text.slice(1)).join("\n"), lines[hunk[0]].language);
      for (const [index, at] of numbers.entries()) if (side === "added" || lines[at].kind === side) pieces[at] = made[index];
    }
  }
  return pieces;
}

/** The positions of the lines of each hunk in a language that is known. @param {DiffLine[]} lines */
function hunksOf(lines) {
  /** @type {number[][]} */
  const hunks = [];
  for (const [at, { number, language }] of lines.entries()) {
    if (number === null || !language) continue;
    const isNext = at > 0 && lines[at - 1].number !== null;
    if (isNext) hunks[hunks.length - 1].push(at);
    else hunks.push([at]);
  }
  return hunks;
}

/**
 * How many lines at the beginning and at the end are as they were. The heading of a hunk counts as such, though it may count other
 * lines now.
 * @param {string[]} before @param {string[]} lines
 */
export function unchanged(before, lines) {
  const most = Math.min(before.length, lines.length);
  let head = 0, tail = 0;
  while (head < most && isSame(before[head], lines[head])) head++;
  while (tail < most - head && isSame(before[before.length - 1 - tail], lines[lines.length - 1 - tail])) tail++;
  return { head, tail };
}

/** @param {string} line @param {string} other */
function isSame(line, other) {
  return line === other || (HUNK.test(line) && HUNK.test(other));
}

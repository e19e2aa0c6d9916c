// Passages of a lesson as the text that they were cut from: what two neighbours both say is said once, and formulas are whole,
// also where a passage ends within one. No page is needed.

import { segmentsOf } from "/static/formulas.js";

const LEAST = 12;   // characters that count as said twice; fewer may be chance
const APART = "\n\n";  // where nothing is said twice, it isn't known what stood between

/** Pieces of text, each with its passage. Put one behind the other they are the lesson. @param {Passage[]} passages */
export function piecesOf(passages) {
  return passages.map((passage, index) => {
    const before = passages[index - 1];
    if (!before) return { passage, text: passage.text };
    const twice = overlap(before.text, passage.text);
    return { passage, text: twice ? passage.text.slice(twice) : `${APART}${passage.text}` };
  });
}

/**
 * The parts of each of some texts that stand one behind the other: words, and formulas where they begin.
 * @param {string[]} texts @returns {(string | Formula)[][]}
 */
export function partsOf(texts) {
  const whole = texts.join(""), segments = segmentsOf(whole);
  let end = 0;
  return texts.map((text) => {
    const from = end, to = end += text.length;
    return segments.map((each) => {
      if (isFormula(each)) return from <= each.start && each.start < to ? each : "";
      return whole.slice(Math.max(each.start, from), Math.max(from, Math.min(each.end, to)));
    }).filter((part) => part !== "");
  });
}

/** @param {{ start: number, end: number } & Partial<Formula>} segment @returns {segment is { start: number } & Formula} */
function isFormula(segment) {
  return segment.tex !== undefined;
}

/** How many characters at the end of one text are the beginning of the next. @param {string} one @param {string} next */
function overlap(one, next) {
  for (let length = Math.min(one.length, next.length) - 1; length >= LEAST; length--) {
    if (one.endsWith(next.slice(0, length))) return length;
  }
  return 0;
}

/**
 * Where in its lesson a passage stands: its place, without the lesson's own name.
 * @param {string} place @param {string[]} headings
 */
export function placeIn(place, headings) {
  const lesson = headings[0] ?? "";
  if (!lesson || !place.startsWith(lesson)) return place;
  return place.slice(lesson.length).replace(/^(?: > |, )/, "");
}

// Passages of a lesson as the text that they were cut from: what two neighbours both say is said once, and formulas are typeset,
// also where a passage ends within one.

import { formulaNode, segmentsOf } from "/static/math.js";

const LEAST = 12;   // characters that count as said twice; fewer may be chance
const APART = "\n\n";  // where nothing is said twice, it isn't known what stood between

/** Pieces of text, each with its passage. Put one behind the other they are the lesson. */
export function piecesOf(passages) {
  return passages.map((passage, index) => {
    const before = passages[index - 1];
    if (!before) return { passage, text: passage.text };
    const twice = overlap(before.text, passage.text);
    return { passage, text: twice ? passage.text.slice(twice) : `${APART}${passage.text}` };
  });
}

/** The nodes of each of some texts that stand one behind the other: words, and formulas where they begin. */
export function nodesOf(texts) {
  const whole = texts.join(""), segments = segmentsOf(whole), starts = [0];
  for (const text of texts) starts.push(starts.at(-1) + text.length);
  return texts.map((_, index) => {
    const from = starts[index], to = starts[index + 1];
    return segments.map((each) => {
      if (each.tex) return from <= each.start && each.start < to ? formulaNode(each) : "";
      return whole.slice(Math.max(each.start, from), Math.max(from, Math.min(each.end, to)));
    }).filter(Boolean);
  });
}

/** How many characters at the end of one text are the beginning of the next. */
function overlap(one, next) {
  for (let length = Math.min(one.length, next.length) - 1; length >= LEAST; length--) {
    if (one.endsWith(next.slice(0, length))) return length;
  }
  return 0;
}

/** Where in its lesson a passage stands: its place, without the lesson's own name. */
export function placeIn(place, headings) {
  const lesson = headings[0] ?? "";
  if (!lesson || !place.startsWith(lesson)) return place;
  return place.slice(lesson.length).replace(/^(?: > |, )/, "");
}

// Two traces side by side: which steps are the same, which differ, and where they diverge. No page is needed; compare.js draws it.

import { flattened } from "./trace.js";

/** @typedef {import("./trace.js").Step} Step */
/** @typedef {"same" | "differs" | "left" | "right"} Likeness `left` and `right`: only there */
/** @typedef {{ left: Step | null, right: Step | null, likeness: Likeness, what: string[] }} Pair */

const COMPARED = ["turn", "request", "call"];
const MOST = 4_000_000;  // pairs of steps that are looked at

/**
 * The steps of two traces in pairs, in order. Steps are paired by what they are: a call of the same tool, a request, a message.
 * @param {Step[]} left @param {Step[]} right @returns {Pair[]}
 */
export function pairsOf(left, right) {
  const [ours, theirs] = [left, right].map((steps) => flattened(steps).filter(({ kind }) => COMPARED.includes(kind)));
  const most = Math.min(ours.length, theirs.length);
  const keys = [ours, theirs].map((steps) => steps.map(keyOf)), isLike = (/** @type {number} */ at) => keys[0].at(at) === keys[1].at(at);
  let head = 0, tail = 0;
  while (head < most && isLike(head)) head++;
  while (tail < most - head && isLike(-1 - tail)) tail++;
  const middle = aligned(ours.slice(head, ours.length - tail), theirs.slice(head, theirs.length - tail));
  return [
    ...ours.slice(0, head).map((step, index) => pair(step, theirs[index])), ...middle,
    ...ours.slice(ours.length - tail).map((step, index) => pair(step, theirs[theirs.length - tail + index])),
  ];
}

/** The number of the first pair that isn't the same; -1 where all are. @param {Pair[]} pairs */
export function divergenceOf(pairs) {
  return pairs.findIndex(({ likeness }) => likeness !== "same");
}

/** @param {Step} step */
function keyOf({ kind, name }) {
  return kind === "call" ? `call ${name}` : kind;
}

/** The longest common sequence, with what is between. @param {Step[]} left @param {Step[]} right @returns {Pair[]} */
function aligned(left, right) {
  const only = () => [...left.map((step) => pair(step, null)), ...right.map((step) => pair(null, step))];
  if (left.length * right.length > MOST) return only();
  const width = right.length + 1, lengths = new Uint32Array((left.length + 1) * width);
  for (let row = left.length - 1; row >= 0; row--) {
    for (let column = right.length - 1; column >= 0; column--) {
      lengths[row * width + column] = keyOf(left[row]) === keyOf(right[column])
        ? lengths[(row + 1) * width + column + 1] + 1
        : Math.max(lengths[(row + 1) * width + column], lengths[row * width + column + 1]);
    }
  }
  /** @type {Pair[]} */
  const pairs = [];
  let row = 0, column = 0;
  while (row < left.length && column < right.length) {
    if (keyOf(left[row]) === keyOf(right[column])) pairs.push(pair(left[row++], right[column++]));
    else if (lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]) pairs.push(pair(left[row++], null));
    else pairs.push(pair(null, right[column++]));
  }
  return [...pairs, ...left.slice(row).map((step) => pair(step, null)), ...right.slice(column).map((step) => pair(null, step))];
}

/** @param {Step | null} left @param {Step | null} right @returns {Pair} */
function pair(left, right) {
  if (!left || !right) return { left, right, likeness: left ? "left" : "right", what: [] };
  const what = [  // what a request reads, the steps before it have said, and what a turn answers, its last request
    left.kind === "request" || isSame(left.input, right.input) ? "" : "input",
    left.kind === "turn" || isSame(left.output, right.output) ? "" : "output",
    left.state === right.state ? "" : "state",
  ].filter(Boolean);
  return { left, right, likeness: what.length ? "differs" : "same", what };
}

/** @param {unknown} one @param {unknown} other */
function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

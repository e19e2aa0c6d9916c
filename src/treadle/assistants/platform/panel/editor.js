// Where a spec is written: text with the numbers of its lines beside it, marked where something was found.

import { byId, element } from "/static/treadle.js";

const text = byId("text", HTMLTextAreaElement), numbers = byId("numbers");

/** What is written there. */
export function written() {
  return text.value;
}

/** Put something else there. @param {string} words */
export function write(words) {
  text.value = words;
  text.scrollTop = text.scrollLeft = 0;
  mark([]);
}

/** Hear of every change that a person makes. @param {() => void} changed */
export function onWriting(changed) {
  text.addEventListener("input", changed);
}

/** Make it read-only for a while. @param {boolean} on */
export function hold(on) {
  text.readOnly = on;
}

/** The numbers of the lines, with what was found in them. @param {Finding[]} findings */
export function mark(findings) {
  const levels = new Map();
  for (const { line, level } of findings) if (levels.get(line) !== "error") levels.set(line, level);
  const amount = text.value.split("\n").length;
  numbers.replaceChildren(...Array.from({ length: amount }, (_, index) =>
    element("span", { class: levels.get(index + 1) ?? null }, String(index + 1))));
  follow();
}

/** Go to a place in it. @param {number} line @param {number} [column] */
export function goTo(line, column = 1) {
  const lines = text.value.split("\n"), before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const at = Math.min(before + column - 1, text.value.length), end = before + (lines[line - 1] ?? "").length;
  text.focus();
  text.setSelectionRange(at, Math.max(at, end));
  text.scrollTop = (line - 4) * (text.scrollHeight / lines.length);
}

/** Choose everything, for copying by hand. */
export function chooseAll() {
  text.focus();
  text.select();
}

function follow() {
  numbers.scrollTop = text.scrollTop;
}

text.addEventListener("scroll", follow);

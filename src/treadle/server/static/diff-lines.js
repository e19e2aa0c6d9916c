// A preview as data: words, then a diff or a text. No page is needed; diff.js draws it.

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

/** @typedef {"heading" | "added" | "removed" | "warning" | "same"} LineKind */

/** What a line of a diff is: what comes, what goes, a heading, a warning. @param {string} line @returns {LineKind} */
export function kindOf(line) {
  if (/^(---|\+\+\+) /.test(line)) return "heading";
  return line.startsWith("! ") ? "warning" : hunkKindOf(line);
}

/** What a line of a hunk is: there are no names of files, so that a line `--- x` goes. @param {string} line @returns {LineKind} */
export function hunkKindOf(line) {
  if (/^@@ |^\\ /.test(line)) return "heading";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
}

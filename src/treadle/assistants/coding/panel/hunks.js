// The lines of a unified diff as data: their numbers in the file, and which of them are as they were. No page is needed.

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)/;

/** Whether a line is the heading of a hunk. @param {string} line */
export function isHunk(line) {
  return HUNK.test(line);
}

/**
 * The number that each line has in the file now, or had if it is gone; null for headings and notes.
 * @param {string[]} lines @returns {(number | null)[]}
 */
export function numbersOf(lines) {
  let old = 0, now = 0;
  return lines.map((line) => {
    const hunk = HUNK.exec(line), sign = line[0];
    if (hunk) [old, now] = [Number(hunk[1]), Number(hunk[2])];
    if (hunk || sign === "\\") return null;
    if (sign === "+") return now++;
    if (sign === "-") return old++;
    old++;
    return now++;
  });
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
  return line === other || (isHunk(line) && isHunk(other));
}

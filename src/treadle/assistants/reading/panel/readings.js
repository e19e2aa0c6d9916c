// What a reading of a source is, as data: its phase, its blocks and where they lie, and which files fit what was typed. No page is
// needed.

/**
 * Where things stand: idle, analyzing, analyzed or stale.
 * @param {Partial<Pick<ReadingState, "running" | "reading" | "source" | "latest">>} state
 */
export function phaseOf({ running, reading, source, latest }) {
  if (running) return "analyzing";
  if (!reading) return "idle";
  return latest === source?.hash ? "analyzed" : "stale";
}

/** The lines of a text; a line feed at its very end opens no further one. @param {string} text */
export function linesOf(text) {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/**
 * A reading as the server says it, with ranges that lie within the `last` lines.
 * @typedef {Omit<CodeBlock, "ranges" | "elements"> & Partial<CodeBlock>} SaidBlock
 * @param {{ file_intent: string, responsibilities?: SaidBlock[], metadata?: ReadingMetadata }} said
 * @param {number} last @returns {FileReading}
 */
export function readingOf({ file_intent, responsibilities = [], metadata }, last) {
  const blocks = responsibilities.map((block) => ({ ...block, elements: block.elements ?? {}, ranges: rangesOf(block.ranges, last) }));
  return { intent: file_intent, blocks, how: metadata ?? {} };
}

/** @param {LineRange[] | undefined} ranges @param {number} last */
function rangesOf(ranges = [], last) {
  const inside = ranges.flatMap(([from, to]) => {
    /** @type {LineRange} */
    const range = [Math.max(from, 1), Math.min(to, last)];
    return range[0] <= range[1] ? [range] : [];
  });
  return inside.sort(([one], [other]) => one - other);
}

/**
 * The first line within some ranges that has a name, or else its last part; 0 where none has.
 * @param {string} text @param {LineRange[]} ranges @param {string} name
 */
export function lineWith(text, ranges, name) {
  const lines = linesOf(text);
  const numbers = ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, more) => from + more));
  for (const words of [name, name.split(/[.:#]+/).at(-1) ?? name]) {
    const found = numbers.find((number) => has(lines[number - 1], words));
    if (found) return found;
  }
  return 0;
}

/** @param {string} line @param {string} words */
function has(line, words) {
  const quoted = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w$])${quoted}(?![\\w$])`, "u").test(line);
}

/**
 * Files that have all the words in their path; those that have them in their name come first.
 * @param {string[]} files @param {string} words
 */
export function matching(files, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (/** @type {string} */ path) => {
    const whole = path.toLowerCase(), name = whole.slice(whole.lastIndexOf("/") + 1);
    if (!wanted.every((word) => whole.includes(word))) return -1;
    if (wanted.every((word) => name.startsWith(word))) return 0;
    return wanted.every((word) => name.includes(word)) ? 1 : 2;
  };
  const ranked = files.map((path) => ({ place: rank(path), path })).filter(({ place }) => place >= 0);
  return ranked.sort((one, other) => one.place - other.place).map(({ path }) => path);
}

// The words around what was searched for. No page is needed.

const AROUND = 70;    // characters before the first word that was looked for
const LONGEST = 190;  // characters of what is shown

/** The words around the first one that was looked for. @param {string} text @param {string} words */
export function excerpt(text, words) {
  const at = Math.max(text.search(patternOf(words)), 0), from = at > AROUND ? text.indexOf(" ", at - AROUND) + 1 : 0;
  const cut = text.slice(from, from + LONGEST), isCut = from + LONGEST < text.length;
  return `${from ? "… " : ""}${isCut ? `${cut.replace(/\s+\S*$/, "")} …` : cut}`;
}

/** Whole words that were looked for, without those that are everywhere. @param {string} words */
export function patternOf(words) {
  const wanted = words.match(/[\p{L}\p{N}]{3,}/gu) ?? [];
  return wanted.length ? new RegExp(`(?<![\\p{L}\\p{N}])((?:${wanted.join("|")})[\\p{L}\\p{N}]*)`, "iu") : /(?!)()/;
}

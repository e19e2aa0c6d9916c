// What fits the words that somebody types in the palette. Needs no page.

/**
 * The items that have all words of a query in their titles or hints, best first: a title that begins with them, then a word that does,
 * then any place. Items that fit as well stay in their order.
 * @template {{ title: string, hint?: string }} T
 * @param {T[]} items @param {string} query @returns {T[]}
 */
export function searchItems(items, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return items;
  return items
    .map((item, place) => ({ item, place, score: scoreOf(item, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || one.place - other.place)
    .map(({ item }) => item);
}

/** 0 where a word is missing. @param {{ title: string, hint?: string }} item @param {string[]} words */
function scoreOf({ title, hint = "" }, words) {
  const name = title.toLowerCase(), all = `${name} ${hint.toLowerCase()}`;
  /** @type {number[]} */
  const scores = words.map((word) => {
    if (name.startsWith(word)) return 4;
    if (startsAWord(name, word)) return 3;
    if (name.includes(word)) return 2;
    return all.includes(word) ? 1 : 0;
  });
  return scores.some((score) => score === 0) ? 0 : scores.reduce((sum, score) => sum + score, 0);
}

/** @param {string} text @param {string} word */
function startsAWord(text, word) {
  return text.split(/[^\p{L}\p{N}]+/u).some((each) => each.startsWith(word));
}

// Text as a person sees it who has to decide about it: nothing in it can hide, or look like something else. The same as
// guard/visible.py, by the same table of cases. What is longer than a card is cut, and says how much is not shown.

const MARKS = "\\u0300-\\u036f\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u20d0-\\u20ff\\ufe20-\\ufe2f";
const HIDDEN = new RegExp([
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u08e2\\u115f\\u1160\\u1680",
  "\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3164\\ud800-\\uf8ff\\ufe00-\\ufe0e\\ufeff",
  "\\uffa0\\ufff0-\\ufffb\\u{110bd}\\u{110cd}\\u{13430}-\\u{1345f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{10ffff}]",
  "|(?<![^\\u0000-\\u007f\\ufe00-\\ufe0f])\\ufe0f",  // honest after an emoji only
  `|(?<=[${MARKS}]{3})[${MARKS}]`,  // a pile that covers other lines
].join(""), "gu");
const SCRIPTS = [
  /[A-Za-z]/u,
  /[\u0370-\u03ff\u1f00-\u1fff]/u,  // Greek
  /[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]/u,  // Cyrillic
  /[\u0530-\u058f]/u,  // Armenian
  /[\u13a0-\u13ff\uab70-\uabbf]/u,  // Cherokee
  /[\uff10-\uff5a]/u,  // full width
  /[\u{1d400}-\u{1d7ff}]/u,  // of mathematics
  /[\u0251\u0261\u2160-\u217f]/u,  // of phonetics, and Roman numerals
];
const ALIKE = "\\u03b1\\u03b3\\u03b7\\u03b9\\u03ba\\u03bd\\u03bf\\u03c1\\u03c4\\u03c5\\u03c7\\u03c9\\u03f2\\u03f3\\u0391\\u0392\\u0395"
  + "\\u0396\\u0397\\u0399\\u039a\\u039c\\u039d\\u039f\\u03a1\\u03a4\\u03a5\\u03a7\\u0430\\u0435\\u043a\\u043e\\u0440\\u0441\\u0443\\u0445"
  + "\\u0455\\u0456\\u0458\\u0475\\u04bb\\u04cf\\u0501\\u051b\\u051d\\u0410\\u0412\\u0415\\u0417\\u041a\\u041c\\u041d\\u041e\\u0420\\u0421"
  + "\\u0422\\u0423\\u0425\\u0405\\u0406\\u0408\\u0474\\u04c0\\u051a\\u051c\\u0570\\u0578\\u057d\\u0585\\u054d\\u0555\\u13a0-\\u13ff"
  + "\\uab70-\\uabbf\\u0251\\u0261\\u2160-\\u217f\\uff10-\\uff19\\uff21-\\uff3a\\uff41-\\uff5a\\u{1d400}-\\u{1d7ff}";
const PASSING = new RegExp(`[${ALIKE}]`, "gu"), ONLY_PASSING = new RegExp(`^[${ALIKE}0-9]+$`, "u");
const PUNCTUATION = /[\u2024\u2044\u2215\u29f8\u2236\ua789\ufe52\ufe68\uff0e\uff0f\uff1a\uff20\uff3c]/gu;
const LINES = /\n[ \t]*(?:\n[ \t]*){4,}/gu, BLANKS = /[ \t\u3000]{41,}/gu;
const MOST_CHARACTERS = 2_000, MOST_LINES = 30;  // of a value in a card, before it is expanded

/**
 * The text with everything in it to be seen, on as many lines as it has, but for blank ones of which there are many.
 * @param {string} text
 */
export function visible(text) {
  return escaped(text)
    .replace(LINES, (found) => `\n[${found.split("\n").length - 2} blank lines]\n`)
    .replace(BLANKS, (found) => `[${found.length} blanks]`);
}

/** The text with what hides or passes for something else as \uXXXX; in JSON, the same value. @param {string} text */
export function escaped(text) {
  return (/[^\u0000-\u007f]/u.test(text) ? text.replace(/\S+/gu, unmask) : text).replace(HIDDEN, escape);
}

/** @param {string} found */
function escape(found) {
  return [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
}

/** @param {string} token */
function unmask(token) {
  const hasAscii = SCRIPTS[0].test(token);
  const text = token.replace(/[\p{L}\p{N}]+/gu, (word) => unmaskWord(word, hasAscii));
  return hasAscii ? text.replace(PUNCTUATION, escape) : text;
}

/** @param {string} word @param {boolean} hasAscii */
function unmaskWord(word, hasAscii) {
  const isMixed = SCRIPTS.filter((script) => script.test(word)).length > 1;
  return isMixed || (hasAscii && ONLY_PASSING.test(word)) ? word.replace(PASSING, escape) : word;
}

/** As much of a visible text as a card shows at first, and how much of it that leaves out. @param {string} text */
export function excerpt(text) {
  let end = Math.min(text.length, MOST_CHARACTERS);
  for (let at = -1, lines = 0; (at = text.indexOf("\n", at + 1)) >= 0 && at < end;) if (++lines === MOST_LINES) end = at;
  const rest = text.slice(end);
  return { shown: text.slice(0, end), characters: rest.length, lines: rest.split("\n").length - 1 };
}

// Numbers, times and amounts as text. Needs no page.
//   import { pluralize, formatDuration } from "/static/format.js";

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const SPANS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60]];
/** @type {[number, number, string][]} */
const SIZES = [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]];  // from which on, divided by, and the letter
const since = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A number with its separators: 1,234. @param {number} value */
export function formatNumber(value) {
  return value.toLocaleString("en");
}

/** "1 goal", "2 goals". @param {number} amount @param {string} one @param {string} [many] */
export function pluralize(amount, one, many = `${one}s`) {
  return `${formatNumber(amount)} ${amount === 1 ? one : many}`;
}

/** The place in a queue: "2 runs ahead of yours", "next in the queue". @param {number} ahead */
export function aheadInWords(ahead) {
  return ahead ? `${pluralize(ahead, "run")} ahead of yours` : "next in the queue";
}

/** How many seconds ago something was: "2 hours ago". @param {number} seconds */
export function agoInWords(seconds) {
  const [unit, length] = SPANS.find(([, span]) => seconds >= span) ?? [];
  return unit && length ? since.format(-Math.floor(seconds / length), unit) : "just now";
}

/** How long something took, to a tenth of a second. @param {number} seconds */
export function formatDuration(seconds) {
  if (seconds < 0.0995) return `${Math.max(Math.round(seconds * 1000), 1)} ms`;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** How long something took, in two digits, as plots have it. @param {number} seconds */
export function formatShortDuration(seconds) {
  if (seconds >= 60) return `${rounded(seconds / 60)} min`;
  return seconds >= 1 ? `${rounded(seconds)} s` : `${rounded(seconds * 1000)} ms`;
}

/** An amount of US dollars, small ones exactly enough to be more than nothing. @param {number} amount */
export function formatCost(amount) {
  return amount > 0 && amount < 0.0001 ? "under $0.0001" : `$${amount.toFixed(amount < 1 ? 4 : 2)}`;
}

/** A large number in few digits: 1.2M. @param {number} value */
export function formatCompact(value) {
  const [, size, letter] = SIZES.find(([from]) => value >= from) ?? [];
  return size ? `${(value / size).toFixed(1)}${letter}` : formatNumber(value);
}

/** A share of a whole: "12 %". @param {number} part @param {number} whole */
export function percent(part, whole) {
  return 100 * part < whole ? "<1 %" : `${Math.round(100 * part / whole)} %`;
}

/** @param {number} value */
function rounded(value) {
  return Number(value.toPrecision(2));
}

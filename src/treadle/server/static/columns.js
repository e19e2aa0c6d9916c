// Calls over time as columns of a plot: a day each, or more days where they would be too many. No page is needed.

/** @typedef {Pick<StatsRow, "key" | "calls" | Outcome>} Column */

const COLUMNS = 120;  // of a plot over time
const DAY = 86400000;
/** @type {[number, string][]} */
const UNITS = [[1, "day"], [7, "week"], [28, "four weeks"], [364, "52 weeks"]];
/** @type {Outcome[]} */
export const OUTCOMES = ["fine", "failed", "denied", "cancelled"];
/** @type {("calls" | Outcome)[]} */
export const COUNTS = ["calls", ...OUTCOMES];

/**
 * A column for each day, also for those without calls; for weeks or more where they would be too many.
 * @param {StatsRow[]} days @returns {[Column[], string]}
 */
export function columnsOf(days) {
  const at = (/** @type {string} */ key) => Date.parse(`${key}T00:00Z`), first = at(days[0].key);
  const count = (at(days[days.length - 1].key) - first) / DAY + 1;
  const [step, unit] = UNITS.find(([step]) => count / step <= COLUMNS) ?? UNITS[UNITS.length - 1];
  const columns = Array.from({ length: Math.ceil(count / step) }, (_, place) => ({
    key: new Date(first + place * step * DAY).toISOString().slice(0, 10), calls: 0, fine: 0, failed: 0, denied: 0, cancelled: 0,
  }));
  for (const day of days) {
    const column = columns[Math.floor((at(day.key) - first) / DAY / step)];
    for (const name of COUNTS) column[name] += day[name];
  }
  return [columns, unit];
}

// Tables of the records in a result's data: lists of objects whose values are plain. Text nodes only, and bounded.

import { element } from "./treadle.js";
import { visible } from "./visible.js";

const MOST_TABLES = 3;
const MOST_ROWS = 50;
const MOST_COLUMNS = 12;

/**
 * A table for the list that the data is, or for each list in its fields; none where there are no records in it.
 * @param {unknown} data
 */
export function recordTables(data) {
  const lists = Object.entries(Array.isArray(data) ? { "": data } : isObject(data) ? data : {});
  return lists.flatMap(([name, list]) => (isRecordList(list) ? [{ name, list }] : [])).slice(0, MOST_TABLES)
    .map(({ name, list }) => table(name, list));
}

/** @param {string} name @param {unknown[]} list */
function table(name, list) {
  const records = list.filter(isObject);
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const shown = columns.slice(0, MOST_COLUMNS);
  const rows = records.slice(0, MOST_ROWS).map((record) =>
    element("tr", {}, shown.map((column) => element("td", {}, visible(inWords(record[column]))))));
  const caption = [name, counted(records.length), ...bounds(records, columns), ...list.filter((each) => !isObject(each))];
  return element("div", { class: "records", role: "region", tabindex: "0", "aria-label": name || "Records" }, element("table", {},
    element("caption", {}, visible(caption.filter(Boolean).join(" · "))),
    element("thead", {}, element("tr", {}, shown.map((column) => element("th", { scope: "col" }, visible(column))))),
    element("tbody", {}, rows)));
}

/** @param {number} records */
function counted(records) {
  return records === 1 ? "1 record" : `${records} records`;
}

/** @param {object[]} records @param {string[]} columns */
function bounds(records, columns) {
  return [records.length > MOST_ROWS ? `the first ${MOST_ROWS} are shown` : "",
    columns.length > MOST_COLUMNS ? `${columns.length - MOST_COLUMNS} more fields aren't shown` : ""];
}

/** Records, and perhaps words after them, such as how many more there are. @param {unknown} value @returns {value is unknown[]} */
function isRecordList(value) {
  return Array.isArray(value) && value.some(isObject)
    && value.every((each) => (isObject(each) ? isFlat(each) : typeof each === "string"));
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {object} record */
function isFlat(record) {
  const values = Object.values(record);
  return values.length > 0 && values.every((value) => (Array.isArray(value) ? value.every(isPlain) : isPlain(value)));
}

/** @param {unknown} value */
function isPlain(value) {
  return value === null || typeof value !== "object";
}

/** @param {unknown} value @returns {string} */
function inWords(value) {
  if (value === null || value === undefined) return "";
  return Array.isArray(value) ? value.map(inWords).join(", ") : String(value);
}

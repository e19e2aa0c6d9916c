// How things are said: moments, amounts, names of the server's in words, and the heads of sections.

import { element } from "/static/treadle.js";

const SPANS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60]];
const since = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago a moment was; the moment itself is there for whoever points at it. */
export function ago(moment) {
  const seconds = (Date.now() - Date.parse(moment)) / 1000;
  const [unit, length] = SPANS.find(([, span]) => seconds >= span) ?? [];
  const words = unit ? since.format(-Math.floor(seconds / length), unit) : "just now";
  return element("time", { datetime: moment, title: new Date(moment).toLocaleString() }, words);
}

/** "1 goal", "2 goals". */
export function counted(amount, one, many = `${one}s`) {
  return `${amount.toLocaleString("en")} ${amount === 1 ? one : many}`;
}

/** A name such as `full_search` in words: "full search". */
export function plain(name) {
  return name.replaceAll("_", " ");
}

/** The same at the beginning of a line. */
export function title(name) {
  const words = plain(name);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Have a section of the state show these nodes, and a few words beside its title. */
export function section(id, amount, ...nodes) {
  const place = document.getElementById(id);
  place.querySelector(".amount").textContent = amount;
  place.querySelector(".within").replaceChildren(...nodes);
}

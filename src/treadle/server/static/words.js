// How things are said: moments and amounts.
//   import { ago, counted } from "/static/words.js";

import { element } from "./treadle.js";

const SPANS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3_600], ["minute", 60]];
const since = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago a moment was, which is anything that a Date can be made of; the moment itself is there for whoever points at it. */
export function ago(moment) {
  const then = new Date(moment), seconds = (Date.now() - then) / 1000;
  const [unit, length] = SPANS.find(([, span]) => seconds >= span) ?? [];
  const words = unit ? since.format(-Math.floor(seconds / length), unit) : "just now";
  return element("time", { datetime: then.toISOString(), title: then.toLocaleString() }, words);
}

/** "1 goal", "2 goals". */
export function counted(amount, one, many = `${one}s`) {
  return `${amount.toLocaleString("en")} ${amount === 1 ? one : many}`;
}

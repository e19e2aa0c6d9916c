// Times as elements.
//   import { timeAgo } from "/static/time-ago.js";

import { agoInWords } from "./format.js";
import { element } from "./treadle.js";

/** How long ago a moment was; the moment itself is its tooltip. @param {string | number | Date} moment */
export function timeAgo(moment) {
  const then = new Date(moment);
  return element("time", { datetime: then.toISOString(), title: then.toLocaleString() }, agoInWords((Date.now() - then.getTime()) / 1000));
}

// Times as elements, and amounts as text.
//   import { ago, counted } from "/static/words.js";

import { agoInWords } from "./format.js";
import { element } from "./treadle.js";

export { counted } from "./format.js";

/** How long ago a moment was; the moment itself is its tooltip. @param {string | number | Date} moment */
export function ago(moment) {
  const then = new Date(moment);
  return element("time", { datetime: then.toISOString(), title: then.toLocaleString() }, agoInWords((Date.now() - then.getTime()) / 1000));
}

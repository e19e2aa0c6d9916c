// What a call that waits was given: all of it, folded where there is much of it and a preview to go by.

import { argumentList } from "./calls.js";
import { element } from "./treadle.js";

const MANY = 6;  // lines from which on they are folded

export function givenTo({ arguments: given, preview: words }) {
  const list = argumentList(given), lines = list.textContent.split("\n").length + list.childElementCount;
  if (!list.childElementCount) return null;
  return element("details", { class: "given", open: !words || lines <= MANY },
    element("summary", {}, "Its arguments, in full"), list);
}

// Links to elsewhere: into a new tab, and only where they lead to a page of the web.

import { element } from "/static/treadle.js";

const SCHEMES = ["http:", "https:"];

/**
 * A link; null where the address is none that one may follow. `words` are seen, `heard` is what says where it leads.
 * @param {string | undefined} address @param {string} words @param {string} heard
 */
export function outward(address, words, heard) {
  if (!address || !URL.canParse(address) || !SCHEMES.includes(new URL(address).protocol)) return null;
  return element("a", { class: "outward", href: address, target: "_blank", rel: "noopener noreferrer" },
    element("span", { "aria-hidden": "true" }, words), element("span", { class: "unseen" }, `${heard}, in a new tab`));
}

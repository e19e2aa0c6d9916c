// What questions are answered from: all courses, one of them, or one document of it. It is in the address, so that it stays.

import { element } from "/static/treadle.js";

/** @typedef {{ course: string, document: string, owner: string }} Scope owner: the user who shares the course, if it is another's */

/** @type {Scope} */
const EVERYTHING = { course: "", document: "", owner: "" };
const select = element("select", { id: "scope" });
const node = element("p", { class: "scope small", hidden: true }, element("label", { for: "scope" }, "Answer from"), select);
let offered = [EVERYTHING];

/** Have it stand where questions are written. @param {Element} composer */
export function scoping(composer) {
  composer.prepend(node);
  select.addEventListener("change", () => remember(offered[select.selectedIndex]));
}

/** The scope, as part of a run's context. */
export function scope() {
  const asked = new URLSearchParams(location.search);
  return Object.fromEntries(["course", "document", "owner"].map((name) => [name, asked.get(name)]).filter(([, value]) => value));
}

/** Offer these courses and their documents. A scope that isn't there any more is given up. @param {Course[]} courses */
export function offerScopes(courses) {
  const { course = "", document = "", owner = "" } = scope();
  offered = [EVERYTHING, ...courses.flatMap(scopesOf)];
  select.replaceChildren(new Option("All courses"), ...courses.map(optionsOf));
  const chosen = offered.findIndex((each) => each.course === course && each.document === document && each.owner === owner);
  select.selectedIndex = Math.max(chosen, 0);
  if (chosen < 0) remember(EVERYTHING);
  node.hidden = !courses.length;
}

/** Ask about a course that another user shares: it isn't among all courses. @param {Pick<Course, "key" | "owner">} course */
export function chooseShared({ key, owner }) {
  const chosen = owner ? offered.findIndex((each) => each.course === key && each.owner === owner) : -1;
  if (chosen < 0) return;
  select.selectedIndex = chosen;
  remember(offered[chosen]);
}

/** What a document is called, within its course. @param {string} source @param {Pick<Course, "key">} given */
export function documentName(source, { key }) {
  return source.startsWith(`${key}/`) ? source.slice(key.length + 1) : source.slice(source.lastIndexOf("/") + 1);
}

/** @param {Course} course */
function scopesOf({ key, sources, owner = "" }) {
  const documents = sources.length > 1 ? sources : [];
  return ["", ...documents].map((document) => ({ course: key, document, owner }));
}

/** A course that has several documents is a group: all of it, then each of them. @param {Course} course */
function optionsOf(course) {
  const { name, sources, owner } = course;
  if (sources.length < 2) return new Option(owner ? `${name} (shared by ${owner})` : name);
  return element("optgroup", { label: name }, new Option(`${name}: all of it`),
    sources.map((source) => new Option(`${name}: ${documentName(source, course)}`)));
}

/** @param {Scope} chosen */
function remember(chosen) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(chosen)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, "", url);
}

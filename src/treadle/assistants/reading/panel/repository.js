// Questions over the repository, answered without a model: lines that fit, references and callers, a map; and what has changed
// since a commit, which a model explains where there is one. Every answer is a list of places that open the file there.

import { ask, byId, element, messageOf, ServerError } from "/static/treadle.js";
import { pluralize } from "/static/format.js";
import { jumpTo, open, state } from "./state.js";

const NAME = "Name, without its class";

/**
 * @typedef {{ path: string, line?: number, end?: number, head: string, note?: string, text?: string, isInner?: boolean }} Place
 * @typedef {{ said: string, rows: Place[] }} Places
 * @typedef {{ name: string, signature: string, line: number, references: number }} Definition
 * @typedef {{ path: string, references: number, definitions: Definition[] }} MappedFile
 * @typedef {{ path: string, line: number, kind: string, inside?: string, text: string }} Reference
 * @typedef {{ status: string, added: number, removed: number }} Amount
 * @typedef {Amount & { name: string, start_line: number, end_line: number, explanation?: string }} ChangedDefinition
 * @typedef {Amount & { path: string, problem?: string, definitions: ChangedDefinition[] }} ChangedFile
 */

/** @type {Record<string, [string, (words: string, under: string) => Promise<Places>]>} */
const KINDS = {  // what is asked for, and how it is found
  search: ["Regular expression", async (pattern, under) => hits(await get("search", { pattern, under }))],
  references: [NAME, async (name, under) => references(await get("references", { name, under }))],
  callers: [NAME, async (name, under) => references(await get("references", { name, under, kind: "call" }))],
  map: ["", async (_, under) => map(await get("map", { under }))],
  changes: ["Commit, branch or tag", changes],
};
const [form, said, list] = ["asking", "ask-said", "places"].map((id) => byId(id));
const kind = byId("ask-kind", HTMLSelectElement), [words, under] = ["ask-words", "ask-under"].map((id) => byId(id, HTMLInputElement));
let asks = 0;

async function find() {
  const mine = ++asks, [label, look] = KINDS[kind.value];
  if (label && !words.value.trim()) return words.focus();
  said.textContent = "Looking…";
  list.replaceChildren();
  let found;
  try {
    found = await look(words.value.trim(), under.value.trim());
  } catch (error) {
    found = { said: messageOf(error), rows: [] };
  }
  if (mine !== asks) return;
  said.textContent = found.said;
  list.replaceChildren(...found.rows.map(rowOf));
}

/** @param {string} path @param {Record<string, string>} query */
function get(path, query) {
  return ask(`/api/reading/${path}?${new URLSearchParams(query)}`);
}

// what was found, as { said, rows }, where a row is { path, line, end, head, text, isInner }

/** @param {{ hits: { path: string, line: number, text: string }[], complete: boolean, late: boolean }} given @returns {Places} */
function hits({ hits: found, complete, late }) {
  const more = complete ? "" : late ? "; the time was up before all files were searched" : "; there are more";
  const rows = found.map(({ path, line, text }) => ({ path, line, head: `${path}:${line}`, text }));
  return { said: found.length ? `${pluralize(found.length, "line")}${more}` : "No matching lines.", rows };
}

/**
 *
 * @param {{ name: string, references: Reference[], total: number, any_total: number }} found
 * @returns {Places}
 */
function references({ name, references: found, total, any_total }) {
  const rows = found.map(({ path, line, kind: what, inside, text }) =>
    ({ path, line, head: `${path}:${line}`, note: inside ? `${what} in ${inside}` : what, text }));
  const none = any_total ? `Nothing calls ${name} here, but it is mentioned.` : `${name} isn't mentioned here.`;
  if (!total) return { said: none, rows };
  return { said: total > found.length ? `The first ${found.length} of ${total} places` : pluralize(total, "place"), rows };
}

/**
 * @param {{ files: MappedFile[], omitted_files: number, omitted_definitions: number }} found
 * @returns {Places}
 */
function map({ files, omitted_files, omitted_definitions }) {
  const rows = files.flatMap(({ path, references: often, definitions }) => [
    { path, head: path, note: pluralize(often, "reference") },
    ...definitions.map(({ name, signature, line, references: times }) =>
      ({ path, line, head: name, note: times ? `${times}×` : "", text: signature, isInner: true })),
  ]);
  const omitted = `Left out: ${pluralize(omitted_definitions, "definition")}, ${pluralize(omitted_files, "file")}.`;
  const said = `${pluralize(files.length, "file")}, those first that others refer to most.`;
  return { said: omitted_files || omitted_definitions ? `${said} ${omitted}` : said, rows };
}

/**
 * A model that failed leaves the list, with what went wrong.
 * @param {string} since @param {string} path @returns {Promise<Places>}
 */
async function changes(since, path) {
  try {
    return changed(await ask("/api/reading/changes", { since, path, explain: !state.model }));
  } catch (error) {
    if (!(error instanceof ServerError) || !error.said?.files) throw error;
    return changed(error.said);
  }
}

/**
 * @param {{ change_intent?: string, notes?: string, files: ChangedFile[] }} found
 * @returns {Places}
 */
function changed({ change_intent, notes, files }) {
  const told = (/** @type {Amount} */ { status, added, removed }) => `${status} +${added} -${removed}`;
  const rows = files.flatMap((file) => {
    const path = file.status === "removed" ? "" : file.path;  // there is nothing to open
    return [
      { path, head: file.path, note: told(file), text: file.problem },
      ...file.definitions.map((each) => ({
        path, line: each.status === "removed" ? 0 : each.start_line, end: each.end_line,
        head: each.name, note: told(each), text: each.explanation, isInner: true,
      })),
    ];
  });
  return { said: [change_intent, notes].filter(Boolean).join(" "), rows };
}

/** @param {Place} place */
function rowOf({ path, line, end, head, note = "", text = "", isInner = false }) {
  const parts = [
    element("span", { class: "base" }, head), note ? element("span", { class: "soft small" }, note) : null,
    text ? element("code", {}, text) : null,
  ];
  const opens = { type: "button", class: "bare", onclick: () => show(path, line, end) };
  return element("li", { class: isInner ? "inner" : null }, path ? element("button", opens, parts) : element("p", {}, parts));
}

/** @param {string} path @param {number | undefined} line @param {number | undefined} [end] */
async function show(path, line, end = line) {
  if (await open(path) && line) jumpTo(line, end);
}

function choose() {
  const [label] = KINDS[kind.value];
  words.hidden = !label;
  words.placeholder = label;
  words.setAttribute("aria-label", label);
  if (label) words.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  find();
});
kind.addEventListener("change", choose);

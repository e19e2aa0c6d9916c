// Questions over the repository, answered without a model: lines that fit, references and callers, a map; and what has changed
// since a commit, which a model explains where there is one. Every answer is a list of places that open the file there.

import { ask, element } from "/static/treadle.js";
import { counted } from "/static/words.js";
import { jumpTo, open, state } from "./state.js";

const NAME = "Name, without its class";
const KINDS = {  // what is asked for, and how it is found
  search: ["Regular expression", async (pattern, under) => hits(await get("search", { pattern, under }))],
  references: [NAME, async (name, under) => references(await get("references", { name, under }))],
  callers: [NAME, async (name, under) => references(await get("references", { name, under, kind: "call" }))],
  map: ["", async (_, under) => map(await get("map", { under }))],
  changes: ["Commit, branch or tag", changes],
};
const byId = (id) => document.getElementById(id);
const [form, kind, words, under, said, list] = ["asking", "ask-kind", "ask-words", "ask-under", "ask-said", "places"].map(byId);
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
    found = { said: error.message, rows: [] };
  }
  if (mine !== asks) return;
  said.textContent = found.said;
  list.replaceChildren(...found.rows.map(rowOf));
}

function get(path, query) {
  return ask(`/api/reading/${path}?${new URLSearchParams(query)}`);
}

// what was found, as { said, rows }, where a row is { path, line, end, head, text, isInner }

function hits({ hits: found, complete, late }) {
  const more = complete ? "" : late ? "; the time was up before all files were searched" : "; there are more";
  const rows = found.map(({ path, line, text }) => ({ path, line, head: `${path}:${line}`, text }));
  return { said: found.length ? `${counted(found.length, "line")}${more}` : "No line fits.", rows };
}

function references({ name, references: found, total, any_total }) {
  const rows = found.map(({ path, line, kind: what, inside, text }) =>
    ({ path, line, head: `${path}:${line}`, note: inside ? `${what} in ${inside}` : what, text }));
  const none = any_total ? `Nothing calls ${name} here, but it is mentioned.` : `${name} isn't mentioned here.`;
  if (!total) return { said: none, rows };
  return { said: total > found.length ? `The first ${found.length} of ${total} places` : counted(total, "place"), rows };
}

function map({ files, omitted_files, omitted_definitions }) {
  const rows = files.flatMap(({ path, references: often, definitions }) => [
    { path, head: path, note: counted(often, "reference") },
    ...definitions.map(({ name, signature, line, references: times }) =>
      ({ path, line, head: name, note: times ? `${times}×` : "", text: signature, isInner: true })),
  ]);
  const omitted = `Left out: ${counted(omitted_definitions, "definition")}, ${counted(omitted_files, "file")}.`;
  const said = `${counted(files.length, "file")}, those first that others refer to most.`;
  return { said: omitted_files || omitted_definitions ? `${said} ${omitted}` : said, rows };
}

/** A model that failed leaves the list, with what went wrong. */
async function changes(since, path) {
  try {
    return changed(await ask("/api/reading/changes", { since, path, explain: !state.model }));
  } catch (error) {
    if (!error.said?.files) throw error;
    return changed(error.said);
  }
}

function changed({ change_intent, notes, files }) {
  const told = ({ status, added, removed }) => `${status} +${added} -${removed}`;
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

function rowOf({ path, line, end, head, note = "", text = "", isInner = false }) {
  const parts = [
    element("span", { class: "base" }, head), note ? element("span", { class: "soft small" }, note) : null,
    text ? element("code", {}, text) : null,
  ];
  const opens = { type: "button", class: "bare", onclick: () => show(path, line, end) };
  return element("li", { class: isInner ? "inner" : null }, path ? element("button", opens, parts) : element("p", {}, parts));
}

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

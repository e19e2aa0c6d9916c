// The page of a job: what it is for, how far it is, its result, what it changed, and its run.

import { jobActions } from "./job-actions.js";
import { formatDuration } from "./format.js";
import { preview } from "./diff.js";
import { markdown } from "./markdown.js";
import { facts, mark } from "./states.js";
import { ask, byId, element } from "./treadle.js";
import { timeAgo } from "./time-ago.js";

const LOOK = 2000;  // milliseconds between two looks while it is under way
const jobId = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
const path = `/api/jobs/${encodeURIComponent(jobId)}`;
let before = "";

async function load() {
  const job = await ask(path), now = JSON.stringify(job);
  if (now !== before) draw(job, await changes(job), await infoOf(job));
  before = now;
  if (["pending", "running"].includes(job.state)) setTimeout(() => load().catch(complain), LOOK);
}

/** The files it has changed; none, where its assistant doesn't say. @param {Job} job @returns {Promise<FileChange[]>} */
async function changes({ assistant }) {
  return assistant === "coding" ? ask(`${path}/diff`).then(({ files }) => files, () => []) : [];
}

/** @param {Job} job @returns {Promise<AssistantInfo | undefined>} */
async function infoOf({ assistant }) {
  return (await ask("/api/assistants").catch(() => [])).find((/** @type {AssistantInfo} */ { name }) => name === assistant);
}

/** @param {Job} job @param {FileChange[]} files @param {AssistantInfo | undefined} info */
function draw(job, files, info) {
  const { id, title, state, why, kind, assistant, workspace, user, origin, created_at, started_at, finished_at } = job;
  byId("title").className = "";
  byId("title").textContent = title || id;
  document.title = `${title || id} · Treadle`;
  byId("about").replaceChildren(...facts({
    State: mark(state), Kind: `${kind} (${assistant})`, Model: origin?.model, Workspace: workspace, User: user,
    Began: timeAgo((started_at || created_at) * 1000), Took: finished_at && started_at ? formatDuration(finished_at - started_at) : null,
    Job: element("code", {}, id),
  }));
  byId("doings").replaceChildren(element("a", { class: "button quiet slim", href: `/runs/${encodeURIComponent(id)}` }, "Run"),
    ...linkTo(info, id), ...jobActions(job, load, complain).filter((each) => each !== null));
  byId("said").replaceChildren(...(why ? [element("p", { class: `notice ${state === "failed" ? "bad" : "warn"}` }, why)] : []));
  byId("parts").replaceChildren(...partsOf(job, files));
}

/** @param {AssistantInfo | undefined} info @param {string} id */
function linkTo(info, id) {
  const href = `${info?.panel}?job=${encodeURIComponent(id)}`;
  return info?.panel ? [element("a", { class: "button quiet slim", href }, `Open in ${info.title}`)] : [];
}

/** @param {Job} job @param {FileChange[]} files */
function* partsOf({ output, facts: noted, given }, files) {
  const told = Object.entries(output ?? {});
  for (const [name, value] of told) if (isLong(value)) yield part(heading(name), element("div", { class: "words" }, markdown(value)));
  const short = told.filter(([, value]) => !isLong(value)).map(([name, value]) => [heading(name), inWords(value)]);
  const rest = Object.fromEntries(short);
  if (Object.keys(rest).length) yield part("Outcome", element("dl", { class: "about" }, facts(rest)));
  if (files.length) yield part("Changes", files.map(changed));
  for (const [title, value] of Object.entries({ Input: given, Notes: noted })) {
    if (Object.keys(value ?? {}).length) {
      yield element("details", { class: "card" }, element("summary", {}, title),
        element("pre", { tabindex: "0", "aria-label": title }, JSON.stringify(value, null, 2)));
    }
  }
}

/** @param {string} title @param {Child | Child[]} content */
function part(title, content) {
  return element("section", { class: "card", "aria-label": title }, element("h2", {}, title), content);
}

/** @param {FileChange} fileChange */
function changed({ path: name, was, kind, lines, left_out: more, is_binary: isBinary }) {
  const from = kind === "added" ? "/dev/null" : was || name, to = kind === "deleted" ? "/dev/null" : name;
  const shown = isBinary
    ? element("p", {}, element("code", {}, name), " (binary)")
    : preview([`--- ${from}`, `+++ ${to}`, ...lines].join("\n"));
  return element("div", { class: "stack" }, shown, more ? element("p", { class: "small soft" }, `${more} more lines`) : null);
}

/** @param {unknown} value @returns {value is string} */
function isLong(value) {
  return typeof value === "string" && (value.length > 80 || value.includes("\n"));
}

/** @param {string} name */
function heading(name) {
  const words = name.replaceAll("_", " ");
  return `${words[0].toUpperCase()}${words.slice(1)}`;
}

/** @param {unknown} value @returns {string} */
function inWords(value) {
  if (Array.isArray(value)) return value.map((each) => inWords(each)).join(", ");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value);
}

/** @param {Error} error */
function complain(error) {
  byId("title").className = "";
  if (!before) byId("title").textContent = "Job";
  byId("said").replaceChildren(element("p", { class: "notice bad" }, error.message));
}

await load().catch(complain);

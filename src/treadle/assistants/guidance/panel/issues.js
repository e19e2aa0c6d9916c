// What was found wrong in a project, by runs and by people: listed, reported, resolved.

import { ask, element, fill, query } from "/static/treadle.js";
import { labelOf } from "./candidates.js";
import { choice, folded, form, labelled } from "./controls.js";
import { timeAgo, pluralize, plain, section, title } from "./format.js";

const SEVERITIES = ["minor", "important", "catastrophic"], TYPES = ["model", "constraint", "evaluator", "scenario"];
/** @type {Record<string, string>} */
const LOOKS = { important: "warn", catastrophic: "bad" };
/** @param {string[]} names @returns {[string, string][]} */
const options = (names) => names.map((name) => [name, plain(name)]);
const open = element("ul", { class: "rows", "aria-label": "Open issues" });
const closed = element("ul", { class: "rows", "aria-label": "Closed issues" });
const rest = folded("", closed);
let shown = "";

/**
 * Draw them. `again()` has the state loaded and drawn once more.
 * @param {Project} project @param {ProjectState} projectState @param {() => Promise<void>} again
 */
export function drawIssues({ id }, { issues, candidates }, again) {
  if (shown !== id) begin(id, again);
  const known = new Map(candidates.map((each) => [each.id, labelOf(each)]));
  const row = (/** @type {Issue} */ issue) => rowOf(issue, known, again);
  const waiting = issues.filter(isOpen).toReversed(), over = issues.filter((each) => !isOpen(each)).toReversed();
  section("issues", waiting.length ? `${waiting.length} open` : "none open");
  fill(open, waiting.map(row));
  fill(closed, over.map(row));
  rest.hidden = !over.length;
  query(rest, "summary").textContent = pluralize(over.length, "closed issue");
  query(document, "#issues .none").hidden = waiting.length > 0;
}

/** @param {string} id @param {() => Promise<void>} again */
function begin(id, again) {
  shown = id;
  query(document, "#issues .within").replaceChildren(element("p", { class: "soft none" }, "Nothing is known to be wrong."),
    open, rest, folded("Report an issue", reportForm(id, again)));
}

/** @param {Issue} issue */
function isOpen({ resolution_status: status }) {
  return status === "open";
}

/** @param {Issue} issue @param {Map<string, string>} known @param {() => Promise<void>} again */
function rowOf(issue, known, again) {
  const { id, type, severity, description, resolution_status: status, resolution_note: note } = issue;
  const about = known.get(issue.candidate_id ?? "");
  const kind = element("span", {}, element("span", { class: `tag ${LOOKS[severity] ?? ""}` }, severity), ` ${title(type)}`);
  return element("li", { "data-id": id },
    element("div", { class: "head small soft" }, kind, timeAgo(issue.created_at)), element("p", { class: "description" }, description),
    about ? element("p", { class: "small soft" }, `About: ${about}`) : null, isOpen(issue)
    ? element("button", { type: "button", class: "quiet small", onclick: () => resolve(issue, again) }, "Resolve…")
    : element("p", { class: "small soft" }, `${title(status)}${note ? `: ${note}` : ""}`));
}

/**
 * Ask how an issue was closed. It is a dialog, so that a list that is drawn meanwhile takes nothing away.
 * @param {Issue} issue @param {() => Promise<void>} again
 */
function resolve({ id, description }, again) {
  const note = element("textarea", { rows: "2" }), dialog = element("dialog", { class: "modal", "aria-label": "Resolve an issue" });
  const status = choice([["resolved", "It is resolved"], ["invalidated", "It was no issue"]], "resolved");
  const fields = [element("p", { class: "small" }, description), labelled("Resolution", status), labelled("Note", note)];
  const close = () => dialog.close();
  dialog.append(form(fields, "Save", async () => {
    await ask(`/issues/${encodeURIComponent(id)}/resolve`, { status: status.value, note: note.value.trim() });
    close();
    await again();
  }, element("button", { type: "button", class: "quiet small", onclick: close }, "Cancel")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {string} id @param {() => Promise<void>} again */
function reportForm(id, again) {
  const words = element("textarea", { rows: "2", required: true });
  const type = choice(options(TYPES), "model"), severity = choice(options(SEVERITIES), "important");
  return form([labelled("What is wrong", words),
    element("div", { class: "pair" }, labelled("Where", type), labelled("Severity", severity))], "Report it", async () => {
    const issue = { description: words.value, type: type.value, severity: severity.value };
    await ask(`/projects/${encodeURIComponent(id)}/issues`, issue);
    words.value = "";
    await again();
  });
}

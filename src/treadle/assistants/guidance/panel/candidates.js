// Candidates side by side: a table of scores by constraint, then each candidate with its reasons, what was checked, where it came
// from, and the record of a decision for it.

import { element } from "/static/treadle.js";
import { showRecord } from "./decision.js";
import { timeAgo, plain, title } from "./format.js";

const LONGEST = 80;  // characters of a label
/** @type {Record<string, string>} */
const LOOKS = { promising: "good", weak: "warn", rejected: "bad" };
/** @type {Record<string, string>} */
const ORIGINS = { user: "Proposed by a person", system: "Proposed by the model" };

/**
 * A comparison as nodes. `candidates` and `changes` are all that is known of the run's.
 * @param {string} project @param {Comparison} comparison @param {{ candidates: Candidate[], changes: ProvenanceChange[] }} given
 */
export function comparisonNodes(project, { candidates: order, constraints }, { candidates, changes }) {
  const known = new Map(candidates.map((each) => [each.id, each])), names = new Map(order.map(({ id }, at) => [id, `C${at + 1}`]));
  return [tableOf(order, constraints), element("ol", { class: "candidates" }, order.map((compared) =>
    candidateOf(project, compared, known.get(compared.id), names, changes)))];
}

/** What a candidate is called: the beginning of its description. @param {Candidate} candidate */
export function labelOf({ mechanism_description: words }) {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

/** @param {ComparedCandidate[]} order @param {Comparison["constraints"]} constraints */
function tableOf(order, constraints) {
  const cells = (/** @type {"th" | "td"} */ kind, /** @type {unknown[]} */ values) =>
    values.map((value) => element(kind, kind === "th" ? { scope: "col" } : {}, String(value ?? "–")));
  const totals = order.map((each) => each.total);
  const rows = constraints.map(({ name, weight, scores }) =>
    element("tr", {}, element("th", { scope: "row" }, `${name} (${weight === 100 ? "must" : weight})`), cells("td", scores)));
  const total = element("tr", { class: "total" }, element("th", { scope: "row" }, "Total"), cells("td", totals));
  const head = element("tr", {}, element("th", { scope: "col" }, "Constraint"), cells("th", order.map((_, at) => `C${at + 1}`)));
  return element("div", { class: "scores", tabindex: "0", role: "region", "aria-label": "Scores by constraint" },
    element("table", { class: "small" }, element("thead", {}, head), element("tbody", {}, rows, total)));
}

/**
 * @param {string} project @param {ComparedCandidate} comparedCandidate @param {Candidate | undefined} candidate
 * @param {Map<string, string>} names @param {ProvenanceChange[]} changes
 */
function candidateOf(project, { id, label, status, total, violations }, candidate, names, changes) {
  const tag = element("span", { class: `tag ${LOOKS[status] ?? ""}` }, plain(status));
  const score = total === null ? "" : ` · ${total} of 100`;
  const inside = candidate ? [
    candidate.mechanism_description === label ? null : element("p", {}, candidate.mechanism_description),
    violations.length ? element("p", { class: "small bad" }, `Rules it out: ${violations.join(", ")}`) : null,
    reasonsOf(candidate), effectsOf(candidate), originOf(candidate, names, changes),
  ] : [];
  return element("li", {}, element("details", { class: "more" },
    element("summary", { class: "small" }, element("span", {}, `${label}${score} `), tag),
    element("div", { class: "inside" }, inside, element("div", { class: "actions" }, element("button", {
      type: "button", class: "quiet small record", onclick: () => showRecord(project, id, label),
    }, "Decision record")))));
}

/**
 * Each constraint with its score and why, the situation in which it does worst, and the number that code compared.
 * @param {Candidate} candidate
 */
function reasonsOf({ scores: { constraints = [], resources = [] } }) {
  const rows = constraints.map(({ constraint, score, judged, reason, scenario, check }) => element("div", {},
    element("dt", {}, constraint, element("span", { class: "soft" }, ` ${score ?? "not judged"}`)),
    element("dd", {}, [reason, scenario ? `Worst in: ${scenario}.` : "", check ? checked(check) : "",
      check && judged !== score ? `The model said ${judged}.` : ""].filter(Boolean).join(" "))));
  return element("dl", { class: "reasons small" }, rows,
    resources.map((check) => element("div", {}, element("dt", {}, check.subject), element("dd", {}, checked(check)))));
}

/** @param {Check} check */
function checked({ predicted, limit, holds }) {
  const [number, most] = [predicted, limit.value].map((value) => value.toLocaleString("en"));
  return `${number} predicted, ${plain(limit.relation)} ${most} allowed: ${holds ? "holds" : "doesn't hold"}.`;
}

/** @param {Candidate} candidate */
function effectsOf({ predicted_effects: { effects = [] } }) {
  return effects.length ? element("ul", { class: "small goals", "aria-label": "Predicted effects" },
    effects.map((words) => element("li", {}, String(words)))) : null;
}

/**
 * Where it came from, and each step that was recorded of it.
 * @param {Candidate} candidate @param {Map<string, string>} names @param {ProvenanceChange[]} changes
 */
function originOf({ id, origin, parent_ids: parents }, names, changes) {
  const from = parents.length ? `, improved on ${parents.map((one) => names.get(one) ?? one.slice(0, 8)).join(", ")}` : "";
  const steps = changes.filter(({ reference_ids: about }) => about.includes(id)).map(({ type, description, timestamp }) =>
    element("li", {}, `${title(type)}${description ? `: ${plain(description)}` : ""}, `, timeAgo(timestamp)));
  return element("ul", { class: "small soft origin", "aria-label": "Provenance" },
    element("li", {}, `${ORIGINS[origin] ?? origin}${from}`), steps);
}

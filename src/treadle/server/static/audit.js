// The page of the audit: records of calls, picked and older ones on demand, and whether the chain they make still holds.

import { argumentList } from "./calls.js";
import { formatDuration } from "./format.js";
import { ask, byId, element, fieldsOf, messageOf, query } from "./treadle.js";
import { pluralize } from "./format.js";
import { timeAgo } from "./time-ago.js";

const PAUSE = 300;  // milliseconds without a key after which what was typed counts
const AT_ONCE = "50";
const form = byId("picking", HTMLFormElement), list = byId("records"), said = byId("said"), older = byId("older");
/** @type {Record<string, string>} */
const VERDICTS = { allow: "good", deny: "bad", ask: "warn", not_happened: "warn", again: "warn" };
/** @type {number | null} */
let last = null;
let asking = new AbortController(), typing = 0;

/** @param {Record<string, string>} [more] */
function picked(more = {}) {
  return new URLSearchParams([...fieldsOf(form), ...Object.entries(more)]);
}

/** @param {number | null} [before] */
async function show(before = null) {
  asking.abort();
  const { signal } = asking = new AbortController();
  history.replaceState(null, "", `${location.pathname}${picked().size ? `?${picked()}` : ""}`);
  try {
    const page = await ask(`/api/audit?${picked({ limit: AT_ONCE, ...(before ? { before: `${before}` } : {}) })}`, undefined, { signal });
    const rows = page.records.map(rowOf);
    if (before) list.append(...rows);
    else list.replaceChildren(...rows);
    if (before) rows[0]?.querySelector("summary")?.focus();
    last = page.records.at(-1)?.seq ?? last;
    older.hidden = !page.more;
    list.hidden = list.childElementCount === 0;
    tell(list.childElementCount, picked().size);
  } catch (error) {
    if (signal.aborted) return;
    said.className = "notice bad";
    said.textContent = messageOf(error);
  }
}

/** @param {number} amount @param {number} isPicked */
function tell(amount, isPicked) {
  const none = isPicked ? "No matching records." : "No tool calls yet.";
  said.className = "soft small";
  said.textContent = amount ? `${pluralize(amount, "record")}${older.hidden ? "" : ", the newest"}.` : none;
}

/** @param {AuditRecord} record */
function rowOf(record) {
  const { seq, hash, run_id, tool_name, user, verdict, verdict_by, duration_ms, success, error, at, stage, arguments: given = {} } = record;
  const took = stage === "begins" ? "begins" : formatDuration(duration_ms / 1000);
  return element("li", {}, element("details", { class: "record" },
    element("summary", {},
      element("span", { class: "number small soft" }, `${seq}`), element("span", { class: "name" }, tool_name),
      element("span", { class: "mark", "data-kind": VERDICTS[verdict] ?? null }, verdict.replace("_", " ")),
      element("span", { class: `small ${success ? "soft" : "bad"}` }, success ? took : error || "failed"),
      element("span", { class: "small soft when" }, timeAgo(at * 1000))),
    element("dl", { class: "about" }, [
      ["Run", element("a", { href: `/runs/${encodeURIComponent(run_id)}` }, run_id)], ["User", user],
      ["Decided by", verdict_by], ["Took", stage === "begins" ? "" : took], ["Seal", element("code", {}, hash.slice(0, 16))],
    ].filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))),
    Object.keys(given).length ? argumentList(given) : null,
    record.result_summary ? element("pre", { tabindex: "0", "aria-label": "Result" }, record.result_summary) : null));
}

async function verify() {
  const button = byId("verify", HTMLButtonElement), place = byId("verified");
  button.disabled = true;
  place.replaceChildren(element("p", { class: "busy soft" }, "Reading every record…"));
  try {
    place.replaceChildren(answerOf(await ask("/api/audit/verify")));
  } catch (error) {
    place.replaceChildren(element("p", { class: "notice bad" }, messageOf(error)));
  }
  button.disabled = false;
}

/** @param {{ records: number, broken_at?: number, reason: string, missing?: string }} given */
function answerOf({ records, broken_at, reason, missing }) {
  const amount = pluralize(records, "record");
  if (broken_at != null) {
    return element("p", { class: "notice bad" },
      `The chain is broken at record ${broken_at}: ${reason}. ${amount} before it ${records === 1 ? "holds" : "hold"}.`);
  }
  if (missing === "anchors") {
    return element("p", { class: "notice warn" }, `The chain can't be verified: ${amount} are intact, but ${reason}.`);
  }
  return element("p", { class: "notice good" },
    records ? `Verified: ${amount}, none altered${reason ? `; ${reason}` : ""}.` : "No records yet: nothing to verify.");
}

const wanted = new URLSearchParams(location.search);
for (const name of ["tool", "run", "user"]) query(form, `[name=${name}]`, HTMLInputElement).value = wanted.get(name) ?? "";
form.addEventListener("submit", (event) => {
  event.preventDefault();
  show();
});
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(show, PAUSE);
});
older.addEventListener("click", () => show(last));
byId("verify").addEventListener("click", verify);
await show();

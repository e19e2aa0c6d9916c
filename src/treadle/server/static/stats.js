// The page of figures: what is picked, and asking the server for it; drawing it is `figures.js`. What was picked is in the address,
// so that it can be kept and passed on.
import { isAbort } from "/static/errors.js";
import { ask, byId, element, hideField, messageOf, query } from "/static/treadle.js";
import { figuresOf } from "/static/figures.js";
import { pluralize } from "/static/format.js";

const form = byId("picking", HTMLFormElement), said = byId("said"), figures = byId("figures");
const tool = query(form, "[name=tool]", HTMLInputElement), since = query(form, "[name=since]", HTMLSelectElement);
/** @typedef {"tool" | "day" | "assistant" | "model"} Grouping */
/** @type {Grouping[]} */
const GROUPINGS = ["tool", "day", "assistant", "model"];
let asking = new AbortController();

async function begin() {
  const wanted = new URLSearchParams(location.search);
  try {
    for (const by of ["assistant", "model", "user"]) {
      offer(query(form, `[name=${by}]`, HTMLSelectElement), (await ask(`/api/stats?by=${by}`)).rows, wanted.get(by));
    }
  } catch (error) {
    complain(error);
    return;
  }
  tool.value = wanted.get("tool") ?? "";
  since.value = wanted.get("since") ?? since.value;
  if (since.selectedIndex < 0) since.value = "30d";
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    show();
  });
  await show();
}

/** @param {HTMLSelectElement} select @param {StatsRow[]} rows @param {string | null} wanted */
function offer(select, rows, wanted) {
  const names = rows.map((row) => row.key).filter(Boolean);
  select.append(...names.map((name) => element("option", { value: name, selected: name === wanted }, name)));
  hideField(select, names.length === 0);
}

async function show() {
  asking.abort();
  const mine = asking = new AbortController();
  const picked = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
  history.replaceState(null, "", `?${picked}`);
  said.className = "busy";
  said.textContent = "Counting…";
  try {
    const reports = /** @type {Record<Grouping, StatsReport>} */ ({});
    for (const by of GROUPINGS) {
      reports[by] = await ask(`/api/stats?${new URLSearchParams([...picked, ["by", by]])}`, undefined, { signal: mine.signal });
    }
    draw(reports);
  } catch (error) {
    if (!isAbort(error)) complain(error);
  }
}

/** @param {Record<Grouping, StatsReport>} reports */
function draw(reports) {
  const { total, unread } = reports.tool;
  const words = total.calls ? `${pluralize(total.calls, "call")} counted.` : "No tool was called.";
  said.className = "soft";
  said.textContent = unread ? `${words} ${pluralize(unread, "run")} can't be read, so what is new in them isn't counted.` : words;
  figures.hidden = reports.assistant.rows.length === 0;
  figures.replaceChildren(...figuresOf(reports));
}

/** @param {unknown} error */
function complain(error) {
  figures.hidden = true;
  said.className = "notice bad";
  said.textContent = messageOf(error);
}

await begin();

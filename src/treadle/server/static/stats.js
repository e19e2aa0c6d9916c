// The page of figures: what is picked, and asking the server for it; drawing it is `figures.js`. What was picked is in the address,
// so that it can be kept and passed on.
import { ask, element } from "/static/treadle.js";
import { counted, figuresOf } from "/static/figures.js";

const [form, said, figures] = ["#picking", "#said", "#figures"].map((name) => document.querySelector(name));
let asking = new AbortController();

async function begin() {
  const wanted = new URLSearchParams(location.search), { since, tool } = form.elements;
  try {
    for (const by of ["assistant", "model", "user"]) {
      offer(form.elements[by], (await ask(`/api/stats?by=${by}`)).rows, wanted.get(by));
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

function offer(select, rows, wanted) {
  const names = rows.map((row) => row.key).filter(Boolean);
  select.append(...names.map((name) => element("option", { value: name, selected: name === wanted }, name)));
  select.closest(".field").hidden = names.length === 0;
}

async function show() {
  asking.abort();
  const mine = asking = new AbortController();
  const picked = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  history.replaceState(null, "", `?${picked}`);
  said.className = "busy";
  said.textContent = "Counting…";
  try {
    const reports = {};
    for (const by of ["tool", "day", "assistant", "model"]) {
      reports[by] = await ask(`/api/stats?${new URLSearchParams([...picked, ["by", by]])}`, undefined, { signal: mine.signal });
    }
    draw(reports);
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
  }
}

function draw(reports) {
  const { total, unread } = reports.tool;
  const words = total.calls ? `${counted(total.calls, "call")} counted.` : "No tool was called.";
  said.className = "soft";
  said.textContent = unread ? `${words} ${counted(unread, "run")} can't be read, so what is new in them isn't counted.` : words;
  figures.hidden = reports.assistant.rows.length === 0;
  figures.replaceChildren(...figuresOf(reports));
}

function complain(error) {
  figures.hidden = true;
  said.className = "notice bad";
  said.textContent = error.message;
}

await begin();

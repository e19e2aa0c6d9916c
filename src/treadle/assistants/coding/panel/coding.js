// The panel of the coding assistant: joins the list of jobs, the form that begins one, and the job that is looked at.

import { ask, byId, question } from "/static/treadle.js";
import { form } from "./form.js";
import { job as shown } from "./job.js";
import { jobs } from "./jobs.js";
import { tabs } from "./tabs.js";


const pages = tabs();
const one = shown({ reveal: pages.show, changed: () => list.draw(one.id), begun: open });
const list = jobs({ open });
const beginning = form({ begun: open });

/** @param {string} id */
function open(id) {
  remember(id);
  byId("start").hidden = true;
  byId("job").hidden = false;
  byId("new").hidden = false;
  pages.show("work");
  list.fold();
  one.show(id);
  list.draw(id);
}

/** The form, and no job. */
function anew() {
  remember("");
  one.hide();
  byId("job").hidden = true;
  byId("start").hidden = false;
  byId("new").hidden = true;
  list.fold();
  list.draw("");
  beginning.look();
  byId("start-title").focus();
}

/** Have the address say which job is shown, so that it is there again when the page is. @param {string} id */
function remember(id) {
  const url = new URL(location.href);
  url.searchParams.delete("question");
  if (id) url.searchParams.set("job", id);
  else url.searchParams.delete("job");
  history.replaceState(null, "", url);
}

/** Whoever may only look is shown nothing that they could do. */
async function drawPerson() {
  const me = await ask("/api/me").catch(() => null);
  document.body.toggleAttribute("data-reads", me?.role === "reader");
}

async function start() {
  const wanted = new URLSearchParams(location.search).get("job");
  beginning.fill(question());
  await drawPerson();
  await beginning.look();
  if (wanted) open(wanted);
  else list.draw("");
}

byId("new").addEventListener("click", anew);
start();

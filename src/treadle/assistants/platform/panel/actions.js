// What buttons do on the platform besides deploying: retry a workflow that failed, and deploy the spec by a golden path.

import { ask, element } from "/static/treadle.js";
import { written } from "./editor.js";
import { nameIn } from "./spec.js";

const byId = (id) => document.getElementById(id);

/** Have the buttons work. `act(message, call)` has a call made, of which the person is asked. */
export function offerActions(act) {
  byId("failures").addEventListener("click", () => open("Failed workflows", (close) => failures(close, act)));
  byId("along").addEventListener("click", () => open("Deploy by a golden path", (close) => paths(close, act)));
}

/** A dialog with what `fill(close)` brings; why nothing came, where it fails. */
async function open(title, fill) {
  const place = element("div", { class: "choices" }, element("p", { class: "small soft busy", role: "status" }, "Looking…"));
  const close = () => dialog.close();
  const dialog = element("dialog", { class: "sure action", "aria-labelledby": "action-title" },
    element("h2", { id: "action-title" }, title), place,
    element("div", { class: "actions" }, element("button", { type: "button", class: "quiet", onclick: close }, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    place.replaceChildren(...await fill(close));
  } catch (error) {
    place.replaceChildren(element("p", { class: "notice bad", role: "alert" }, error.message));
  }
}

async function failures(close, act) {
  const found = await ask("/api/platform/workflows?status=failed");
  const retry = (id) => () => {
    close();
    act(`Retry workflow ${id}.`, { name: "retry_workflow", arguments: { workflow_id: String(id) } });
  };
  if (!found.length) return [element("p", { class: "soft" }, "No workflow has failed.")];
  return [element("ul", {}, found.map(({ id, application_name: app, workflow_name: name, completed_at: at }) => element("li", {},
    element("span", {}, `${id} · ${name} of ${app}`), element("span", { class: "small soft" }, at ? new Date(at).toLocaleString() : ""),
    element("button", { type: "button", class: "quiet", onclick: retry(id) }, "Retry"))))];
}

async function paths(close, act) {
  const found = await ask("/api/platform/golden-paths");
  const run = (path) => (event) => {
    event.preventDefault();
    const parameters = Object.fromEntries([...new FormData(event.target)].filter(([, value]) => value));
    const call = { name: "run_golden_path", arguments: { path, spec_content: written(), parameters } };
    close();
    act(`Run the golden path ${path} with ${nameIn(written()) || "the spec"}.`, call);
  };
  return found.map(({ name, description = "", parameters = {} }) => element("form", { class: "path", onsubmit: run(name) },
    element("h3", {}, name), element("p", { class: "small soft" }, description),
    Object.entries(parameters).map(([key, { description: words = "", required = false }]) => element("label", {},
      `${key}${words ? ` (${words})` : ""}`, element("input", { name: key, required: Boolean(required) }))),
    element("button", { class: "quiet" }, "Run it")));
}

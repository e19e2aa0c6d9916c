// What buttons do on the platform besides deploying: retry a workflow that failed, and deploy the spec by a golden path.

import { ask, byId, element, messageOf } from "/static/treadle.js";
import { written } from "./editor.js";
import { nameIn } from "./spec-text.js";


/**
 * Have the buttons work. `act(message, call)` has a call made, of which the person is asked.
 * @param {(message: string, call: object) => void} act
 */
export function offerActions(act) {
  byId("failures").addEventListener("click", () => open("Failed workflows", (close) => failures(close, act)));
  byId("along").addEventListener("click", () => open("Deploy by a golden path", (close) => paths(close, act)));
}

/**
 * A dialog with what `fill(close)` brings; why nothing came, where it fails.
 * @param {string} title @param {(close: () => void) => Promise<Node[]>} fill
 */
async function open(title, fill) {
  const place = element("div", { class: "choices" }, element("p", { class: "small soft busy", role: "status" }, "Looking…"));
  const dialog = element("dialog", { class: "modal action", "aria-labelledby": "action-title" }), close = () => dialog.close();
  dialog.append(element("h2", { id: "action-title" }, title), place,
    element("div", { class: "actions" }, element("button", { type: "button", class: "quiet", onclick: close }, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  try {
    place.replaceChildren(...await fill(close));
  } catch (error) {
    place.replaceChildren(element("p", { class: "notice bad", role: "alert" }, messageOf(error)));
  }
}

/** @param {() => void} close @param {(message: string, call: object) => void} act */
async function failures(close, act) {
  /** @type {{ id: number, application_name: string, workflow_name: string, completed_at?: string }[]} */
  const found = await ask("/api/platform/workflows?status=failed");
  const retry = (/** @type {number} */ id) => () => {
    close();
    act(`Retry workflow ${id}.`, { name: "retry_workflow", arguments: { workflow_id: String(id) } });
  };
  if (!found.length) return [element("p", { class: "soft" }, "No workflow has failed.")];
  return [element("ul", {}, found.map(({ id, application_name: app, workflow_name: name, completed_at: at }) => element("li", {},
    element("span", {}, `${id} · ${name} of ${app}`), element("span", { class: "small soft" }, at ? new Date(at).toLocaleString() : ""),
    element("button", { type: "button", class: "quiet", onclick: retry(id) }, "Retry"))))];
}

/** @param {() => void} close @param {(message: string, call: object) => void} act */
async function paths(close, act) {
  /** @type {{ name: string, description?: string, parameters?: Record<string, { description?: string, required?: boolean }> }[]} */
  const found = await ask("/api/platform/golden-paths");
  const run = (/** @type {string} */ path) => (/** @type {SubmitEvent & { target: HTMLFormElement }} */ event) => {
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
    element("button", { class: "quiet" }, "Run")));
}

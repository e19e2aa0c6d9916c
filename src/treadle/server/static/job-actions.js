// What can be done with a job from outside: it is cancelled, taken up again, or deleted.

import { confirmDialog } from "./confirm-dialog.js";
import { ask, element } from "./treadle.js";

/**
 * The buttons that a job has now. `done()` is called when it is as asked for, `failed(error)` where that went wrong.
 * @param {Job} job @param {() => unknown} done @param {(error: Error) => unknown} failed
 */
export function jobActions({ id, title, state }, done, failed) {
  const act = async (/** @type {string} */ doing) => ask(`/api/jobs/${encodeURIComponent(id)}/${doing}`, {}).then(done, failed);
  const cancel = async () => await confirmDialog(`Stop “${title || id}”? What it has done stays.`, "Stop the job") && act("cancel");
  const remove = async () => await confirmDialog(`Delete “${title || id}” and its run? What it changed stays.`, "Delete the job") &&
    ask(`/api/jobs/${encodeURIComponent(id)}`, undefined, { method: "DELETE" }).then(() => location.assign("/jobs"), failed);
  const button = (/** @type {string} */ words, /** @type {() => unknown} */ onclick) =>
    element("button", { type: "button", class: "quiet slim", "data-key": `${id}/${words}`, onclick }, words,
      element("span", { class: "unseen" }, ` ${title || id}`));
  return [
    ["pending", "running", "waiting"].includes(state) ? button("Stop", cancel) : null,
    ["waiting", "failed", "pending"].includes(state) ? button("Resume", () => act("resume")) : null,
    ["completed", "failed", "cancelled"].includes(state) ? button("Delete", remove) : null,
  ];
}

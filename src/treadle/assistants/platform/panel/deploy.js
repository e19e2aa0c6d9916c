// Deploying the spec: the person is shown what would change, says yes or no, and sees the result. No model is needed. It is
// a run like any other, which goes on though the page is left, and is shown again when it is back.

import { boxFor } from "/static/approval.js";
import { pathOf } from "/static/durable.js";
import { following } from "/static/following.js";
import { byId, element, messageOf } from "/static/treadle.js";
import { remember } from "./address.js";
import { hold } from "./editor.js";

const LOOKING = "Looking at what would change…", LOST = "Connection lost; trying again…";
const place = byId("outcome"), button = byId("deploy", HTMLButtonElement);

/**
 * @typedef {{ check: () => Promise<Finding[]>, goTo: (line: number, column: number) => void, show: (spec: string) => Promise<boolean>,
 *   ask: (words: string) => void, about: () => Promise<object>, spec: () => string, name: (spec: string) => string }} Deploying
 * @typedef {{ path?: string, body?: unknown, runId?: string }} Source
 * @typedef {{ problem?: string | null, content?: string, structured?: boolean }} Result
 */

/** @type {Deploying} */
let how;
let isUnderWay = false;

/** Whether a spec is being deployed, or its approval is pending. */
export function isDeploying() {
  return isUnderWay;
}

/** No deployment belongs to what is shown now. */
export function forgetDeployment() {
  remember("deploy", null);
  place.replaceChildren();
}

/**
 * Have the button work. `check()` finds the errors, `goTo(line, column)` shows one, `show(spec)` shows a spec, `ask(words)` asks
 * the assistant; `about()` says whom runs are begun with.
 * @param {Deploying} given
 */
export function deploying(given) {
  how = given;
  button.addEventListener("click", () => guarded(async () => {
    const [error] = await how.check();
    if (error) {
      tell("bad", "It has errors and would be refused. Fix them first.");
      return how.goTo(error.line, error.column);
    }
    tell("busy", LOOKING);
    const spec = how.spec(), call = { name: "deploy_application", arguments: { spec_content: spec } };
    const message = `Deploy ${how.name(spec) || "the spec"}.`;
    await carried({ path: "/api/runs", body: { ...await how.about(), message, call } });
  }));
}

/** Show a deployment again, with its spec. @param {string} runId @param {string} spec */
export async function restoreDeployment(runId, spec) {
  if (!await how.show(spec)) return;
  remember("deploy", runId);
  guarded(() => carried({ runId }));
}

/** @param {() => Promise<unknown>} act */
async function guarded(act) {
  under(true);
  try {
    await act();
  } catch (error) {
    tell("bad", messageOf(error));
  } finally {
    under(false);
  }
}

/** @param {boolean} on */
function under(on) {
  isUnderWay = on;
  button.disabled = on;
  hold(on);
}

/**
 * What happens in the run, to its end: a question is asked, and its result is shown.
 * @param {Source} source @returns {Promise<unknown>}
 */
async function carried(source) {
  const { reply, result } = await ended(source), [asked] = reply.approvals ?? [];
  if (reply.stopped === "open") return stranded(reply);
  if (reply.stopped === "failed") return tell("bad", reply.reason);
  if (asked) return came(await decided(asked));
  came(result);
}

/** The end of a run's turn, and what its call brought. @param {Source} source @param {() => void} [begun] */
async function ended(source, begun = () => {}) {
  /** @type {Result | null} */
  let result = null;
  /** @type {RunEvent} */
  let reply = { event: "reply", stopped: "failed", reason: "The connection ended before the run did." };
  for await (const event of following(source)) {
    begun();
    if (event.event === "error") throw new Error(event.error);
    if (event.run_id) remember("deploy", event.run_id);
    if (event.event === "lost") tell("busy", LOST);
    else if (event.event === "back") tell("busy", LOOKING);
    else if (event.event === "call_returned") result = event.result;
    else if (event.event === "reply") reply = event;
  }
  return { reply, result };
}

/**
 * The result of the person's decision. What keeps it from being taken is said in the box.
 * @param {PendingCall} asked @returns {Promise<Result | null>}
 */
function decided(asked) {
  return new Promise((resolve, reject) => {
    const path = `${pathOf(asked.run_id)}/approvals/${encodeURIComponent(asked.call_id)}`;
    const box = boxFor(asked, async (said) => {
      let hasBegun = false;
      try {
        const { reply, result } = await ended({ path, body: { ...said, digest: asked.digest } }, () => (hasBegun = true));
        resolve(said.approved === false ? { problem: "denied" } : result ?? { problem: reply.stopped, content: reply.reason });
      } catch (error) {
        if (!hasBegun) throw error;
        reject(error);
      }
    });
    place.replaceChildren(box.node);
    box.focus();
    box.node.scrollIntoView({ block: "nearest" });
  });
}

/** @param {Result | null} result */
function came(result) {
  if (result?.problem === "denied") tell("", "Not deployed.");
  else if (!result || result.problem) tell("bad", result?.content || "No result.");
  else deployed(result.structured ? JSON.parse(result.content ?? "") : { message: result.content });
  button.disabled = false;
  button.focus();
}

/** @param {{ message?: string, warnings?: string[] }} given */
function deployed({ message, warnings = [] }) {
  const words = `How is ${how.name(how.spec())} doing?`;
  tell("good", [message ?? "Deployed.", ...warnings].join("\n"),
    element("button", { type: "button", class: "quiet", onclick: () => how.ask(words) }, "Ask how it is doing"));
}

/** No process continues it. @param {{ run_id?: string, reason?: string }} given */
function stranded({ run_id: runId, reason }) {
  const go = () => guarded(() => carried({ path: `${pathOf(runId ?? "")}/resume`, body: {} }));
  tell("warn", reason, element("button", { type: "button", class: "quiet", onclick: go }, "Resume"));
}

/** @param {string} kind @param {Child} words @param {Node | null} [button] */
function tell(kind, words, button = null) {
  const role = kind === "bad" ? "alert" : "status";
  place.replaceChildren(kind === "busy"
    ? element("p", { class: "small soft busy", role }, words)
    : element("div", { class: `notice ${kind}`, role }, element("p", {}, words), button));
}

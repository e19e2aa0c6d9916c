// Deploying the spec: the person is shown what would change, says yes or no, and is told what came of it. No model is needed.

import { boxFor } from "/static/approval.js";
import { ask, element } from "/static/treadle.js";
import { hold } from "./editor.js";

const place = document.getElementById("outcome"), button = document.getElementById("deploy");
let isUnderWay = false;

/** Whether a spec is being deployed, or somebody is asked whether it is to be. */
export function isDeploying() {
  return isUnderWay;
}

/** Have the button work. `check()` finds the errors, `goTo(line, column)` shows one, `asking(words)` asks the assistant. */
export function deploying({ spec, name, check, goTo, ask: asking }) {
  button.addEventListener("click", () => guarded(async () => {
    const [error] = await check();
    if (error) {
      tell("bad", "It has errors and would be refused. Mend them first.");
      return goTo(error.line, error.column);
    }
    tell("busy", "Looking at what would change…");
    await answered(await ask("/api/platform/deploy", { spec: spec() }), name(spec()), asking);
  }));
}

async function guarded(act) {
  under(true);
  try {
    await act();
  } catch (error) {
    tell("bad", error.message);
  } finally {
    under(false);
  }
}

function under(on) {
  isUnderWay = on;
  button.disabled = on;
  hold(on);
}

/** What the server says: a question, which is asked and answered, or what came of it. */
async function answered(reply, name, asking) {
  const [asked] = reply.approvals;
  if (!asked) return came(reply.message, name, asking);
  const { said, after } = await decided(asked);
  if (said.approved === false) tell("", "Not deployed.");
  else await came(after.message, name, asking);
  button.disabled = false;
  button.focus();
}

/** The person's decision, once the server has it. */
function decided(asked) {
  return new Promise((resolve) => {
    const box = boxFor(asked, async (said) => {
      const path = `/api/platform/approvals/${encodeURIComponent(asked.run_id)}/${encodeURIComponent(asked.call_id)}`;
      resolve({ said, after: await ask(path, { ...said, digest: asked.digest }) });
    });
    place.replaceChildren(box.node);
    box.focus();
    box.node.scrollIntoView({ block: "nearest" });
  });
}

/** The platform answers with a value where it did something, and with a sentence where it didn't. */
function came(message, name, asking) {
  const value = valueOf(message);
  if (!value) return tell("bad", message);
  tell("good", [value.message ?? "It was deployed.", ...(value.warnings ?? [])].join("\n"));
  place.firstChild.append(element("button", { type: "button", class: "quiet", onclick: () => asking(`How is ${name} doing?`) },
    "Ask how it is doing"));
}

function valueOf(message) {
  try {
    const value = JSON.parse(message);
    return value !== null && typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

function tell(kind, words) {
  const role = kind === "bad" ? "alert" : "status";
  place.replaceChildren(kind === "busy"
    ? element("p", { class: "small soft busy", role }, words)
    : element("div", { class: `notice ${kind}`, role }, element("p", {}, words)));
}

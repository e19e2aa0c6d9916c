// How things stand: who one is on which platform, and which model answers with how many documents. What is missing is said, with
// what to do about it.

import { ask, byId, element } from "/static/treadle.js";
import { offerSignIn } from "./sign-in.js";


/** Ask, and draw it; gives who one is and where. @returns {Promise<PlatformPerson | undefined>} */
export async function drawStatus() {
  const [me, status] = await Promise.all([settled("/api/platform/me"), settled("/api/ai/status")]);
  if (me.value) drawPerson(me.value);
  if (me.value) offerSignIn(me.value);
  if (status.value) drawModel(status.value);
  byId("notices").replaceChildren(...[...problems(me, status)].map((words) =>
    element("div", { class: "notice warn", role: "status" }, element("p", {}, words))));
  return me.value;
}

/** @param {string} path @returns {Promise<{ value?: any, problem?: string }>} */
async function settled(path) {
  return ask(path).then((value) => ({ value }), ({ message }) => ({ problem: message }));
}

/** @param {PlatformPerson} platformPerson */
function drawPerson({ server, username, team, role }) {
  const place = element("span", { class: "soft" }, server);
  const rank = `${team ? ` of ${team}` : ""}${role ? `, ${role}` : ""} at `;
  byId("who").replaceChildren(...(username ? [element("strong", {}, username), rank] : []), place);
}

/** @param {PlatformStatus} platformStatus */
function drawModel({ enabled, llm_provider: model, documents_loaded: amount, message }) {
  const badge = byId("model"), documents = amount ? ` · ${amount.toLocaleString("en")} ${amount === 1 ? "document" : "documents"}` : "";
  badge.textContent = enabled ? `${model}${documents}` : "no model";
  badge.title = message;
  badge.classList.toggle("warn", !enabled);
  badge.hidden = false;
}

/** @param {{ value?: PlatformPerson, problem?: string }} me @param {{ value?: PlatformStatus, problem?: string }} status */
function* problems(me, status) {
  if (me.value && !me.value.username) yield signIn(me.value.server);
  if (status.value && !status.value.enabled) yield status.value.message;
  yield* new Set([me.problem, status.problem].filter(Boolean));
}

/**
 * The platform says nothing of anybody where there is no token, where it doesn't take it, and where it isn't there.
 * @param {string} server
 */
function signIn(server) {
  return [
    `You aren't signed in at ${server}, or it isn't responding. Sign in above, or set `,
    element("code", {}, "TREADLE_PLATFORM_TOKEN"), " to your token and start the server again; or try it on ",
    element("code", {}, "treadle platform demo"), ".",
  ];
}

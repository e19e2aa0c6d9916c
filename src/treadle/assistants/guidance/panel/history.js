// What was said before, as turns of a conversation: messages of the server made into the events that brought them about.

/** @typedef {Reply & { calls: CallAudit[] }} Said */

/**
 * The turns of a list of messages, for `Chat.recall`. Whatever follows what a person said answers it.
 * @param {SessionMessage[]} messages @returns {RecalledTurn[]}
 */
export function turnsOf(messages) {
  /** @type {{ message: string | null, replies: Said[] }[]} */
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ message: message.content, replies: stopped(message) });
    else (turns.at(-1) ?? begun(turns)).replies.push(replyOf(message));
  }
  const every = turns.flatMap(({ replies }) => replies);
  return turns.map(({ message, replies }) => ({ message, replies: replies.map((reply) => unrepeated(reply, every)) }));
}

/** The run that a message was said in. @param {SessionMessage} sessionMessage */
export function runOf({ message_metadata: told }) {
  return told.run_id;
}

/** A conversation that began with an answer. @param {{ message: string | null, replies: Said[] }[]} turns */
function begun(turns) {
  turns.push({ message: null, replies: [] });
  return turns[0];
}

/** The result of a message whose answer was stopped. @param {SessionMessage} sessionMessage @returns {Said[]} */
function stopped({ message_metadata: told }) {
  return told.stopped === "cancelled" ? [{ message: "", stopped: "cancelled", approvals: [], calls: [] }] : [];
}

/** @param {SessionMessage} sessionMessage @returns {Said} */
function replyOf({ role, content, message_metadata: told }) {
  return {
    message: content, stopped: told.stopped ?? (role === "system" ? "failed" : "answered"), approvals: told.approvals ?? [],
    run_id: told.run_id, calls: told.tool_call_audits ?? [], data: { suggested_actions: [], ...told },
  };
}

/**
 * A run that went on after a question says again what it did before it; a call that waits isn't among what it did.
 * @param {Said} reply @param {Said[]} every @returns {RecalledReply}
 */
function unrepeated(reply, every) {
  const { run_id: run, calls, approvals } = reply, ofRun = every.filter((each) => run && each.run_id === run), place = ofRun.indexOf(reply);
  const before = place > 0 ? ofRun[place - 1].calls.length : 0;
  const events = calls.slice(before).flatMap((call, number) => eventsOf(call, `${run}/${before + number}`));
  return { ...reply, events: [...events, ...(place === ofRun.length - 1 ? approvals.map(waits) : [])] };
}

/** @param {CallAudit} audit @param {string} id @returns {RunEvent[]} */
function eventsOf(audit, id) {
  const { tool_name: name, arguments: given, result_summary: found, duration_ms: took, success, error, reason } = audit;
  const call = { id, name, arguments: given ?? {} }, content = (success ? found : reason ?? error) ?? "";
  return [
    { event: "call_started", call },
    { event: "call_returned", result: { call_id: id, name, problem: problemOf(audit), content }, seconds: took / 1000 },
  ];
}

/**
 * What kind of problem it was. A call that a rule or a person refused never ran, so there is no result that says so.
 * @param {CallAudit} callAudit
 */
function problemOf({ success, problem, verdict }) {
  if (success) return null;
  return problem ?? (["deny", "refused"].includes(verdict ?? "") ? "denied" : "failed");
}

/** @param {PendingCall} pendingCall @returns {RunEvent} */
function waits({ call_id, name, arguments: given }) {
  const call = { id: call_id, name, arguments: given };
  return { event: "call_judged", call, verdict: { verdict: "ask" } };
}

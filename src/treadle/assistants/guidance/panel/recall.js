// What was said before, as turns of a conversation: messages of the server made into the events that brought them about.

/** The turns of a list of messages, for `Chat.recall`. Whatever follows what a person said answers it. */
export function turnsOf(messages) {
  const turns = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ message: message.content, replies: [] });
    else (turns.at(-1) ?? begun(turns)).replies.push(replyOf(message));
  }
  return turns.map(({ message, replies }) => ({ message, replies: replies.map(unrepeated) }));
}

/** A conversation that began with an answer. */
function begun(turns) {
  turns.push({ message: null, replies: [] });
  return turns[0];
}

function replyOf({ role, content, message_metadata: told }) {
  return {
    suggested_actions: [], tool_call_audits: [], approvals: [], stopped: role === "system" ? "failed" : "answered",
    ...told, message: content,
  };
}

/** A run that went on after a question says again what it did before it; a call that waits isn't among what it did. */
function unrepeated(reply, index, replies) {
  const before = replies.slice(0, index).findLast(({ run_id }) => run_id && run_id === reply.run_id)?.tool_call_audits.length ?? 0;
  const calls = reply.tool_call_audits.slice(before);
  const events = calls.flatMap((call, number) => eventsOf(call, `${reply.run_id}/${before + number}`));
  const waiting = index === replies.length - 1 ? reply.approvals.map(waits) : [];
  return { ...reply, events: [...events, ...waiting] };
}

function eventsOf(audit, id) {
  const { tool_name: name, arguments: given, result_summary: found, duration_ms: took, success, error, reason } = audit;
  const call = { id, name, arguments: given ?? {} }, content = (success ? found : reason ?? error) ?? "";
  return [
    { event: "call_started", call },
    { event: "call_returned", result: { call_id: id, name, problem: problemOf(audit), content }, seconds: took / 1000 },
  ];
}

/** What kind of problem it was. A call that a rule or a person refused never ran, so there is no result that says so. */
function problemOf({ success, problem, verdict }) {
  if (success) return null;
  return problem ?? (["deny", "refused"].includes(verdict) ? "denied" : "failed");
}

function waits({ call_id, name, arguments: given }) {
  const call = { id: call_id, name, arguments: given };
  return { event: "call_judged", call, verdict: { verdict: "ask" } };
}

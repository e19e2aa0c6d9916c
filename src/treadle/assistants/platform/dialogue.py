"""The chat dialogue of the original API: text in, text out. Approvals are requested in text, too.

A typed yes or no decides the one pending call; anything else continues the conversation. The HTTP side is `routes`.
"""

import re
import time
from collections.abc import Sequence
from string import Formatter

from msgspec import Struct

from treadle import Answer, Approval, Message, RunResult, Runs
from treadle.assistant import AssistantSession, SessionReply
from treadle.assistants.platform.score import SpecFinding

CONFIRM_QUESTION = "Are you sure? (yes/no)"
CHANGE_SUMMARIES = {
    "deploy_application": "This will change what runs.",
    "delete_application": "This will delete {app_name} and all its resources.",
    "run_golden_path": "This will run the golden path {path}.",
    "retry_workflow": "This will retry workflow {workflow_id}.",
}
NOT_IN_WORDS = "This can't be settled with a yes or no. Answer it on the page, or ask for one thing at a time."


_NAME = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class PlatformReply(Struct, frozen=True):
    """An answer. Its first five fields are those of the original API."""

    message: str
    generated_spec: str | None
    citations: tuple[str, ...]
    tokens_used: int
    timestamp: str
    run_id: str
    stopped: str
    approvals: tuple[Approval, ...]
    findings: tuple[SpecFinding, ...]


async def answer_chat(session: AssistantSession, message: str, run_id: str = "", history: Sequence[Message] = ()) -> PlatformReply:
    """Answer a message: in an existing run, or in a new one that gets the history."""
    confirmed = await session.find_confirmation(message, run_id)
    if confirmed is None or not (run_id or _is_last_asked(confirmed.waiting, history)):
        left = await _cancel_waiting(session, run_id) if run_id else ""
        return to_platform_reply(await session.run(message, run_id=run_id or None, history=history), left)
    if confirmed.approval is None:
        return to_platform_reply(await session.last_reply(confirmed.run_id))
    return await _decide_approval(session, confirmed.run_id, confirmed.approval, is_yes=confirmed.approved)


async def _decide_approval(session: AssistantSession, run_id: str, approval: Approval, *, is_yes: bool) -> PlatformReply:
    """Return the reply to a yes or no, also if the model doesn't comment on it any more."""
    reply = await session.answer(run_id, approval.call_id, Answer(is_yes), approval.digest if is_yes else "")
    return to_platform_reply(reply, _call_outcome(reply.result, approval.call_id) if reply.result.stopped == "failed" else "")


def _is_last_asked(waiting: Sequence[Approval], history: Sequence[Message]) -> bool:
    """Return whether this is the approval requested last, as far as the client's history shows."""
    shown = next((_collapse_spaces(message.text) for message in reversed(history) if message.role == "model"), None)
    return shown is None or all(_collapse_spaces(_format_approval(each)) in shown for each in waiting)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


async def _cancel_waiting(session: AssistantSession, run_id: str) -> str:
    """Cancel pending approvals, since the user wants something else than yes or no, and return a note about that."""
    if (await session.info(run_id)).status != "waiting":
        return ""
    runs = Runs(session.host.home)
    names = [each.name for each in await runs.approvals(run_id)]
    if names:
        await runs.cancel(run_id)
    return f"{' and '.join(names)} wasn't carried out: there was no plain yes in time." if names else ""


def _call_outcome(result: RunResult[str], call_id: str) -> str:
    """Return the result of a call."""
    return next((each.result.content for each in result.calls if each.call.id == call_id and each.result is not None), "")


def to_platform_reply(reply: SessionReply, first: str = "") -> PlatformReply:
    """Convert a finished turn to the reply that API clients get; `first` precedes its text."""
    result = reply.result
    return PlatformReply(
        message="\n\n".join([part for part in (first, *_reply_parts(result)) if part]),
        **reply.data,
        tokens_used=result.usage.total_tokens,
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        run_id=result.run_id,
        stopped=result.stopped,
        approvals=result.approvals,
    )


def _reply_parts(result: RunResult[str]) -> list[str]:
    """Return the model's text, or why there is none, and the pending questions."""
    if result.stopped == "waiting":
        can_settle = len(result.approvals) == 1 and not result.approvals[0].unclear
        asked = _format_question(result.approvals[0]) if can_settle else NOT_IN_WORDS
        return [result.text, *[_format_approval(each) for each in result.approvals], asked]
    return [result.message]


def _format_question(approval: Approval) -> str:
    """Format the yes-or-no question. It contains only plain names: what else a model may have written is in the preview."""
    names = {key: value for key, value in approval.arguments.items() if isinstance(value, str) and _NAME.fullmatch(value)}
    deed = CHANGE_SUMMARIES.get(approval.name, "")
    wanted = {field for _, field, _, _ in Formatter().parse(deed) if field}
    return f"{deed.format(**names)} {CONFIRM_QUESTION}" if deed and wanted <= names.keys() else CONFIRM_QUESTION


def _format_approval(approval: Approval) -> str:
    """Describe what would happen, and why approval is needed; or the call whose outcome is unknown."""
    unclear = f"It isn't known whether {approval.name} took effect: what carried it out was ended." if approval.unclear else ""
    return "\n\n".join([part for part in (unclear, approval.reason, _fence_preview(approval.preview or approval.name)) if part])


def _fence_preview(text: str) -> str:
    """Fence a preview so that nothing in it is rendered as Markdown."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"

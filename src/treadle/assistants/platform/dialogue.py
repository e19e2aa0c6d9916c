"""The dialogue that clients of the original know: words in, words out. What would be changed is asked in words, too.

A typed yes or no settles the one call that was asked about; anything else goes on with the conversation. Over HTTP it is `routes`.
"""

import re
import time
from collections.abc import Sequence
from string import Formatter

from msgspec import Struct

from treadle import Answer, Approval, AssistantSession, Message, RunResult, Runs, SessionReply
from treadle.assistants.platform.score import Finding

SURE = "Are you sure? (yes/no)"
DEEDS = {
    "deploy_application": "This will change what runs.",
    "delete_application": "This will delete {app_name} and all its resources.",
    "run_golden_path": "This will run the golden path {path}.",
    "retry_workflow": "This will retry workflow {workflow_id}.",
}
NOT_IN_WORDS = "This can't be settled with a yes or no. Answer it on the page, or ask for one thing at a time."


_NAME = re.compile(r"#?[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class PlatformReply(Struct, frozen=True):
    """An answer. Its first five fields are those that clients of the original know."""

    message: str
    generated_spec: str | None
    citations: tuple[str, ...]
    tokens_used: int
    timestamp: str
    run_id: str
    stopped: str
    approvals: tuple[Approval, ...]
    findings: tuple[Finding, ...]


async def chat(session: AssistantSession, message: str, run_id: str = "", history: Sequence[Message] = ()) -> PlatformReply:
    """Answer a message: in a run that goes on, or in a new one that knows what was said before."""
    confirmed = await session.confirmed(message, run_id)
    if confirmed is None or not (run_id or _is_last(confirmed.waiting, history)):
        left = await _left(session, run_id) if run_id else ""
        return reply_of(await session.run(message, run_id=run_id or None, history=history), left)
    if confirmed.approval is None:
        return reply_of(await session.last_reply(confirmed.run_id))
    return await _settled(session, confirmed.run_id, confirmed.approval, is_yes=confirmed.approved)


async def _settled(session: AssistantSession, run_id: str, approval: Approval, *, is_yes: bool) -> PlatformReply:
    """What comes of a yes or no; also where there are no words about it any more."""
    reply = await session.answer(run_id, approval.call_id, Answer(is_yes), approval.digest if is_yes else "")
    return reply_of(reply, _outcome(reply.result, approval.call_id) if reply.result.stopped == "failed" else "")


def _is_last(waiting: Sequence[Approval], history: Sequence[Message]) -> bool:
    """Whether this is what was asked about last, as far as the client tells what it has shown."""
    shown = next((_plain(message.text) for message in reversed(history) if message.role == "model"), None)
    return shown is None or all(_plain(_stated(each)) in shown for each in waiting)


def _plain(text: str) -> str:
    return " ".join(text.split())


async def _left(session: AssistantSession, run_id: str) -> str:
    """Whoever says something else than yes or no wants something else: what waits is cancelled, which is said."""
    if (await session.info(run_id)).status != "waiting":
        return ""
    runs = Runs(session.host.home)
    names = [each.name for each in await runs.approvals(run_id)]
    if names:
        await runs.cancel(run_id)
    return f"{' and '.join(names)} wasn't carried out: there was no plain yes in time." if names else ""


def _outcome(result: RunResult[str], call_id: str) -> str:
    """What a call brought."""
    return next((each.result.content for each in result.calls if each.call.id == call_id and each.result is not None), "")


def reply_of(reply: SessionReply, first: str = "") -> PlatformReply:
    """What programs are told of a turn that ended; `first` comes before its words."""
    result = reply.result
    return PlatformReply(
        message="\n\n".join([part for part in (first, *_words(result)) if part]),
        **reply.data,
        tokens_used=result.usage.total_tokens,
        timestamp=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        run_id=result.run_id,
        stopped=result.stopped,
        approvals=result.approvals,
    )


def _words(result: RunResult[str]) -> list[str]:
    """The model's words, or why there are none; and what is asked."""
    if result.stopped == "waiting":
        can_settle = len(result.approvals) == 1 and not result.approvals[0].unclear
        asked = _question(result.approvals[0]) if can_settle else NOT_IN_WORDS
        return [result.text, *[_stated(each) for each in result.approvals], asked]
    return [result.reason if result.stopped == "failed" else result.text or result.reason]


def _question(approval: Approval) -> str:
    """What a yes or no is the answer to. Only plain names stand in it: what else a model may have written is in the preview."""
    names = {key: value for key, value in approval.arguments.items() if isinstance(value, str) and _NAME.fullmatch(value)}
    deed = DEEDS.get(approval.name, "")
    wanted = {field for _, field, _, _ in Formatter().parse(deed) if field}
    return f"{deed.format(**names)} {SURE}" if deed and wanted <= names.keys() else SURE


def _stated(approval: Approval) -> str:
    """What would happen, and why that is asked; or what nobody knows the outcome of."""
    unclear = f"Nobody knows whether {approval.name} took effect: what carried it out was ended." if approval.unclear else ""
    return "\n\n".join([part for part in (unclear, approval.reason, _fenced(approval.preview or approval.name)) if part])


def _fenced(text: str) -> str:
    """A preview as a block in which nothing is read as Markdown, whatever is in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"

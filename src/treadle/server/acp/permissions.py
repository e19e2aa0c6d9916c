"""A call that waits for the user, as a permission request of the protocol, and the user's choice as an answer. Pure."""

from collections.abc import Sequence
from typing import cast

from acp.helpers import text_block, tool_content
from acp.schema import PermissionOption, ToolCallUpdate

from treadle.agent.talk import ApprovalChoice
from treadle.core.calls import Settling
from treadle.core.grants import Scope
from treadle.engine.setup import Answer, Approval
from treadle.guard.grants import format_patterns
from treadle.guard.visible_text import make_visible
from treadle.server.acp.tool_calls import CallContent, CallPresenter, arguments_content, text_content

ALLOW, REJECT = "allow_once", "reject_once"
SCOPES: dict[str, Scope] = {"allow_session": "conversation", "allow_always": "always"}
OUTCOMES: dict[str, tuple[str, str]] = {  # of a call that was running when its process ended
    "happened": ("It happened", REJECT),
    "not_happened": ("It did not happen", REJECT),
    "again": ("Run it again", ALLOW),
}
REJECTED = "The user rejected it."


def permission_options(
    approval: Approval, choices: Sequence[ApprovalChoice] = (), *, is_plan: bool = False
) -> list[PermissionOption]:
    """Return what the user can choose: once, for the session or always, as far as the call can be remembered; or no.

    `choices` are the assistant's own, which approve the call too. A plan isn't remembered.
    """
    if approval.unclear:
        return [_option(name, words, kind) for name, (words, kind) in OUTCOMES.items()]
    options = [_option(ALLOW, "Approve the plan" if is_plan else "Allow", ALLOW)]
    options += [_option(choice.key, choice.label, "allow_always") for choice in choices]
    if is_plan:
        return [*options, _option(REJECT, "Keep planning", REJECT)]
    if approval.patterns:
        calls = make_visible(f"{approval.name} ({format_patterns(approval.patterns[0])})")
        options.append(_option("allow_session", f"Allow {calls} for this session", "allow_always"))
        options.append(_option("allow_always", f"Always allow {calls}", "allow_always"))
    return [*options, _option(REJECT, "Reject", REJECT)]


def _option(name: str, words: str, kind: str) -> PermissionOption:
    return PermissionOption.model_validate({"optionId": name, "name": words, "kind": kind})


def answer_from_option(approval: Approval, option_id: str, by: str, refusal: str = REJECTED) -> Answer:
    """Return the answer that a choice stands for. One that wasn't offered is a no, for the reason `refusal`."""
    if approval.unclear:
        return Answer(by=by, settled=cast("Settling", option_id)) if option_id in OUTCOMES else Answer(False, by)
    if option_id == ALLOW:
        return Answer(True, by)
    if option_id in SCOPES and approval.patterns:
        return Answer(True, by, scope=SCOPES[option_id], where=approval.patterns[0])
    return Answer(False, by, refusal)


def permission_call(approval: Approval, call_id: str, calls: CallPresenter) -> ToolCallUpdate:
    """Return the call that the user is asked about: all that would run, and what it would do."""
    name, arguments = approval.name, approval.arguments
    edit = calls.edit(name, arguments)
    content: list[CallContent] = [*_explain(approval), *(edit or _describe(approval))]
    return ToolCallUpdate(
        tool_call_id=call_id,
        title=calls.title(name, arguments),
        kind=calls.kind(name, arguments),
        status="pending",
        content=list(content),
        locations=calls.locations(name, arguments) or None,
        raw_input=arguments,
    )


def _explain(approval: Approval) -> list[CallContent]:
    return [tool_content(text_block(make_visible(approval.reason)))] if approval.reason else []


def _describe(approval: Approval) -> list[CallContent]:
    return [*arguments_content(approval.arguments), *text_content(make_visible(approval.preview))]

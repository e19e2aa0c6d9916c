"""Reads a call as a model wrote it and judges it: a valid call with a verdict, or a problem described for the model.

Pure, though it is in the engine: it needs the rules of all four lower packages. The verdict becomes an entry.
"""

from collections.abc import Callable, Sequence
from typing import Any, assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Allow, Call, Deny, Written
from treadle.core.entries import Judged
from treadle.core.grants import Grant
from treadle.core.seams import Policy, Situation
from treadle.core.tool import Tool
from treadle.dialects.json_repair import JsonCutOff, JsonRead, JsonUnreadable, read_json
from treadle.dialects.partial_json import find_cut_string, read_partial
from treadle.engine.catalog import CONTINUE_CALL, Catalog
from treadle.guard.redaction import Redactor
from treadle.loop.limits import Limits, call_beyond
from treadle.loop.repeats import count_repetition, find_streak
from treadle.loop.state import RunState, call_fingerprint
from treadle.tools.name_matching import hint_for
from treadle.tools.validate import InvalidArguments, ValidArguments, format_issues, match_name, unwrap_call
from treadle.tools.values import as_object

WORTH_CONTINUING = 200  # characters of a value that was cut; a shorter one is sent again


class JudgeContext(Struct, frozen=True):
    """What judging depends on, the same for all calls of a run."""

    catalog: Catalog
    policy: Policy
    limits: Limits
    situation: Situation
    offered: tuple[str, ...] = ()  # the tools the model may know of
    redactor: Redactor = Redactor()
    agent: str = ""  # whose tools they are
    grants: Callable[[], Sequence[Grant]] = tuple  # what people have allowed; read where a person would be asked


def judge_written(written: Written, bench: JudgeContext, state: RunState, at: float) -> Judged:
    """Read a written call and judge it."""
    found = _read_call(written, bench, state.partial)
    if isinstance(found, tuple):
        call, mended = found
        return judge_call(call, bench, state, at, mended)
    name, partial, problem = written.name, "", found
    if isinstance(problem, _CutCall):
        name, partial, problem = problem.name, problem.partial, problem.verdict
    call = Call(written.id, name, {})
    if count_repetition(state.trail, call_fingerprint(call)) >= bench.limits.refuse_at:
        problem = Deny("repeats", problem.reason, "repeat")
    return Judged(call=call, verdict=problem, partial=partial, at=at)


def judge_call(call: Call, bench: JudgeContext, state: RunState, at: float, mended: str = "") -> Judged:
    """Judge a call that was read: limits first, then repetition, then the policy."""
    tool, limits = bench.catalog.tool_for(call), bench.limits
    beyond = call_beyond(limits, state.spent.usage.calls, call.name, state.tool_calls.get(call.name, 0))
    if beyond:
        reason = f"Not run: {beyond} is reached. Answer from what you have."
        return Judged(call=call, verdict=Deny("limit", reason, "limit"), mended=mended, at=at)
    times = count_repetition(state.trail, call_fingerprint(call))
    if times >= limits.refuse_at:
        reason = f"Not run: this is the {_ordinal(times)} time for the same call, and it always brings the same. Do something else."
        return Judged(call=call, verdict=Deny("repeats", reason, "repeat"), mended=mended, at=at)
    futile = _futile_calls(state, tool) if state.trail.streaks else 0
    if futile >= 2 * limits.futile_at:
        reason = f"Not run: the last {futile} calls of {call.name} all brought the same. Other arguments don't help."
        return Judged(call=call, verdict=Deny("repeats", reason, "repeat"), mended=mended, at=at)
    note = ""
    if times >= limits.nudge_at:
        note = f"[You have made this very call {times} times with the same result. Use what you have, or try something else.]"
    elif futile >= limits.futile_at:
        note = f"[The last {futile} calls of {call.name} all brought the same. Try another way, or answer with what you have.]"
    return _apply_policy(call, tool, bench, mended, note, at)


def _futile_calls(state: RunState, tool: Tool) -> int:
    """Return how many calls of a tool in a row brought the same error, or nothing where it only reads."""
    streak = find_streak(state.trail.streaks, tool.name)
    return streak.count if streak is not None and (streak.failed or tool.effect == "read") else 0


def _apply_policy(call: Call, tool: Tool, bench: JudgeContext, mended: str, note: str, at: float) -> Judged:
    """Judge a call by the policy, and by what people have allowed. What contains a secret is never remembered."""
    verdict = bench.policy.judge(call, tool, bench.situation)
    if type(verdict) is Allow or bench.redactor.finds(call.arguments):
        return Judged(call=call, verdict=verdict, mended=mended, note=note, at=at)
    from treadle.guard.grants import apply_grants  # only where a person would be asked

    judged = apply_grants(verdict, bench.policy, bench.grants, call, tool, bench.situation, bench.agent)
    return Judged(call=call, verdict=judged.verdict, mended=mended, note=note, grant=judged.grant, terms=judged.terms, at=at)


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


class _CutCall(Struct, frozen=True, gc=False):
    """A call that was cut at the output limit, and that another one may continue."""

    name: str
    partial: str
    verdict: Deny


def _read_call(written: Written, bench: JudgeContext, partial: Written | None) -> tuple[Call, str] | _CutCall | Deny:
    """Return the call with valid arguments and what was mended, or the problem. `partial` is a call that was cut before it."""
    catalog = bench.catalog
    if written.problem:
        return Deny("reading", written.problem, "unreadable")
    if written.name == CONTINUE_CALL.name and catalog.is_own(catalog.tools[written.name]):
        return _read_continuation(written, bench, partial)
    if written.cut:
        return _cut_off_verdict(written.name, written.text)
    found = read_json(written.text or "{}")
    match found:
        case JsonRead():
            value: Any = {} if found.value is None else found.value  # some servers write null where there are no arguments
            return _fit_arguments(written, value, ", ".join(found.mended) if found.mended else "", bench)
        case JsonCutOff():
            return _cut_off_verdict(written.name, written.text)
        case JsonUnreadable():
            swapped = unwrap_call(written.name, written.text, _parameter_schemas(catalog))
            if swapped is not None:
                return _check_arguments(written.id, swapped.name, swapped.arguments, swapped.what, bench)
            reason = f"The arguments of {written.name} are not JSON ({found.reason}). Send them as one JSON object."
            return Deny("reading", reason, "unreadable")
        case _:
            assert_never(found)


def _cut_off_verdict(name: str, text: str) -> _CutCall | Deny:
    cut = find_cut_string(text)
    if cut is None or not text.lstrip().startswith("{") or len(cut.value) < WORTH_CONTINUING:
        reason = f"The arguments of {name} were cut off before their end, so the call was not run. Send it again, complete."
        return Deny("reading", reason, "cut_off")
    return _cut_call(name, cut.begun(), cut.value)


def _cut_call(name: str, partial: str, value: str) -> _CutCall:
    from treadle.loop.continuation import find_tail  # few calls are cut

    reason = (
        f"The arguments of {name} were cut off at the output limit, so the call was not run. What came is kept, "
        f"{len(partial):,} characters: send the rest with {CONTINUE_CALL.name}. First repeat these last words, exactly, "
        f"then go on from there:\n{find_tail(value)}"
    )
    return _CutCall(name, partial, Deny("reading", reason, "cut_off"))


def _read_continuation(written: Written, bench: JudgeContext, partial: Written | None) -> tuple[Call, str] | _CutCall | Deny:
    """Return a call that was cut before, with the rest that this one sends; or cut again."""
    from treadle.loop.continuation import join_rest  # few calls are cut

    cut = None if partial is None else find_cut_string(partial.text)
    if partial is None or cut is None:
        return Deny("reading", "There is no call to continue. Make the call, complete.", "invalid")
    found = read_json(written.text or "{}")
    sent = as_object(found.value) if isinstance(found, JsonRead) and not written.cut else None
    given = as_object(read_partial(written.text)) if sent is None else sent
    rest = (given or {}).get("rest")
    if not isinstance(rest, str):
        return Deny("reading", f"{CONTINUE_CALL.name} needs the rest of the value, as the text `rest`.", "invalid")
    rest = join_rest(cut.value, rest)
    if sent is None:
        return _cut_call(partial.name, cut.begun(rest), cut.value + rest)
    arguments = {**msgspec.json.decode(cut.complete(rest), type=dict[str, Any]), **(as_object(sent.get("arguments")) or {})}
    return _fit_arguments(Written(written.id, partial.name, ""), arguments, "joined both parts of a call that was cut", bench)


def _parameter_schemas(catalog: Catalog) -> dict[str, dict[str, Any]]:
    return {name: tool.parameters for name, tool in catalog.tools.items()}


def _fit_arguments(written: Written, value: Any, mended: str, bench: JudgeContext) -> tuple[Call, str] | Deny:
    """Return the arguments as they are if valid; otherwise coerced if there is one reading; otherwise the problem."""
    catalog = bench.catalog
    known = written.name in catalog.tools
    fields = as_object(value)
    if known and fields is not None:
        checked = _check_arguments(written.id, written.name, fields, mended, bench)
        if isinstance(checked, tuple):
            return checked
    else:
        checked = _misfit_verdict(written, catalog) if known else _unknown_tool_verdict(written.name, bench.offered)
    other = unwrap_call(written.name, value, _parameter_schemas(catalog))
    if other is not None:
        unwrapped = _check_arguments(written.id, other.name, other.arguments, _join_notes(mended, other.what), bench)
        return checked if isinstance(unwrapped, Deny) and known else unwrapped
    name = None if known else match_name(written.name, catalog.tools)
    if name is not None and fields is not None:
        return _check_arguments(written.id, name, fields, _join_notes(mended, f"read the name {written.name!r} as {name!r}"), bench)
    return checked


def _join_notes(first: str, second: str) -> str:
    return f"{first}, {second}" if first and second else first or second


def _check_arguments(
    call_id: str, name: str, arguments: dict[str, Any], mended: str, bench: JudgeContext
) -> tuple[Call, str] | Deny:
    checked = bench.catalog.validator(name).check(arguments)
    if isinstance(checked, ValidArguments):
        converted = f"converted {', '.join(checked.converted)}" if checked.converted else ""
        return Call(call_id, name, checked.arguments), _join_notes(mended, converted) if converted else mended
    return Deny("reading", describe_misfit(checked, name, arguments, bench.catalog, bench.redactor), "invalid")


def describe_misfit(found: InvalidArguments, name: str, arguments: Any, catalog: Catalog, redactor: Redactor) -> str:
    """Describe why arguments are invalid, without secrets. Parts of values are shown, and part of a secret isn't recognized."""
    if redactor.finds(arguments):
        again = catalog.validator(name).check(redactor.value(arguments))
        found = (
            again
            if isinstance(again, InvalidArguments)
            else InvalidArguments(tuple([replace(each, got="a secret") for each in found.issues]))
        )
    return format_issues(found.issues, name)


def _misfit_verdict(written: Written, catalog: Catalog) -> Deny:
    wanted = ", ".join(catalog.tools[written.name].parameters.get("properties", {})) or "no arguments"
    return Deny("reading", f"The arguments of {written.name} must be one JSON object ({wanted}). Nothing was run.", "invalid")


def _unknown_tool_verdict(name: str, offered: tuple[str, ...]) -> Deny:
    return Deny("reading", f"There is no tool {name!r}. {hint_for(name, sorted(offered))}", "unknown_tool")

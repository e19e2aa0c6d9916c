"""Reads a call as a model wrote it and judges it: a call that fits its tool with a verdict, or a problem worded for the model.

Pure, though it sits beside the engine: it needs the rules of all four lower folders. The verdict becomes an entry.
"""

from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Deny, Verdict, Written
from treadle.core.entries import Judged
from treadle.core.seams import Policy, Situation
from treadle.core.tool import Tool
from treadle.dialects.mend import CutOff, Read, Unreadable, read_json
from treadle.engine.catalog import Catalog
from treadle.guard.redaction import Redactor
from treadle.loop.limits import Limits, call_beyond
from treadle.loop.repeats import repetition
from treadle.loop.state import RunState, fingerprint_of
from treadle.tools.validate import Invalid, Valid, canonical, nearest, unwrap, word
from treadle.tools.values import as_object


class Bench(Struct, frozen=True):
    """What judging goes by, the same for all calls of a run."""

    catalog: Catalog
    policy: Policy
    limits: Limits
    situation: Situation
    offered: tuple[str, ...] = ()  # the tools the model may know of
    redactor: Redactor = Redactor()


def judge(written: Written, bench: Bench, state: RunState, at: float) -> Judged:
    """Read a written call and judge it."""
    match _read(written, bench):
        case Deny() as problem:
            call = Call(written.id, written.name, {})
            if repetition(state.trail, fingerprint_of(call)) >= bench.limits.refuse_at:
                problem = Deny("repeats", problem.reason, "repeat")
            return Judged(call=call, verdict=problem, at=at)
        case (call, mended):
            return judge_call(call, bench, state, at, mended)


def judge_call(call: Call, bench: Bench, state: RunState, at: float, mended: str = "") -> Judged:
    """Judge a call that was read: limits first, then repetition, then the policy."""
    tool = bench.catalog.tool_for(call)
    beyond = call_beyond(bench.limits, state.spent.usage.calls, call.name, state.tool_calls.get(call.name, 0))
    if beyond:
        reason = f"Not run: {beyond} is reached. Answer from what you have."
        return Judged(call=call, verdict=Deny("limit", reason, "limit"), mended=mended, at=at)
    times = repetition(state.trail, fingerprint_of(call))
    if times >= bench.limits.refuse_at:
        reason = f"Not run: this is the {_ordinal(times)} time for the same call, and it always brings the same. Do something else."
        return Judged(call=call, verdict=Deny("repeats", reason, "repeat"), mended=mended, at=at)
    note = ""
    if times >= bench.limits.nudge_at:
        note = f"[You have made this very call {times} times with the same result. Use what you have, or try something else.]"
    return Judged(call=call, verdict=_policy_verdict(call, tool, bench), mended=mended, note=note, at=at)


def _policy_verdict(call: Call, tool: Tool, bench: Bench) -> Verdict:
    return bench.policy.judge(call, tool, bench.situation)


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _read(written: Written, bench: Bench) -> tuple[Call, str] | Deny:
    """The call with arguments that fit its tool and what was mended, or the problem."""
    catalog = bench.catalog
    if written.problem:
        return Deny("reading", written.problem, "unreadable")
    if written.cut:
        return _cut_off(written.name)
    found = read_json(written.text or "{}")
    match found:
        case Read():
            return _fitted(written, found.value, ", ".join(found.mended), bench)
        case CutOff():
            return _cut_off(written.name)
        case Unreadable():
            swapped = unwrap(written.name, written.text, _schemas(catalog))
            if swapped is not None:
                return _checked(written.id, swapped.name, swapped.arguments, swapped.what, bench)
            reason = f"The arguments of {written.name} are not JSON ({found.reason}). Send them as one JSON object."
            return Deny("reading", reason, "unreadable")
        case _:
            assert_never(found)


def _cut_off(name: str) -> Deny:
    reason = f"The arguments of {name} were cut off before their end, so the call was not run. Send it again, complete."
    return Deny("reading", reason, "cut_off")


def _schemas(catalog: Catalog) -> dict[str, dict[str, Any]]:
    return {name: tool.parameters for name, tool in catalog.tools.items()}


def _fitted(written: Written, value: Any, mended: str, bench: Bench) -> tuple[Call, str] | Deny:
    """As it stands if that fits; otherwise put into shape where there is one reading; otherwise the problem."""
    catalog = bench.catalog
    known = written.name in catalog.tools
    fields = as_object(value)
    if known and fields is not None:
        checked = _checked(written.id, written.name, fields, mended, bench)
        if not isinstance(checked, Deny):
            return checked
    else:
        checked = _misfit(written, catalog) if known else _unknown(written.name, bench.offered)
    other = unwrap(written.name, value, _schemas(catalog))
    if other is not None:
        unwrapped = _checked(written.id, other.name, other.arguments, _joined(mended, other.what), bench)
        return checked if isinstance(unwrapped, Deny) and known else unwrapped
    name = None if known else canonical(written.name, catalog.tools)
    if name is not None and fields is not None:
        return _checked(written.id, name, fields, _joined(mended, f"read the name {written.name!r} as {name!r}"), bench)
    return checked


def _joined(first: str, second: str) -> str:
    return f"{first}, {second}" if first and second else first or second


def _checked(call_id: str, name: str, arguments: dict[str, Any], mended: str, bench: Bench) -> tuple[Call, str] | Deny:
    checked = bench.catalog.validator(name).check(arguments)
    match checked:
        case Valid():
            return Call(call_id, name, checked.arguments), _joined(mended, _converted(checked))
        case Invalid():
            return Deny("reading", misfit(checked, name, arguments, bench.catalog, bench.redactor), "invalid")
        case _:
            assert_never(checked)


def misfit(found: Invalid, name: str, arguments: Any, catalog: Catalog, redactor: Redactor) -> str:
    """Why arguments don't fit, without secrets. Only parts of values are told, and a part of a secret isn't known as one."""
    if redactor.finds(arguments):
        again = catalog.validator(name).check(redactor.value(arguments))
        found = again if isinstance(again, Invalid) else Invalid(tuple([replace(each, got="a secret") for each in found.issues]))
    return word(found.issues, name)


def _converted(valid: Valid) -> str:
    return f"converted {', '.join(valid.converted)}" if valid.converted else ""


def _misfit(written: Written, catalog: Catalog) -> Deny:
    wanted = ", ".join(catalog.tools[written.name].parameters.get("properties", {})) or "no arguments"
    return Deny("reading", f"The arguments of {written.name} must be one JSON object ({wanted}). Nothing was run.", "invalid")


def _unknown(name: str, offered: tuple[str, ...]) -> Deny:
    near = nearest(name, offered)
    hint = f" Did you mean {' or '.join(near)}?" if near else f" There are: {', '.join(sorted(offered)) or 'none'}."
    return Deny("reading", f"There is no tool {name!r}.{hint}", "unknown_tool")

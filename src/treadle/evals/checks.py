"""Checks of one run against what its case expects. What they check is taken from the journal and the workspace."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import isawaitable
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from treadle.core.calls import Allow, Ask, Verdict
from treadle.core.entries import Approved, Entry, Returned, Said
from treadle.engine.result import CallRecord, RunResult, calls_of, requests_of
from treadle.evals.dataset import Case, Check, Expectations, ExpectedCall, ExpectedFile, ExpectedText, as_tuple, is_set
from treadle.evals.results import Attempt, CallSummary, CheckResult
from treadle.files import WorkspaceProblem
from treadle.guard.conditions import compile_conditions, conditions_hold
from treadle.guard.globs import compile_glob
from treadle.guard.redaction import Redactor
from treadle.loop.state import RunState, apply_entry, replay
from treadle.plugins.tool_loader import load_object
from treadle.prices import calculate_cost
from treadle.tools.values import shorten_json_text

MAX_FILE = 10_000_000  # bytes of a file that is checked
RAN = (None, "raised", "timeout", "interrupted")  # the problems of calls that were carried out
SHOWN = 200  # characters of a text in a message

_redactor = Redactor()


class CaseRun(Struct, frozen=True):
    """A run of a case, for checks in code.

    result     what `Agent.run` returns
    workspace  the folder that it worked in, if it had one
    data       of an assistant: the data that accompanies its answer, such as sources
    """

    case: Case
    result: RunResult[Any]
    workspace: Path | None = None
    data: Any = None

    @property
    def calls(self) -> list[CallRecord]:
        """The calls of all turns of the run, without those that gave structured answers."""
        entries = self.result.entries
        answers = {entry.result.call_id for entry in entries if isinstance(entry, Returned) and _is_answer(entry)}
        return [call for turn in turns_of(entries) for call in calls_of(turn) if call.call.id not in answers]

    @property
    def output(self) -> Any:
        """The structured answer, where the agent gives one; else the text."""
        finished = replay(self.result.entries).finished
        return self.result.text if finished is None or finished.output is None else finished.output


def turns_of(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries of each turn. Those before the first belong to it."""
    starts = [number for number, entry in enumerate(entries) if isinstance(entry, Said)][1:]
    return [list(entries[start:end]) for start, end in pairwise((0, *starts, len(entries)))]


def _is_answer(entry: Returned) -> bool:
    return entry.final or entry.rejected


def check_run(run: CaseRun) -> list[CheckResult]:
    """Check a run against its case, except for checks in code and the judge's."""
    expected = run.case.expected
    return [
        _check_end(run.result, expected),
        *_check_calls(run.calls, expected),
        *_check_output(run, expected),
        *_check_files(run.workspace, expected),
        *_check_limits(run.result.entries, expected),
    ]


def make_attempt(run: CaseRun, checks: Sequence[CheckResult]) -> Attempt:
    """Return a run with its checks as data, without secrets."""
    entries, result = run.result.entries, run.result
    usage, calls = replay(entries).usage, run.calls
    answers = {entry.call_id for entry in entries if isinstance(entry, Approved)}
    asked = [call for call in calls if isinstance(call.verdict, Ask)]
    return Attempt(
        run_id=result.run_id,
        passed=all(check.passed for check in checks),
        stopped=result.stopped,
        output=_redactor.text(result.text),
        reason=_redactor.text(result.reason),
        checks=tuple([msgspec.structs.replace(check, detail=_redactor.text(check.detail)) for check in checks]),
        calls=tuple(map(_to_fact, calls)),
        asked=tuple(map(_to_fact, asked)),
        approved=sum(call.call.id in answers for call in asked),
        seconds=round(seconds_of(entries), 3),
        cost=cost_of(entries),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
    )


def _to_fact(call: CallRecord) -> CallSummary:
    return CallSummary(call.name, _redactor.value(call.requested), verdict_name(call.verdict), call.problem)


def verdict_name(verdict: Verdict) -> Any:
    """Return allow, ask or deny."""
    return "allow" if isinstance(verdict, Allow) else "ask" if isinstance(verdict, Ask) else "deny"


def seconds_of(entries: Sequence[Entry]) -> float:
    """Return the seconds of work of all turns."""
    state, seconds = RunState(), 0.0
    for entry in entries:
        if isinstance(entry, Said):
            seconds += state.spent.seconds
        state = apply_entry(state, entry)
    return seconds + state.spent.seconds


def cost_of(entries: list[Entry]) -> float | None:
    """Return what a run cost in US dollars; None where a price isn't known."""
    spent = replay(entries).usage
    if spent.cost is not None:
        return spent.cost
    requests = [request for turn in turns_of(entries) for request in requests_of([*entries[:1], *turn])]
    costs = [calculate_cost(request.model, request.usage) for request in requests]
    return None if None in costs else sum([cost or 0.0 for cost in costs])


def _check_end(result: RunResult[Any], expected: Expectations) -> CheckResult:
    ends = as_tuple(expected.stopped)
    detail = "" if result.stopped in ends else f"it is {result.stopped}: {result.reason}".rstrip(": ")
    return CheckResult("stopped", f"the run is {' or '.join(ends)}", not detail, detail)


# calls


def _check_calls(calls: Sequence[CallRecord], expected: Expectations) -> Iterator[CheckResult]:
    wanted = [to_expected_call(each) for each in expected.calls]
    matches = [[number for number, call in enumerate(calls) if _is_match(each, call)] for each in wanted]
    taken = _match_in_order(matches) if expected.in_order else match_any_order(matches)
    for each, number, found in zip(wanted, taken, matches, strict=True):
        why = "" if number is not None else "it was made, but not in this order" if found else "there is no such call"
        yield CheckResult("call", describe_expected(each), not why, f"{why}; calls: {describe_calls(calls)}" if why else "")
    if expected.only:
        more = [call for number, call in enumerate(calls) if number not in taken and not call.within]
        yield CheckResult("call", "no other calls", not more, f"there are: {describe_calls(more)}" if more else "")
    for each in map(to_expected_call, expected.forbidden):
        requested = [call for call in calls if fits(each, call)]
        detail = f"it was requested: {describe_calls(requested)}" if requested else ""
        yield CheckResult("forbidden", describe_expected(each), not requested, detail)


def to_expected_call(value: str | ExpectedCall) -> ExpectedCall:
    """Return an expected call; a text is the name of its tool."""
    return ExpectedCall(value) if isinstance(value, str) else value


def _is_match(expected: ExpectedCall, call: CallRecord) -> bool:
    return fits(expected, call) and (has_run(call) if expected.verdict is None else True)


def has_run(call: CallRecord) -> bool:
    """Return whether a call was carried out, with whatever outcome."""
    return call.result is not None and call.problem in RAN


def fits(expected: ExpectedCall, call: CallRecord) -> bool:
    """Return whether a call is as described, whether it ran or not."""
    return (
        bool(compile_glob(expected.tool)(call.name))
        and contains_value(call.requested, expected.arguments)
        and conditions_hold(compile_conditions(expected.where), call.requested, {}, doubtful=False)
        and expected.verdict in (None, verdict_name(call.verdict))
    )


def _match_in_order(matches: Sequence[Sequence[int]]) -> list[int | None]:
    """Assign each expected call the first match after that of the one before it."""
    taken: list[int | None] = []
    last = -1
    for found in matches:
        number = next((each for each in found if each > last), None)
        taken.append(number)
        last = last if number is None else number
    return taken


def match_any_order(matches: Sequence[Sequence[int]]) -> list[int | None]:
    """Assign as many expected calls as possible a call of their own."""
    owners: dict[int, int] = {}

    def assign(expected: int, seen: set[int]) -> bool:
        for number in matches[expected]:
            if number not in seen:
                seen.add(number)
                if number not in owners or assign(owners[number], seen):
                    owners[number] = expected
                    return True
        return False

    for expected in range(len(matches)):
        assign(expected, set())
    assigned = {expected: number for number, expected in owners.items()}
    return [assigned.get(expected) for expected in range(len(matches))]


def contains_value(value: Any, expected: Any) -> bool:
    """Return whether a JSON value contains another one: objects may have more fields, lists are compared item by item."""
    if isinstance(expected, Mapping):
        fields = cast("Mapping[str, Any]", expected)
        return isinstance(value, Mapping) and all(
            name in value and contains_value(value[name], inner) for name, inner in fields.items()
        )
    if isinstance(expected, list | tuple):
        items = cast("Sequence[Any]", expected)
        return (
            isinstance(value, list | tuple)
            and len(cast("Sequence[Any]", value)) == len(items)
            and all(contains_value(one, other) for one, other in zip(cast("Sequence[Any]", value), items, strict=True))
        )
    return value == expected and isinstance(value, bool) == isinstance(expected, bool)


def describe_expected(expected: ExpectedCall) -> str:
    """Return an expected call as a person would write it: `order(item="A-113")`."""
    given = [f"{name}={value!r}" for name, value in {**expected.arguments, **expected.where}.items()]
    return f"{expected.tool}({', '.join(given)})" if given else expected.tool


def describe_calls(calls: Sequence[CallRecord]) -> str:
    """Return calls as text, for messages."""
    described = [
        f"{call.name}({shorten_json_text(', '.join([f'{name}={value!r}' for name, value in call.requested.items()]))})"
        + (f" ({call.problem})" if call.problem else "")
        for call in calls
    ]
    return ", ".join(described) or "none"


# texts


def _check_output(run: CaseRun, expected: Expectations) -> Iterator[CheckResult]:
    if expected.output is not None:
        wanted = ExpectedText(contains=expected.output) if isinstance(expected.output, str) else expected.output
        output = run.output
        text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
        yield from _check_text("output", "output", text, wanted)


def _check_text(kind: Any, what: str, text: str, expected: ExpectedText) -> Iterator[CheckResult]:
    """Check a text."""
    shown = f"it is {text[:SHOWN]!r}{'…' if len(text) > SHOWN else ''}"
    if expected.equals is not None:
        same = text.strip() == expected.equals.strip()
        yield CheckResult(kind, f"{what} equals {expected.equals[:SHOWN]!r}", same, "" if same else shown)
    for part in as_tuple(expected.contains):
        there = part.casefold() in text.casefold()
        yield CheckResult(kind, f"{what} contains {part!r}", there, "" if there else shown)
    for part in as_tuple(expected.excludes):
        there = part.casefold() in text.casefold()
        yield CheckResult(kind, f"{what} doesn't contain {part!r}", not there, shown if there else "")
    for pattern in as_tuple(expected.matches):
        found = re.search(pattern, text) is not None
        yield CheckResult(kind, f"{what} matches {pattern!r}", found, "" if found else shown)
    if is_set(expected.json):
        yield _check_json(kind, what, text, expected.json, shown)


def _check_json(kind: Any, what: str, text: str, expected: Any, shown: str) -> CheckResult:
    name = f"{what} contains the JSON {shorten_json_text(msgspec.json.encode(expected).decode())}"
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return CheckResult(kind, name, passed=False, detail=f"it is no JSON ({error}); {shown}")
    fits = contains_value(value, expected)
    return CheckResult(kind, name, fits, "" if fits else shown)


# files and limits


def _check_files(folder: Path | None, expected: Expectations) -> Iterator[CheckResult]:
    for path, value in expected.files.items():
        wanted = ExpectedFile(equals=value) if isinstance(value, str) else value
        content = None if folder is None else _read_file(folder, path)
        if not wanted.exists:
            yield CheckResult("file", f"there is no file {path}", content is None, "" if content is None else "there is one")
        elif content is None:
            yield CheckResult("file", f"there is a file {path}", passed=False, detail="there is none that can be read")
        else:
            yield CheckResult("file", f"there is a file {path}", passed=True)
            yield from _check_text("file", path, content, wanted)


def _read_file(folder: Path, path: str) -> str | None:
    """Return a file's text; None where there is none, or it isn't inside of the folder."""
    from treadle.files import Workspace

    try:
        return Workspace(folder).read_bytes(path, MAX_FILE).decode("utf-8", "replace")
    except WorkspaceProblem:
        return None


def _check_limits(entries: list[Entry], expected: Expectations) -> Iterator[CheckResult]:
    if expected.cost is not None:
        cost = cost_of(entries)
        detail = "the price of the model isn't known" if cost is None else f"it cost {cost:.4f} US dollars"
        yield CheckResult("cost", f"at most {expected.cost:g} US dollars", cost is not None and cost <= expected.cost, detail)
    if expected.seconds is not None:
        seconds = seconds_of(entries)
        detail = f"it took {seconds:.1f} seconds"
        yield CheckResult("seconds", f"at most {expected.seconds:g} seconds", seconds <= expected.seconds, detail)


# code


async def check_by_code(run: CaseRun, folder: Path) -> list[CheckResult]:
    """Run the checks in code, one after the other; those without `async` in a thread."""
    return [await _call_check(each, run, folder) for each in run.case.checks]


async def _call_check(check: Check | str, run: CaseRun, folder: Path) -> CheckResult:
    """Call a check. True or None passes, False fails, a text says why it failed; so does an exception."""
    name = check if isinstance(check, str) else getattr(check, "__name__", "check")
    function: Check = load_object(check, str(folder)) if isinstance(check, str) else check
    try:
        said = await asyncio.to_thread(function, run)
        said = await said if isawaitable(said) else said
    except AssertionError as error:
        return CheckResult("code", name, passed=False, detail=str(error) or "an assertion failed")
    except Exception as error:  # noqa: BLE001 - a check may raise anything, and the other cases go on
        return CheckResult("code", name, passed=False, detail=f"{type(error).__name__}: {error}")
    if isinstance(said, str):
        return CheckResult("code", name, passed=False, detail=said)
    return CheckResult("code", name, said is None or bool(said), "" if said is None or said else "it returned False")

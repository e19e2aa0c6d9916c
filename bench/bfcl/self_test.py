"""Feeds the published answers through the checkers: all of them have to be found right, and a wrong one wrong."""

from collections.abc import Sequence
from typing import Any

from bench.bfcl.answer import Answer, Made
from bench.bfcl.cases import FAULTY, IRRELEVANT, MULTI_TURN, Case, load
from bench.bfcl.checking import wrong, wrong_turns
from bench.bfcl.schema import safe_name


def self_test(kinds: Sequence[str]) -> bool:
    """Whether all is well; says so for each kind."""
    found = [_tested(kind, load(kind)) for kind in kinds]
    return all(found)


def _tested(kind: str, cases: Sequence[Case]) -> bool:
    cases = [case for case in cases if case.id not in FAULTY]
    faults = [f"  {case.id}: {why}" for case in cases if (why := _fault(case))]
    print(f"{kind}: {len(cases) - len(faults)}/{len(cases)} published answers are right", *faults, sep="\n", flush=True)
    return not faults


def _fault(case: Case) -> str:
    """What is wrong with the checking of a case."""
    nonsense = Answer(((Made("no_such_function", {"x": 1}),),))
    if case.kind == MULTI_TURN:
        return wrong_turns(case, [[turn] for turn in case.answer]) or ("" if wrong_turns(case, []) else "nothing at all is right")
    right = Answer(()) if case.kind in IRRELEVANT else Answer((tuple(_made(case, each) for each in case.answer),))
    return wrong(case, right) or ("" if wrong(case, nonsense) else "nonsense is right")


def _made(case: Case, answer: dict[str, Any]) -> Made:
    """One call that a published answer allows, with as few arguments as it allows."""
    ((name, allowed),) = answer.items()
    described = next(each["parameters"] for each in case.entry["function"] if each["name"] == name)
    return Made(safe_name(name), _chosen(allowed, described.get("required", ())))


def _chosen(allowed: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    """One value for each parameter; an empty text among the allowed ones says that it may be left out."""
    return {
        name: _one(values)
        for name, values in allowed.items()
        if not isinstance(values, list) or "" not in values or name in required
    }


def _one(values: Any) -> Any:
    """The first that says something, without the alternatives in it: objects have a list of those for each of their fields."""
    if not isinstance(values, list):
        return values
    return _plain(next((value for value in values if value != ""), ""))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _chosen(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value

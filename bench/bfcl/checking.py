"""Whether an answer is right, by the cases' own checkers. Says why not, in a few words."""

import sys
from importlib import import_module
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

from bench.bfcl.answer import Answer, Made
from bench.bfcl.cases import IRRELEVANT, MULTI_TURN, Case
from bench.bfcl.schema import safe_name

_MOST = 400  # characters of what a checker says
_fresh = count(1)


def wrong(case: Case, answer: Answer) -> str:
    """Why an answer is wrong; empty where it is right."""
    if case.kind == MULTI_TURN:
        return _wrong_in_its_world(case, answer)
    if case.kind in IRRELEVANT:
        return "called, and nothing fits" if answer.calls else ""
    if not answer.calls:
        return "no call"
    unreadable = [f"{made.name}: {made.problem}" for made in answer.calls if made.problem]
    return "; ".join(unreadable)[:_MOST] or _wrong_calls(case, answer)


def _wrong_calls(case: Case, answer: Answer) -> str:
    output = [{case.published_name(made.name): _received(case, made)} for made in answer.calls]
    check, python = _checker("ast_eval.ast_checker").ast_checker, import_module("bfcl_eval.constants.enums").Language.PYTHON
    try:
        found = check(case.entry["function"], output, case.answer, python, case.kind, "any")
    except Exception as error:  # noqa: BLE001 - a checker that trips over an answer hasn't found it right
        return f"the checker failed: {error!r}"[:_MOST]
    return "" if found["valid"] else _said(found)


def _received(case: Case, made: Made) -> dict[str, Any]:
    """The arguments as a Python function would have them, for every route alike."""
    described = next((each["parameters"] for each in case.entry["function"] if safe_name(each["name"]) == made.name), {})
    return as_declared(made.arguments, {**described, "type": "dict"})


def as_declared(value: Any, described: Any) -> Any:
    """A value with whole numbers made floats where floats are declared: JSON has one kind of number, and the checker two."""
    described = described if isinstance(described, dict) else {}
    match value:
        case bool():
            return value
        case int() if described.get("type") == "float":
            return float(value)
        case list():
            return [as_declared(item, described.get("items")) for item in value]
        case dict():
            inner = described.get("properties") or {}
            return {key: as_declared(item, inner.get(key)) for key, item in value.items()}
        case _:
            return value


def _wrong_in_its_world(case: Case, answer: Answer) -> str:
    """Carries the calls out once more, beside the right ones, and compares the outcome of the world."""
    turns = [[[written(made) for made in turn if not made.problem]] if turn else [] for turn in answer.turns]
    return wrong_turns(case, turns)


def wrong_turns(case: Case, turns: list[list[list[str]]]) -> str:
    """The same for calls that are written down, turn by turn and step by step. Turns that never came count as empty."""
    check = _checker("multi_turn_eval.multi_turn_checker").multi_turn_checker
    turns = [*turns, *[[] for _ in case.answer[len(turns) :]]]
    found = check(turns, case.answer, case.entry, case.kind, f"run{next(_fresh)}")  # worlds are kept by this name
    return "" if found["valid"] else _said(found)


def written(made: Made) -> str:
    """The call as Python."""
    return f"{made.name}({','.join(f'{name}={value!r}' for name, value in made.arguments.items())})"


def _said(found: dict[str, Any]) -> str:
    error = found.get("error") or found.get("error_message") or found.get("error_type", "")
    return (error if isinstance(error, str) else "; ".join(map(str, error)))[:_MOST]


def _checker(name: str) -> Any:
    """A checker, without the module of model handlers that it would import, and with that two hundred packages."""
    stand_in = ModuleType("bfcl_eval.constants.model_config")
    stand_in.__dict__["MODEL_CONFIG_MAPPING"] = _AnyModel()
    sys.modules.setdefault(stand_in.__name__, stand_in)
    return import_module(f"bfcl_eval.eval_checker.{name}")


class _AnyModel(dict[str, Any]):
    """Says of every model that names are as published, since routes have spelled them back."""

    def __missing__(self, name: str) -> Any:
        return SimpleNamespace(underscore_to_dot=False)

"""Replies of many models, collected from tests elsewhere. Their file isn't part of this project; without it, this is skipped.

What is asked for: of the calls 99 in 100 right where the dialect is named and 97 where it isn't, of the words 97 in 100; and that a
reply says the same whether it is streamed or comes whole. `quirk` marks what only one project's own tests want.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dialects.parsing import Heard, cut, hear_pieces
from treadle.core.calls import Written
from treadle.core.requests import ToolSpec
from treadle.dialects import dialect_names, get_dialect, json_repair

CASES = Path(os.environ.get("TREADLE_DIALECT_CASES", Path(__file__).parents[3] / "shared" / "data" / "dialect-cases.jsonl"))
there = pytest.mark.skipif(not CASES.exists(), reason="the collected cases aren't on this machine")


@cache
def cases() -> list[dict[str, Any]]:
    if not CASES.exists():
        return []
    return [case for line in CASES.read_bytes().splitlines() if not (case := msgspec.json.decode(line)).get("quirk")]


def tools_of(case: dict[str, Any]) -> list[ToolSpec]:
    specs = [tool.get("function", tool) for tool in case["tools"] or ()]
    return [ToolSpec(spec["name"], spec.get("description") or "", spec.get("parameters") or {}) for spec in specs]


@cache
def heard_of(mode: str) -> list[Heard]:
    """What is heard of every case, streamed in pieces of seven characters and whole."""
    return [_heard(case, mode) for case in cases()]


def _heard(case: dict[str, Any], mode: str) -> Heard:
    tools = tools_of(case)
    dialect = get_dialect(case["format"] if mode == "named" else "auto")
    dialect = replace(dialect, forward=True) if mode == "named" or not tools else dialect
    opened = opened_in_prompt(case)
    whole = hear_pieces(dialect, [case["text"]], tools, opened)
    for pieces in (cut(case["text"], 1), cut(case["text"], 7), case.get("chunks") or ()):
        if "".join(pieces) == case["text"]:
            assert hear_pieces(dialect, pieces, tools, opened) == whole, case["id"]
    return whole


def opened_in_prompt(case: dict[str, Any]) -> bool | None:
    """What whoever wrote the prompt knows: whether it opened a thought."""
    if case.get("expected_reasoning") and case["text"].lstrip().startswith(case["expected_reasoning"]):
        return True
    if "</think>" in (case["expected_content"] or ""):
        return False
    return True if "reasoning_open_in_prompt" in case.get("tags", ()) else None


def readable(call: Written) -> bool:
    return not call.cut and isinstance(json_repair.read_object(call.text), json_repair.JsonRead)


def calls_right(case: dict[str, Any], heard: Heard) -> bool:
    made = [{"name": call.name, "arguments": json_repair.read_object(call.text).value} for call in heard.calls if readable(call)]
    return made == case["expected_calls"]


def words_right(case: dict[str, Any], heard: Heard) -> bool:
    """Whether the words are as expected; some expect the thinking before them as well, some don't see the reply's end."""
    wanted, text = (case["expected_content"] or "").strip(), heard.text.strip()
    if case.get("stream_end_signalled") is False and text != wanted and not heard.calls:
        parser = get_dialect(case["format"]).parser(tools_of(case), opened_in_prompt(case))
        text = parser.feed(case["text"]).text.strip()
    both = case["content_scope"] == "tool_parser_only" and heard.thinking and heard.thinking in wanted and wanted.endswith(text)
    return text == wanted or bool(both)


@there
def test_every_format_of_the_cases_is_a_dialect() -> None:
    assert {case["format"] for case in cases()} <= {*dialect_names()}


@there
@pytest.mark.parametrize(("mode", "goal"), [("named", 0.99), ("auto", 0.97)])
def test_calls_in_collected_replies_are_heard(mode: str, goal: float) -> None:
    missed = [case["id"] for case, heard in zip(cases(), heard_of(mode), strict=True) if not calls_right(case, heard)]
    assert 1 - len(missed) / len(cases()) >= goal, missed


@there
@pytest.mark.parametrize("mode", ["named", "auto"])
def test_words_in_collected_replies_are_kept(mode: str) -> None:
    checked = [(case, heard) for case, heard in zip(cases(), heard_of(mode), strict=True) if case["content_checked"]]
    missed = [case["id"] for case, heard in checked if not words_right(case, heard)]
    assert 1 - len(missed) / len(checked) >= 0.97, missed

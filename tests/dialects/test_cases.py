"""Replies of many models, collected from tests elsewhere. Their file isn't part of this project; without it, this is skipped."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from dialects.hearing import hear
from treadle.core.requests import ToolSpec
from treadle.dialects.every import AUTO

CASES = Path(os.environ.get("TREADLE_DIALECT_CASES", Path(__file__).parents[3] / "shared" / "data" / "dialect-cases.jsonl"))
FORMATS = {
    "hermes_json",
    "hermes_json_granite4",
    "ernie45_json",
    "xlam_json",
    "bare_json",
    "json_array",
    "own_json_thoughts",
    "own_bash_fence",
    "own_xml_tool_use",
}


def cases() -> list[dict[str, Any]]:
    if not CASES.exists():
        return []
    return [case for line in CASES.read_bytes().splitlines() if (case := msgspec.json.decode(line))["format"] in FORMATS]


def tools_of(case: dict[str, Any]) -> list[ToolSpec]:
    specs = [tool.get("function", tool) for tool in case["tools"] or ()]
    return [ToolSpec(spec["name"], spec.get("description") or "", spec.get("parameters") or {}) for spec in specs]


@pytest.mark.skipif(not CASES.exists(), reason="the collected cases aren't on this machine")
def test_calls_in_collected_replies_are_heard() -> None:
    missed: list[str] = []
    for case in cases():
        tools = tools_of(case)
        thinking = "reasoning_open_in_prompt" in case.get("tags", ())
        heard = hear(replace(AUTO, forward=not tools, thinking=thinking), case["text"], tools)
        if heard.made != [(call["name"], call["arguments"]) for call in case["expected_calls"]]:
            missed.append(case["id"])
    assert missed == []

"""Guided plan for small models: code finds and outlines the files a question names; the model words the answer. Pure.

A question about callers or uses of a name is answered with the list of references itself: there is nothing to put
into words.
"""

import re
from collections.abc import Generator

import msgspec

from treadle import Options, Result
from treadle.assistants.reading.outline.languages import detect_language
from treadle.assistants.reading.repository_search import References, format_references
from treadle.assistants.reading.tools import FileList, FileOutline
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep, last_turn

Plan = Generator[PlanQuestion, str, PlanStep]

ANSWER = (
    "A developer asks about source code, and this is what was found of it: outlines with line numbers and names, and after # what "
    "the comments say. Answer in two to four short sentences, in your own words, from that and nothing else: what the file is "
    "there for, as its comments say, and what its most important parts do. Name those. Don't repeat the outline."
)
MOST = 6_000  # characters of what was found
FILES = 3  # that are outlined at once
_FILE = re.compile(r"[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}\b(?!\.\w)")
_NAME = r"[`'\"]?(?P<whole>(?:[\w$]+(?:\.|::))*(?P<name>[A-Za-z_$][\w$]*))(?:\(\))?[`'\"]?"
_END = r"(?=\s*(?:[?.!]?\s*$|in\b|here\b))"
_REFERENCES = tuple(  # how people ask, and for which kind of reference
    [
        (kind, re.compile(asked.format(name=_NAME, end=_END), re.IGNORECASE))
        for kind, asked in (
            ("call", r"\b(?:who|what)\s+calls\s+{name}{end}"),
            ("call", r"\bcallers\s+of\s+{name}{end}"),
            ("call", r"\bwhere\s+is\s+{name}\s+called\b"),
            ("definition", r"\bwhere\s+is\s+{name}\s+defined\b"),
            ("any", r"\b(?:who|what)\s+uses\s+{name}{end}"),
            ("any", r"\breferences\s+to\s+{name}{end}"),
            ("any", r"\bwhere\s+is\s+{name}\s+(?:used|mentioned|referenced)\b"),
        )
    ]
)
_NO_NAMES = frozenset(("it", "this", "that", "them", "these", "those"))


def plan_reading(request: Request) -> Plan:
    """Return the next move: outlines of the named files, a list if none is named or found, then the answer."""
    message, results = last_turn(request.history)
    if (wanted := parse_reference_question(message)) is not None:
        found = [each for each in results if each.name == "find_references"]
        return PlanStep(text=_format_result_references(found[-1])) if found else PlanStep((("find_references", wanted),))
    named = find_file_names(message) or _files_named_before(request)
    outlines = [each for each in results if each.name == "outline_file" and each.problem is None]
    lists = [each for each in results if each.name == "list_source_files"]
    if outlines:
        return (yield from _build_answer(message, outlines))
    if not lists:
        return PlanStep(_outline_calls(named)) if named and not results else PlanStep((("list_source_files", {}),))
    missing = [path for path in _match_paths(lists[-1], named) if path not in _outlined_paths(request)]
    return PlanStep(_outline_calls(missing)) if missing else (yield from _build_answer(message, results))


def find_file_names(message: str) -> list[str]:
    """Return the file names in a message."""
    return list(dict.fromkeys(_FILE.findall(message)))[:FILES]


def parse_reference_question(message: str) -> dict[str, str] | None:
    """Return the arguments of a reference search that a message asks for; None if it asks for something else."""
    for kind, asked in _REFERENCES:
        match = asked.search(message)
        if match is not None and not _is_not_identifier(match):
            return {"name": match["name"], "kind": kind}
    return None


def _is_not_identifier(match: re.Match[str]) -> bool:
    """Return whether the matched text is a pronoun or a file name instead of an identifier."""
    return match["name"].casefold() in _NO_NAMES or detect_language(match["whole"]) is not None


def _format_result_references(result: Result) -> str:
    return result.content if result.data is None else format_references(msgspec.convert(result.data, References))


def _files_named_before(request: Request) -> list[str]:
    """Return the files named last in the conversation, if the last message names none."""
    said = [names for each in request.history if each.role == "person" and (names := find_file_names(each.text))]
    return said[-1] if said else []


def _outlined_paths(request: Request) -> set[str]:
    calls = [part for each in request.history for part in each.parts if getattr(part, "name", "") == "outline_file"]
    return {str(getattr(call, "arguments", {}).get("path", "")) for call in calls}


def _match_paths(listed: Result, named: list[str]) -> list[str]:
    """Return the listed files whose names were mentioned."""
    every = () if listed.data is None else msgspec.convert(listed.data, FileList).files
    wanted = [name.rpartition("/")[2].casefold() for name in named]
    return [path for path in every if path.rpartition("/")[2].casefold() in wanted][:FILES]


def _outline_calls(paths: list[str]) -> tuple[tuple[str, dict[str, str]], ...]:
    return tuple([("outline_file", {"path": path}) for path in paths])


def _build_answer(message: str, results: list[Result]) -> Plan:
    found = "\n\n".join(map(_result_text, results))[:MOST]
    words = yield PlanQuestion(f"{found}\n\nQuestion: {message}", ANSWER, Options(temperature=0, max_tokens=400), answers=True)
    return PlanStep(text=words.strip() or found)


def _result_text(result: Result) -> str:
    """Return a result's text: an outline without the markers that it has among other messages."""
    if result.name != "outline_file" or result.data is None:
        return result.content
    return msgspec.convert(result.data, FileOutline).outline

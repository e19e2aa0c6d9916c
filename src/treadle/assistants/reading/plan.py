"""How a small model is led: code finds the files that a question names and outlines them; the model words the answer. Pure.

Who calls or uses a name is answered by the list of references itself: there is nothing to put into words.
"""

import re
from collections.abc import Generator

import msgspec

from treadle import Move, Options, Question, Request, Result
from treadle.assistants.reading.outline.languages import language_of
from treadle.assistants.reading.repository_search import References, references_text
from treadle.assistants.reading.tools import FileList, FileOutline
from treadle.leading import turn_of

Plan = Generator[Question, str, Move]

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


def plan(request: Request) -> Plan:
    """The next move: outlines of what is named, a list where nothing is or it isn't there, then the answer."""
    message, results = turn_of(request.history)
    if (wanted := reference_in(message)) is not None:
        found = [each for each in results if each.name == "find_references"]
        return Move(text=_references(found[-1])) if found else Move((("find_references", wanted),))
    named = files_in(message) or _named_before(request)
    outlines = [each for each in results if each.name == "outline_file" and each.problem is None]
    lists = [each for each in results if each.name == "list_source_files"]
    if outlines:
        return (yield from _answer(message, outlines))
    if not lists:
        return Move(_outlined(named)) if named and not results else Move((("list_source_files", {}),))
    missing = [path for path in _paths(lists[-1], named) if path not in _asked_for(request)]
    return Move(_outlined(missing)) if missing else (yield from _answer(message, results))


def files_in(message: str) -> list[str]:
    """The files that a message names."""
    return list(dict.fromkeys(_FILE.findall(message)))[:FILES]


def reference_in(message: str) -> dict[str, str] | None:
    """What to find references to, as the arguments of that call; None where a message asks for something else."""
    for kind, asked in _REFERENCES:
        match = asked.search(message)
        if match is not None and not _is_other(match):
            return {"name": match["name"], "kind": kind}
    return None


def _is_other(match: re.Match[str]) -> bool:
    """Whether what stands where a name would is a pronoun or the name of a file."""
    return match["name"].casefold() in _NO_NAMES or language_of(match["whole"]) is not None


def _references(result: Result) -> str:
    return result.content if result.data is None else references_text(msgspec.convert(result.data, References))


def _named_before(request: Request) -> list[str]:
    """What was talked about last, where the last words name nothing."""
    said = [names for each in request.history if each.role == "person" and (names := files_in(each.text))]
    return said[-1] if said else []


def _asked_for(request: Request) -> set[str]:
    calls = [part for each in request.history for part in each.parts if getattr(part, "name", "") == "outline_file"]
    return {str(getattr(call, "arguments", {}).get("path", "")) for call in calls}


def _paths(listed: Result, named: list[str]) -> list[str]:
    """Files of a list whose names are those that were named."""
    every = () if listed.data is None else msgspec.convert(listed.data, FileList).files
    wanted = [name.rpartition("/")[2].casefold() for name in named]
    return [path for path in every if path.rpartition("/")[2].casefold() in wanted][:FILES]


def _outlined(paths: list[str]) -> tuple[tuple[str, dict[str, str]], ...]:
    return tuple([("outline_file", {"path": path}) for path in paths])


def _answer(message: str, results: list[Result]) -> Plan:
    found = "\n\n".join(map(_text, results))[:MOST]
    words = yield Question(f"{found}\n\nQuestion: {message}", ANSWER, Options(temperature=0, max_tokens=400))
    return Move(text=words.strip() or found)


def _text(result: Result) -> str:
    """What was found: an outline as it is, without the marks that a model reads it with among other messages."""
    if result.name != "outline_file" or result.data is None:
        return result.content
    return msgspec.convert(result.data, FileOutline).outline

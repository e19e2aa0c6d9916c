"""The record: one JSON line for each case and route, written as soon as it is known, so that a killed run can go on."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from os import SEEK_END
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Line:
    """What one route made of one case. `error` is what kept it from an answer, `why` what is wrong with the answer.

    `text` is the beginning of what the model said besides: a call that nobody recognized shows there.
    """

    id: str
    kind: str
    route: str
    model: str
    calls: list[Any]
    right: bool
    why: str = ""
    error: str = ""
    seconds: float = 0.0
    prompt_tokens: int | None = None
    text: str = ""


def append(path: Path, line: Line) -> None:
    """Add a line, safe at once; after a line that was cut off, on a new one."""
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, SEEK_END)
            file.write(b"" if file.read() == b"\n" else b"\n")
        file.write(json.dumps(asdict(line), ensure_ascii=False, default=str).encode() + b"\n")


def read(path: Path) -> list[Line]:
    """All lines, the last one of each case, route and model; one that was cut off by the end of a process counts as none."""
    if not path.exists():
        return []
    return latest(line for text in path.read_text("utf-8").splitlines() if (line := _line(text)) is not None)


def latest(lines: Iterable[Line]) -> list[Line]:
    """The last line of each case, route and model."""
    return list({(line.id, line.route, line.model): line for line in lines}.values())


def _line(text: str) -> Line | None:
    try:
        values = json.loads(text)
    except ValueError:
        return None
    return Line(**{each.name: values[each.name] for each in fields(Line) if each.name in values})

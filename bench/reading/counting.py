"""A model that says what any sensible one would, without thinking, and counts every token it is sent, by a real tokenizer.

It reads what the instructions tell it to read (long parts whose names and comments say nothing) and answers with the sketch's
blocks. So all paths read the same lines and give the same answer, and what differs is what each of them sends.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from treadle.assistants.reading.analysis_program import sketch_outline
from treadle.assistants.reading.file_parts import FilePart
from treadle.assistants.reading.grouping import split_identifier
from treadle.assistants.reading.source_files import OutlinedSource
from treadle.core.calls import Call, Result, Written
from treadle.core.messages import Text
from treadle.core.requests import CallDone, Delta, ReplyEnded, Request, TextDelta, Traits, Usage

Count = Callable[[str], int]
_AROUND = 5  # tokens that a chat template puts around a message
_VAGUE = {"process", "handle", "execute", "init", "update", "data", "temp", "result", "config", "obj", "do", "run", "value", "main"}
_LONG, _MOST_READS, _MOST_LINES = 20, 4, 60


def unclear(source: OutlinedSource) -> list[FilePart]:
    """The parts that have to be read: long, and neither name nor comment says what for."""
    found = [
        part
        for part in source.parts
        if part.node.kind in ("function", "method")
        and part.size >= _LONG
        and not (part.node.doc or part.node.leading_comment)
        and set(split_identifier(part.node.name)) <= _VAGUE
    ]
    return found[:_MOST_READS]


class Counting:
    """The model, for one file."""

    name = "counting"
    traits = Traits()

    def __init__(self, source: OutlinedSource, count: Count) -> None:
        self._reads = [(part.start, min(part.end, part.start + _MOST_LINES - 1)) for part in unclear(source)]
        self._answer = _answer(source)
        self._count = count
        self.input = self.output = self.requests = 0

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Reads first, if that is to be done, and then the answer."""
        read = self._count(_sent(request)) + _AROUND * (len(request.history) + 1)
        read_already = any(message.role == "tools" for message in request.history)
        calls: list[Written] = []
        if "ranges_to_read" in request.instructions:
            text = msgspec.json.encode({"ranges_to_read": [_wanted(*span) for span in self._reads]}).decode()
        elif request.tools and self._reads and not read_already:
            text, calls = "", [Written(f"c{n}", "refer_to_source_code", _arguments(*span)) for n, span in enumerate(self._reads)]
        else:
            text = self._answer
        wrote = self._count(text + "".join([f"{call.name}{call.text}" for call in calls]))
        self.input, self.output, self.requests = self.input + read, self.output + wrote, self.requests + 1
        if text:
            yield TextDelta(text)
        for call in calls:
            yield CallDone(call)
        yield ReplyEnded("calls" if calls else "done", Usage(1, 0, read, wrote))


def _wanted(start: int, end: int) -> dict[str, Any]:
    return {"start_line": start, "end_line": end, "reason": "unclear name", "element_type": "function", "priority": "high"}


def _arguments(start: int, end: int) -> str:
    return f'{{"start_line": {start}, "end_line": {end}}}'


def _answer(source: OutlinedSource) -> str:
    settled = sketch_outline(source.outline, source.parts)
    blocks = [{"label": block.label, "description": block.description, "ranges": block.ranges} for block in settled.blocks]
    return msgspec.json.encode({"file_intent": settled.file_intent, "responsibilities": blocks}).decode()


def _sent(request: Request) -> str:
    """All that a server gets to read."""
    told = [
        request.instructions,
        *[f"{tool.name} {tool.description} {msgspec.json.encode(tool.parameters).decode()}" for tool in request.tools],
    ]
    for message in request.history:
        for part in message.parts:
            match part:
                case Text():
                    told.append(part.text)
                case Result():
                    told.append(part.content)
                case Call():
                    told.append(f"{part.name}{msgspec.json.encode(part.arguments).decode()}")
                case _:
                    pass
    return "\n".join([*told, request.note])

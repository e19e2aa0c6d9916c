"""What a form of call is: where it may stand, what it opens with, how it is read. Each grammar family has a file of these."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle.core.calls import Written
from treadle.core.requests import Shorthand, ToolSpec
from treadle.dialects.scan import Markers, Reading, Tape, ahead, peek, read_whole, space, took

Place = Literal["start", "line", "anywhere", "whole"]


class Thought(Struct, frozen=True):
    """A frame around thinking.

    open, close  the marks around it; no opener where none is ever written
    ends         what ends it as well without being part of it, such as the next frame
    place        where the opener may stand: see `Form`
    """

    open: str
    close: str
    ends: tuple[str, ...] = ()
    place: Place = "line"


class Found(Struct, frozen=True):
    """What a form was read as: calls, and what else was said in it. No calls at all is an empty block.

    A `thought` says that thinking begins here, and lasts to that thought's end; `plain` that everything up to one of these marks
    is words, whatever it looks like.
    """

    calls: tuple[Written, ...] = ()
    thinking: str = ""
    text: str = ""
    thought: Thought | None = None
    plain: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        """Whether the text ended inside it."""
        return any(call.cut for call in self.calls)


class Offer:
    """The tools on offer. `forward` lets names through that aren't, for an engine that tells the model so."""

    __slots__ = ("_tools", "forward")

    def __init__(self, tools: Sequence[ToolSpec], *, forward: bool = False) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.forward = forward

    @property
    def forwarding(self) -> "Offer":
        """The same tools, with all names let through."""
        return self if self.forward else Offer(tuple(self._tools.values()), forward=True)

    @property
    def empty(self) -> bool:
        """Whether there are no tools."""
        return not self._tools

    @property
    def declared(self) -> "Offer":
        """The same tools, and no other names let through; where there are none at all, any."""
        return Offer(tuple(self._tools.values()), forward=self.forward and not self._tools)

    def having(self, arguments: Iterable[str]) -> str:
        """The one tool that these can be the arguments of: the only one, or the only one that has them; none where in doubt."""
        wanted = set(arguments)
        fitting = [name for name in self._tools if len(self._tools) == 1 or wanted <= self.properties(name).keys()]
        return fitting[0] if len(fitting) == 1 else ""

    def has(self, name: str) -> bool:
        """Whether there is such a tool."""
        return name in self._tools

    def heeds(self, names: Iterable[str]) -> bool:
        """Whether calls by these names count: one of them has to be on offer."""
        return self.forward or any(name in self._tools for name in names)

    def begins(self, beginning: str) -> bool:
        """Whether a name that begins like this may be one that counts."""
        return self.forward or any(name.startswith(beginning) for name in self._tools)

    def schema(self, name: str) -> dict[str, Any]:
        """The schema of a tool's arguments; an empty one where there is no such tool."""
        tool = self._tools.get(name)
        return {} if tool is None else tool.parameters

    def command_line(self, name: str) -> dict[str, Shorthand]:
        """The options of a tool's command line."""
        tool = self._tools.get(name)
        return {} if tool is None else tool.command_line

    def properties(self, name: str) -> dict[str, Any]:
        """The arguments of a tool, with their schemas."""
        return self.schema(name).get("properties") or {}


_BLANK = re.compile(r"\s{1,200}")

Reader = Callable[[Tape, str, Offer], Reading[Found | None]]


class Form(Struct, frozen=True):
    """One way of writing calls in a frame.

    marks   what it may open with
    read    reads on after a mark and the space behind it; None says that this is no call after all
    place   `start`: begins the reply; `line`: begins a line; `anywhere`: marks nobody types; `whole`: counts only where it ends
            the reply
    then    the characters one of which has to follow; empty lets anything follow
    close   what closes it; a frame with nothing in it is passed over
    fences  the names of code fences in which it counts as well
    """

    marks: tuple[str, ...]
    read: Reader
    place: Place = "line"
    then: str = ""
    close: str = ""
    fences: tuple[str, ...] = ()


class Block(Struct, frozen=True):
    """One way of writing calls in a code fence.

    fences  the names of such fences
    begins  whether the first line inside may be a call
    read    reads all of the inside; None says that not all of it is calls
    every   every such block of a reply counts: for a model that is known to write them, whatever follows; otherwise all of them
            where the reply ends in one. Without it, only blocks that end the reply do
    """

    fences: tuple[str, ...]
    begins: Callable[[str, Offer], bool]
    read: Callable[[str, Offer], Found | None]
    every: bool = False


def may_follow(form: Form, following: str) -> bool:
    """Whether the character after a mark may be the beginning of a call of this form."""
    return not form.then or (following != "" and following in form.then)


def in_fence(form: Form) -> Block:
    """A form, one call after another inside a fence."""
    marks = Markers(form.marks)

    def begins(line: str, offer: Offer) -> bool:
        return line.startswith(form.marks)

    def read(body: str, offer: Offer) -> Found | None:
        tape = Tape(body, ended=True)
        tape.begin()
        found: list[Found | None] = []
        while None not in found and read_whole(_beyond_space(tape)):
            found.append(_next(form, marks, tape, offer))
        return together(found)

    return Block(form.fences, begins, read)


def _beyond_space(tape: Tape) -> Reading[str]:
    yield from space(tape)
    return (yield from peek(tape))


def _next(form: Form, marks: Markers, tape: Tape, offer: Offer) -> Found | None:
    distance, mark = marks.find(tape)
    if distance:
        return None
    tape.take(len(mark))
    following = read_whole(_beyond_space(tape))
    return read_whole(form.read(tape, mark, offer)) if may_follow(form, following) else None


def closed(tape: Tape, opener: str, closer: str) -> Reading[bool]:
    """Whether a frame ends here: by its own tag, which is taken, by the next frame's, or with the reply, be it in the tag."""
    if (yield from took(tape, closer)) or (yield from ahead(tape, opener)):
        return True
    rest = tape.window[tape.at : tape.at + len(closer)]
    if not tape.ended or not closer.startswith(rest):
        return False
    tape.take(len(rest))
    return True


def shut(tape: Tape, closer: str) -> Reading[bool]:
    """Whether `closer` comes next, after a little space or none; then it is taken, else nothing is. The reply may end inside it."""
    while True:
        blank = _BLANK.match(tape.window, tape.at)
        at = tape.at if blank is None else blank.end()
        tail = tape.window[at : at + len(closer)]
        if tail == closer or (tape.ended and tail and closer.startswith(tail)):
            tape.take(at + len(tail) - tape.at)
            return True
        if tape.ended or not closer.startswith(tail):
            return False
        yield


def together(found: Sequence[Found | None]) -> Found | None:
    """All that was found, as one; None where one thing was no call, or nothing was found."""
    whole = [one for one in found if one is not None]
    if not whole or len(whole) < len(found):
        return None
    calls = tuple(call for one in whole for call in one.calls)
    thinking = "\n".join(one.thinking for one in whole if one.thinking)
    return Found(calls, thinking, "\n".join(one.text for one in whole if one.text))


def json_text(value: object) -> str:
    """The value as JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a character, which only escapes can carry
        import json

        return json.dumps(value)

"""The forms of call: where a form may stand, what opens it, how it is read. Each grammar family has a module of these."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle.core.calls import Written
from treadle.core.requests import Shorthand, ToolSpec
from treadle.dialects.scanner import Markers, Reading, Tape, is_next, peek, run_reader, take_if_next, take_space

Placement = Literal["start", "line", "anywhere", "whole"]


class ThinkingFrame(Struct, frozen=True):
    """A frame around thinking.

    open, close  the marks around it; no opener if none is ever written
    ends         marks that end it as well without being part of it, such as the next frame
    place        where the opener may stand: see `Form`
    """

    open: str
    close: str
    ends: tuple[str, ...] = ()
    place: Placement = "line"


class CallMatch(Struct, frozen=True):
    """The result of reading a form: calls, and other content of the frame. No calls at all means an empty block.

    A `thought` says that thinking begins here and lasts to that frame's end; `plain` says that everything up to one of these
    marks is text, whatever it looks like.
    """

    calls: tuple[Written, ...] = ()
    thinking: str = ""
    text: str = ""
    thought: ThinkingFrame | None = None
    plain: tuple[str, ...] = ()

    @property
    def cut(self) -> bool:
        """Whether the text ended inside a call."""
        return any(call.cut for call in self.calls)


class OfferedTools:
    """The tools offered with a request. `forward` accepts other names too, for an engine that answers them with a problem."""

    __slots__ = ("_tools", "forward")

    def __init__(self, tools: Sequence[ToolSpec], *, forward: bool = False) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.forward = forward

    @property
    def forwarding(self) -> "OfferedTools":
        """The same tools, with all names accepted."""
        return self if self.forward else OfferedTools(tuple(self._tools.values()), forward=True)

    @property
    def empty(self) -> bool:
        """Whether there are no tools."""
        return not self._tools

    @property
    def declared(self) -> "OfferedTools":
        """The same tools, and no other names accepted; any name if there are no tools at all."""
        return OfferedTools(tuple(self._tools.values()), forward=self.forward and not self._tools)

    def having(self, arguments: Iterable[str]) -> str:
        """Return the one tool that can have these arguments: the only one, or the only one that declares them.

        Empty if ambiguous.
        """
        wanted = set(arguments)
        fitting = [name for name in self._tools if len(self._tools) == 1 or wanted <= self.properties(name).keys()]
        return fitting[0] if len(fitting) == 1 else ""

    def has(self, name: str) -> bool:
        """Return whether there is a tool of this name."""
        return name in self._tools

    def heeds(self, names: Iterable[str]) -> bool:
        """Return whether calls by these names count: at least one of them must be offered."""
        return self.forward or any(name in self._tools for name in names)

    def begins(self, beginning: str) -> bool:
        """Return whether a name that begins like this may be an accepted one."""
        return self.forward or any(name.startswith(beginning) for name in self._tools)

    def schema(self, name: str) -> dict[str, Any]:
        """Return the schema of a tool's arguments; an empty one for an unknown tool."""
        tool = self._tools.get(name)
        return {} if tool is None else tool.parameters

    def command_line(self, name: str) -> dict[str, Shorthand]:
        """Return the option shorthands of a tool's command line."""
        tool = self._tools.get(name)
        return {} if tool is None else tool.command_line

    def properties(self, name: str) -> dict[str, Any]:
        """Return the schemas of a tool's arguments by name."""
        return self.schema(name).get("properties") or {}


_BLANK = re.compile(r"\s{1,200}")

FormReader = Callable[[Tape, str, OfferedTools], Reading[CallMatch | None]]


class Form(Struct, frozen=True):
    """One way of writing calls in a frame.

    marks   what it may open with
    read    reads on after a mark and the space behind it; returns None if this is no call
    place   `start`: begins the reply; `line`: begins a line; `anywhere`: marks that people don't type; `whole`: counts only
            where it ends the reply
    then    the characters one of which must follow; empty allows anything
    close   what closes it; an empty frame is skipped
    fences  the names of code fences in which it counts as well
    """

    marks: tuple[str, ...]
    read: FormReader
    place: Placement = "line"
    then: str = ""
    close: str = ""
    fences: tuple[str, ...] = ()


class FencedForm(Struct, frozen=True):
    """One way of writing calls in a code fence.

    fences  the names of such fences
    begins  whether the first line inside may be a call
    read    reads the whole inside; returns None if not all of it is calls
    every   every such block of a reply counts: for a model that is known to write them, whatever follows; otherwise all of them
            if the reply ends in one. Without it, only blocks that end the reply count
    """

    fences: tuple[str, ...]
    begins: Callable[[str, OfferedTools], bool]
    read: Callable[[str, OfferedTools], CallMatch | None]
    every: bool = False


def may_follow(form: Form, following: str) -> bool:
    """Return whether the character after a mark may begin a call of this form."""
    return not form.then or (following != "" and following in form.then)


def to_fenced(form: Form) -> FencedForm:
    """Return a form as a fenced one, with one call after another inside the fence."""
    marks = Markers(form.marks)

    def begins(line: str, offer: OfferedTools) -> bool:
        return line.startswith(form.marks)

    def read(body: str, offer: OfferedTools) -> CallMatch | None:
        tape = Tape(body, ended=True)
        tape.begin_hold()
        found: list[CallMatch | None] = []
        while None not in found and run_reader(_peek_beyond_space(tape)):
            found.append(_read_next(form, marks, tape, offer))
        return combine_matches(found)

    return FencedForm(form.fences, begins, read)


def _peek_beyond_space(tape: Tape) -> Reading[str]:
    yield from take_space(tape)
    return (yield from peek(tape))


def _read_next(form: Form, marks: Markers, tape: Tape, offer: OfferedTools) -> CallMatch | None:
    distance, mark = marks.find(tape)
    if distance:
        return None
    tape.take(len(mark))
    following = run_reader(_peek_beyond_space(tape))
    return run_reader(form.read(tape, mark, offer)) if may_follow(form, following) else None


def take_frame_end(tape: Tape, opener: str, closer: str) -> Reading[bool]:
    """Return whether a frame ends here.

    By its own tag, which is taken, by the next frame's, or with the reply, even inside the tag.
    """
    if (yield from take_if_next(tape, closer)) or (yield from is_next(tape, opener)):
        return True
    rest = tape.window[tape.at : tape.at + len(closer)]
    if not tape.ended or not closer.startswith(rest):
        return False
    tape.take(len(rest))
    return True


def take_closer(tape: Tape, closer: str) -> Reading[bool]:
    """Take `closer` if it comes next, after a little space or none; return whether it did. The reply may end inside it."""
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


def combine_matches(found: Sequence[CallMatch | None]) -> CallMatch | None:
    """Combine several matches into one; return None if one of them was no call, or there are none."""
    whole = [one for one in found if one is not None]
    if not whole or len(whole) < len(found):
        return None
    calls = tuple(call for one in whole for call in one.calls)
    thinking = "\n".join(one.thinking for one in whole if one.thinking)
    return CallMatch(calls, thinking, "\n".join(one.text for one in whole if one.text))


def to_json_text(value: object) -> str:
    """Serialize the value as JSON text."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # half a character, which only escapes can carry
        import json

        return json.dumps(value)

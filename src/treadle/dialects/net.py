"""The net under models with native calling: catches calls that they write as text all the same.

All forms are listened for, but only loaded when a reply shows a sign that may begin one. Words without any go straight through.
"""

from collections.abc import Sequence
from importlib import import_module

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Dialect, Heard, Parser
from treadle.dialects.scan import Markers

SIGNS = Markers("<[]{`~\u25c1")  # what marks begin with


class Net:
    """All forms at once, heard strictly; see `core.seams.Dialect`."""

    __slots__ = ()
    name = "auto"

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """How to tell a model about tools."""
        return _strict().explain(tools)

    def spell(self, calls: Sequence[Call], /) -> str:
        """The calls as a model writes them."""
        return _strict().spell(calls)

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """A parser for one reply to a request that offered these tools."""
        return _strict().parser(tools, reasoning_open) if reasoning_open else _NetParser(tools, reasoning_open)


class _NetParser:
    """Lets words through until there is a sign; then another parser takes over. Space waits for what follows it."""

    __slots__ = ("_blank", "_parser", "_passed", "_reasoning_open", "_tools")

    def __init__(self, tools: Sequence[ToolSpec], reasoning_open: bool | None) -> None:
        self._tools = tools
        self._reasoning_open = reasoning_open
        self._passed: list[str] = []
        self._blank = True
        self._parser: Parser | None = None

    def feed(self, text: str) -> Heard:
        """What is certain after this piece."""
        if self._parser is not None:
            return self._parser.feed(text)
        if SIGNS.search(text) is not None:
            self._parser = self._woken()
            return self._parser.feed(text)
        self._passed.append(text)
        if not self._blank:
            return Heard(text)
        self._blank = not text or text.isspace()
        return Heard() if self._blank else Heard("".join(self._passed))

    def close(self) -> Heard:
        """What is left when the reply is over."""
        if self._parser is not None:
            return self._parser.close()
        return Heard("".join(self._passed)) if self._blank else Heard()

    def _woken(self) -> Parser:
        """The parser that takes over, as if it had heard everything so far."""
        parser = _strict().parser(self._tools, self._reasoning_open)
        parser.feed("".join(self._passed))
        self._passed.clear()
        return parser


def _strict() -> Dialect:
    return import_module("treadle.dialects.every").STRICT

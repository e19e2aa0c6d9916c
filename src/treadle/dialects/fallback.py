"""Fallback for models with native calling: finds calls that they write as text all the same.

All forms are recognised, but only loaded when a reply contains a mark that may begin one. Text without any passes straight
through.
"""

from collections.abc import Sequence
from importlib import import_module

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Dialect, Heard, Parser
from treadle.dialects.scanner import Markers

SIGNS = Markers("<[]{`~\u25c1")  # what marks begin with


class FallbackDialect:
    """All forms at once, read strictly; see `core.seams.Dialect`."""

    __slots__ = ()
    name = "auto"

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """Return the instructions that explain the tools to a model."""
        return _strict_dialect().explain(tools)

    def spell(self, calls: Sequence[Call], /) -> str:
        """Return the calls as a model writes them."""
        return _strict_dialect().spell(calls)

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """Return a parser for one reply to a request that offered these tools."""
        return _strict_dialect().parser(tools, reasoning_open) if reasoning_open else _FallbackParser(tools, reasoning_open)


class _FallbackParser:
    """Passes text through until a mark occurs; then another parser takes over. Space waits for what follows it."""

    __slots__ = ("_blank", "_parser", "_passed", "_reasoning_open", "_tools")

    def __init__(self, tools: Sequence[ToolSpec], reasoning_open: bool | None) -> None:
        self._tools = tools
        self._reasoning_open = reasoning_open
        self._passed: list[str] = []
        self._blank = True
        self._parser: Parser | None = None

    def feed(self, text: str) -> Heard:
        """Return what is certain after this piece."""
        if self._parser is not None:
            return self._parser.feed(text)
        if SIGNS.search(text) is not None:
            self._parser = self._start_parser()
            return self._parser.feed(text)
        self._passed.append(text)
        if not self._blank:
            return Heard(text)
        self._blank = not text or text.isspace()
        return Heard() if self._blank else Heard("".join(self._passed))

    def close(self) -> Heard:
        """Return what is left at the end of the reply."""
        if self._parser is not None:
            return self._parser.close()
        return Heard("".join(self._passed)) if self._blank else Heard()

    def _start_parser(self) -> Parser:
        """Return the parser that takes over, fed with everything so far."""
        parser = _strict_dialect().parser(self._tools, self._reasoning_open)
        parser.feed("".join(self._passed))
        self._passed.clear()
        return parser


def _strict_dialect() -> Dialect:
    return import_module("treadle.dialects.formats.auto").STRICT

"""A dialect: forms of call, how strictly they are read, how calls are spelled, and the lesson that teaches them to a model."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Parser
from treadle.dialects.forms import FencedForm, Form, OfferedTools, ThinkingFrame
from treadle.dialects.reply_parser import ReplyParser, Strictness, compile_rules
from treadle.dialects.tool_listing import format_tool_listing


class TextDialect(Struct, frozen=True):
    """Forms of call in text; see `core.seams.Dialect`.

    spell       writes calls as a model of that family would in one reply
    thoughts    the frames around thinking, besides those that are always recognised
    noise       tokens without a meaning, which are dropped
    strictness  `open`: the model is known to write these forms, so they count anywhere; `careful`: forms that people type
                count only where a call may stand; `strict`, for models with native calling: only what
                can hardly be anything but a call
    forward     calls by names that aren't offered count too, for an engine that answers them with a problem
    """

    name: str
    forms: tuple[Form | FencedForm, ...]
    lesson: str
    spell: Callable[[Sequence[Call]], str]
    thoughts: tuple[ThinkingFrame, ...] = ()
    noise: tuple[str, ...] = ()
    ear: Strictness = "open"
    forward: bool = False

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """Return the instructions that explain the tools to a model; empty without tools."""
        if not tools:
            return ""
        ending = "After your calls, stop and wait for their results. Where no tool is needed, just answer."
        return f"You can use these tools:\n{format_tool_listing(tools)}\n\n{self.lesson}\n{ending}"

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """Return a parser for one reply to a request that offered these tools; see `core.seams.Dialect`."""
        of = compile_rules(self.forms, self.thoughts, self.noise, self.ear)
        return ReplyParser(of, OfferedTools(tools, forward=self.forward), reasoning_open)

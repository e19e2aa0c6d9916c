"""A dialect: some forms of call, how carefully they are heard, how calls are spelled, and the lesson that teaches a model to."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from treadle.core.calls import Call
from treadle.core.requests import ToolSpec
from treadle.core.seams import Parser
from treadle.dialects.forms import Block, Form, Offer, Thought
from treadle.dialects.reply import Ear, ReplyParser, rules
from treadle.dialects.teach import listing


class TextDialect(Struct, frozen=True):
    """Forms of call in text; see `core.seams.Dialect`.

    spell     writes calls as a model of that family would in one reply
    thoughts  the frames around thinking, besides those that are always heard
    noise     tokens that mean nothing, and are left out
    ear       `open`: the model is known to write these forms, so they count anywhere; `careful`: what people type counts only
              where a call may stand; `strict`, for models with native calling: only what can hardly be anything but a call
    forward   calls by names that aren't on offer count too, for an engine that answers them with a problem
    """

    name: str
    forms: tuple[Form | Block, ...]
    lesson: str
    spell: Callable[[Sequence[Call]], str]
    thoughts: tuple[Thought, ...] = ()
    noise: tuple[str, ...] = ()
    ear: Ear = "open"
    forward: bool = False

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """How to tell a model about tools; nothing where there are none."""
        if not tools:
            return ""
        ending = "After your calls, stop and wait for their results. Where no tool is needed, just answer."
        return f"You can use these tools:\n{listing(tools)}\n\n{self.lesson}\n{ending}"

    def parser(self, tools: Sequence[ToolSpec], reasoning_open: bool | None = None) -> Parser:
        """A parser for one reply to a request that offered these tools; see `core.seams.Dialect`."""
        of = rules(self.forms, self.thoughts, self.noise, self.ear)
        return ReplyParser(of, Offer(tools, forward=self.forward), reasoning_open)

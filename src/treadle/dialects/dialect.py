"""A dialect: some forms of call, how strictly they are heard, and the lesson that teaches a model to write them."""

from collections.abc import Sequence

from msgspec import Struct

from treadle.core.requests import ToolSpec
from treadle.core.seams import Parser
from treadle.dialects.forms import Block, Form, Offer
from treadle.dialects.reply import ReplyParser, rules
from treadle.dialects.teach import listing


class TextDialect(Struct, frozen=True):
    """Forms of call in text; see `core.seams.Dialect`.

    strict    for models that have native calling: only what can hardly be anything but a call counts
    forward   calls by names that aren't on offer count too, for an engine that answers them with a problem
    thinking  replies begin inside a thought, since the prompt has opened it
    """

    name: str
    forms: tuple[Form | Block, ...]
    lesson: str
    strict: bool = False
    forward: bool = False
    thinking: bool = False

    def explain(self, tools: Sequence[ToolSpec]) -> str:
        """How to tell a model about tools; nothing where there are none."""
        if not tools:
            return ""
        ending = "After your calls, stop and wait for their results. Where no tool is needed, just answer."
        return f"You can use these tools:\n{listing(tools)}\n\n{self.lesson}\n{ending}"

    def parser(self, tools: Sequence[ToolSpec]) -> Parser:
        """A parser for one reply to a request that offered these tools."""
        return ReplyParser(rules(self.forms, strict=self.strict, thinking=self.thinking), Offer(tools, forward=self.forward))

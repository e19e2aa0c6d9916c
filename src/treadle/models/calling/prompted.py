"""Tool calling for a model without native calls: tools are explained in its instructions, and calls are parsed from its text.

`PromptedModel(model, dialect)` wraps any model. Calls and results are written into the history as text, calls in the spelling
of the dialect. The dialect defines how a call looks in text; this module is independent of the server.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator

from msgspec.structs import replace

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Text, text_of
from treadle.core.requests import CallDone, Delta, ReplyEnded, Request, TextDelta, ThinkingDelta
from treadle.core.seams import Dialect, Heard, Model, warm_model
from treadle.dialects.program_blocks import add_program_blocks, end_open_block


class PromptedModel:
    """A model that is taught a dialect. `heard` is the dialect to parse with, if that is more than what was taught."""

    def __init__(self, model: Model, dialect: Dialect, *, heard: Dialect | None = None) -> None:
        self.name = model.name
        self.traits = model.traits.through_text()
        self._model = model
        self._dialect = dialect
        self._heard = heard or dialect
        self._spelled = dialect  # that of the calls in the history: with programs as blocks, if they were on offer
        self._taught = ("", "")  # the instructions asked with last, and those with the tools explained

    async def reply(self, request: Request) -> AsyncGenerator[Delta]:
        """Stream the reply, with the calls parsed from its text."""
        parser = add_program_blocks(self._heard, request.tools).parser(request.tools, self.traits.thinks or None)
        called = False
        async for delta in self._model.reply(self._to_text_request(request)):
            match delta:
                case TextDelta():
                    heard = parser.feed(delta.text)
                case ReplyEnded(finish="done"):
                    heard = end_open_block(parser.close(), request.tools)
                case ReplyEnded():
                    heard = parser.close()
                case _:
                    heard = Heard()
            for piece in _to_deltas(heard):
                called = called or isinstance(piece, CallDone)
                yield piece
            match delta:
                case TextDelta():
                    pass
                case ReplyEnded(finish="done") if called:
                    yield replace(delta, finish="calls")
                case _:
                    yield delta

    async def warm(self, request: Request) -> None:
        """Have the model read the instructions with the tools explained."""
        await warm_model(self._model, self._to_text_request(request))

    def reply_in_words(self, request: Request) -> AsyncIterator[Delta]:
        """Stream an answer as if there were no tools: a small model that reads of them apologizes for those it doesn't have."""
        return self._model.reply(replace(self._to_text_history(request), tools=()))

    def _to_text_request(self, request: Request) -> Request:
        return replace(self._to_text_history(request), instructions=self._explain_tools(request), tools=())

    def _to_text_history(self, request: Request) -> Request:
        if request.tools:
            self._spelled = add_program_blocks(self._dialect, request.tools)
        return replace(request, history=request.history.convert(f"spoken {self._spelled.name}", self._to_text_message))

    def _explain_tools(self, request: Request) -> str:
        """Return the instructions with the tools explained.

        They stay for a request without tools: the server has cached them already.
        """
        if request.tools:
            taught = f"{request.instructions}\n\n{self._spelled.explain(request.tools)}".lstrip()
            self._taught = (request.instructions, taught)
        return self._taught[1] if self._taught[0] == request.instructions and self._taught[1] else request.instructions

    def _to_text_message(self, message: Message) -> Message:
        match message.role:
            case "model":
                calls = [part for part in message.parts if isinstance(part, Call)]
                spelled = self._spelled.spell(calls) if calls else ""
                return Message("model", (Text("\n".join(filter(None, (text_of(message.parts), spelled)))),))
            case "tools":
                results = [part for part in message.parts if isinstance(part, Result)]
                return Message("person", (Text(format_results(results)), *[media for result in results for media in result.media]))
            case _:
                return message


def format_results(results: Iterable[Result]) -> str:
    """Return the results of calls as text, for a model that doesn't know tool results."""
    return "\n\n".join([_format_result(result) for result in results])


def _format_result(result: Result) -> str:
    return f"{'Problem with' if result.problem else 'Result of'} {result.name}:\n{result.content}"


def _to_deltas(heard: Heard) -> Iterator[Delta]:
    if heard.thinking:
        yield ThinkingDelta(heard.thinking)
    if heard.text:
        yield TextDelta(heard.text)
    for call in heard.calls:
        yield CallDone(call)

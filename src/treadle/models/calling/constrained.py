"""A model whose server can constrain a reply to a schema: every call it writes is valid by construction.

Small models write good calls when they are constrained, and call anyway when nothing fits. So three things happen:

1. `tool_fit` asks whether a tool fits at all, and how certain the model is. If it isn't, it is asked for an answer, without a
   word of the tools. `Options.tool_choice` decides instead, where it is set. The decision is in `ReplyEnded`.
2. The model writes calls, constrained to the schemas of the offered tools.
3. `grounding` checks how many values of a call are in the conversation. The fewer, the more certain the fit has to be.

Where the answer is a call as well, nothing is asked: the model is constrained to calls, that one among them. Otherwise, once
there are results, it chooses between calls and an answer itself, and one that only repeats a call is asked for an answer.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from math import inf
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import Message, Text
from treadle.core.requests import CallDone, Delta, ReplyEnded, Request, ToolDecision, Usage
from treadle.core.seams import Model
from treadle.dialects.constrained_json import CONSTRAINED, constrained_schema
from treadle.dialects.json_repair import JsonRead, read_object
from treadle.models.calling.grounding import ConversationText
from treadle.models.calling.prompted import PromptedModel
from treadle.models.calling.tool_fit import ToolFit, judge_tool_fit

UNGROUNDED_PENALTY = 3.0  # how much surer a model has to be of a call none of whose values were said
DEFAULT_SURE = -1.0  # below even odds: a small model is too modest where people ask for what is theirs
_MISSING = "Don't call a tool: ask for what is missing, or answer in plain words."
_CERTAIN = ToolFit(inf, Usage())
_ANSWER_NOW = "You know enough now. Answer in plain words."


class ConstrainedModel:
    """A model constrained to calls and answers.

    `sure` is the minimum log odds that a tool fits. At `-inf` the model isn't asked, and always calls.
    """

    def __init__(self, model: Model, *, sure: float = DEFAULT_SURE) -> None:
        self.name = model.name
        self.traits = model.traits.through_text()
        self._model = model
        self._spoken = PromptedModel(model, CONSTRAINED)
        self._sure = sure

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        if not request.tools:
            return self._spoken.reply(request)
        choice = request.options.tool_choice
        if choice == "none":
            return self._spoken.reply_in_words(request)
        if request.must_call or choice not in (None, "auto"):
            named = tuple([tool for tool in request.tools if tool.name == choice])
            return self._stream_calls(request, _accept_any_call, constrained_schema(named or request.tools), _ANSWER_NOW)
        if request.history[-1].role == "person":
            return self._reply_first(request)
        return self._reply_after_results(request)

    async def _reply_first(self, request: Request) -> AsyncIterator[Delta]:
        """Stream calls if a tool fits, else an answer."""
        fits = _CERTAIN if self._sure == -inf else await judge_tool_fit(self._model, request)
        said, tools = ConversationText(_conversation_text(request.history)), {tool.name: tool for tool in request.tools}

        def takes(call: Written) -> bool:
            tool = tools.get(call.name)
            missing = 0.0 if tool is None else 1 - said.grounded_share(call, tool)
            return fits.odds >= self._sure + UNGROUNDED_PENALTY * missing

        if fits.odds >= self._sure:
            stream = self._stream_calls(request, takes, constrained_schema(request.tools), _MISSING)
        else:
            stream = self._spoken.reply_in_words(request)
        called = False
        async for delta in stream:
            called = called or isinstance(delta, CallDone)
            if isinstance(delta, ReplyEnded) and fits is not _CERTAIN:
                delta = replace(delta, decision=ToolDecision(fits.probability, called), usage=delta.usage + fits.usage)
            yield delta

    def _reply_after_results(self, request: Request) -> AsyncIterator[Delta]:
        """Stream calls or an answer, as the model chooses; an answer if it would only repeat a call."""
        made = {
            _call_key(part.name, part.arguments) for message in request.history for part in message.parts if isinstance(part, Call)
        }

        def takes(call: Written) -> bool:
            return _call_key(call.name, _decode_arguments(call)) not in made

        return self._stream_calls(request, takes, constrained_schema(request.tools, answers=True), _ANSWER_NOW)

    async def _stream_calls(
        self, request: Request, takes: Callable[[Written], bool], shape: dict[str, Any], instead: str
    ) -> AsyncIterator[Delta]:
        """Stream the reply in that schema. If its first call isn't accepted, the model is asked for an answer `instead`."""
        called = False
        async with aclosing(self._spoken.reply(replace(request, shape=shape))) as stream:
            async for delta in stream:
                if isinstance(delta, CallDone) and not called:
                    if not delta.call.cut and not takes(delta.call):
                        break
                    called = True
                yield delta
            else:
                return
        async for delta in self._spoken.reply(replace(request, note=f"{request.note} {instead}".lstrip())):
            if isinstance(delta, ReplyEnded):
                yield replace(delta, usage=delta.usage + Usage(requests=1))
            elif not isinstance(delta, CallDone):  # it was told not to
                yield delta


def _accept_any_call(_: Written) -> bool:
    return True


def _decode_arguments(call: Written) -> dict[str, Any]:
    outcome = read_object(call.text)
    return outcome.value if isinstance(outcome, JsonRead) else {}


def _call_key(name: str, arguments: object) -> bytes:
    return msgspec.json.encode([name, arguments], order="sorted")


def _conversation_text(history: Iterable[Message]) -> str:
    """Return the text that a call's values may come from: all user messages and all results."""
    told: list[str] = []
    for message in history:
        if message.role != "model":
            told += [part.text for part in message.parts if isinstance(part, Text)]
            told += [part.content for part in message.parts if isinstance(part, Result)]
    return "\n".join(told)

"""A model whose server can constrain a reply to a schema: every call it writes is valid by construction.

Small models write good calls when they are constrained, and call anyway when nothing fits. So three things happen:

1. `tool_fit` asks whether a tool fits at all, and how certain the model is. If it isn't, it is asked for an answer, without a
   word of the tools. `Options.tool_choice` decides instead, where it is set. The decision is in `ReplyEnded`.
2. The model writes calls, constrained to the schemas of the offered tools.
3. `grounding` checks how many values of a call are in the conversation. The fewer, the more certain the fit has to be. From the
   call of a tool that only reads, it drops optional values that the model made up: they would hide what was asked for.

A tool that only reads is called at lower odds than one that acts: a lookup in vain costs a second.

Where the answer is a call as well, nothing is asked: the model is constrained to calls, that one among them. Otherwise, once
there are results, it chooses between calls and an answer itself, and one that only repeats a call is asked for an answer. If the
question is for a fact, `findings_check` says whether the records that were looked up hold it. If they surely do, the model is asked
for the answer. If they don't, it may look elsewhere, and its answer is replaced by one that says so: it would take the nearest
value.

Where the only tool runs programs (code mode), `program_blocks` has it write them.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from math import inf
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.messages import History, Message, Text, person_message
from treadle.core.requests import CallDone, Delta, ReplyEnded, Request, TextDelta, ToolDecision, ToolSpec, Usage
from treadle.core.seams import Model, warm_model
from treadle.dialects.constrained_json import CONSTRAINED, constrained_schema
from treadle.dialects.json_repair import JsonRead, read_object
from treadle.guard.trust import wrap_untrusted
from treadle.models.calling.findings_check import asks_for_fact, is_checkable, judge_findings, not_found_notice
from treadle.models.calling.grounding import ConversationText
from treadle.models.calling.program_blocks import ProgramWriter
from treadle.models.calling.prompted import PromptedModel
from treadle.models.calling.tool_fit import ToolFit, judge_tool_fit, tool_fit_request
from treadle.models.calling.turn_results import format_result_lines, last_turn

UNGROUNDED_PENALTY = 3.0  # how much surer a model has to be of a call none of whose values were said
DEFAULT_SURE = -1.0  # below even odds: a small model is too modest where people ask for what is theirs
READING_BONUS = 1.0  # how much less sure a model has to be of a call that only reads, unless it was asked for what is known anyway
_MISSING = "Don't call a tool: ask for what is missing, or answer in plain words."
_CERTAIN = ToolFit(inf, Usage())
FOUND_ODDS = 0.5  # at these and above, what was found holds the answer, and nothing more is looked up
NOT_FOUND_ODDS = -0.5  # at these and below, it doesn't
_ANSWER_FOUND = (
    "A user has a question, and this is what was found. Answer in a few short sentences from what was found, and from nothing "
    "else. Name everything that fits, with its values exactly as they are written there."
)
_NOT_LOOKED_UP = "If this is about something of the user's own, say that you don't know it."
_LOOK_ELSEWHERE = "The results so far don't have the answer. Call another tool that may have it, or say that you didn't find it."
_NOT_FOUND_TOKENS = 80
_NOT_FOUND = (
    "You have looked something up for a user, and the answer to their question isn't in it. Tell them in one short sentence that "
    "you didn't find it. Use the language of the question, and add nothing."
)
_ANSWER_NOW = "You know enough now. Answer in plain words."


Lookups = tuple[ToolSpec, ...]


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
        self._programs = ProgramWriter(model, sure)

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
        if len(request.tools) == 1 and (programs := request.tools[0].programs) is not None:
            return self._programs.reply(request, programs)
        if request.history[-1].role == "person":
            return self._reply_first(request)
        return self._reply_after_results(request)

    async def warm(self, request: Request) -> None:
        """Have the model read what it is asked first: whether a tool fits, and for a call or an answer."""
        if request.tools and self._sure != -inf:
            await warm_model(self._model, tool_fit_request(request))
        await self._spoken.warm(request)

    async def _reply_first(self, request: Request) -> AsyncIterator[Delta]:
        """Stream calls if a tool fits, else an answer."""
        fits = _CERTAIN if self._sure == -inf else await judge_tool_fit(self._model, request)
        said, tools = ConversationText(_conversation_text(request.history)), {tool.name: tool for tool in request.tools}

        def least(name: str) -> float:
            return self._sure - (READING_BONUS if name in request.read_only and not fits.general else 0)

        def takes(call: Written) -> bool:
            tool = tools.get(call.name)
            missing = 0.0 if tool is None else 1 - said.grounded_share(call, tool)
            return fits.odds >= least(call.name) + UNGROUNDED_PENALTY * missing

        if fits.odds >= min(map(least, tools)):
            lookups = tuple([tool for tool in request.tools if tool.name in request.read_only])
            stream = self._stream_calls(request, takes, constrained_schema(request.tools), _MISSING, lookups)
        else:
            is_own = asks_for_fact(request.history[-1].text) and not fits.general
            stream = self._spoken.reply_in_words(_add_note(request, _NOT_LOOKED_UP) if is_own else request)
        called = False
        async for delta in stream:
            called = called or isinstance(delta, CallDone)
            if isinstance(delta, ReplyEnded) and fits is not _CERTAIN:
                delta = replace(delta, decision=ToolDecision(fits.probability, called), usage=delta.usage + fits.usage)
            yield delta

    async def _reply_after_results(self, request: Request) -> AsyncIterator[Delta]:
        """Stream an answer if it was found, that it wasn't if it surely wasn't, and calls or an answer, as the model chooses."""
        message, results = _find_lookups(request)
        found = _format_records(results)
        judged = await judge_findings(self._model, message, found, request.progress) if is_checkable(message, found) else None
        is_missing = judged is not None and judged.odds <= NOT_FOUND_ODDS
        has_failed = bool(results) and all(result.problem for result in results) and asks_for_fact(message)
        if judged is not None and judged.odds >= FOUND_ODDS:
            stream = self._spoken.reply(_ask_about(message, found, request))
        else:
            stream = self._choose_after_results(request, searches=is_missing or has_failed)
        called = False
        async for delta in stream:
            called = called or isinstance(delta, CallDone)
            if isinstance(delta, ReplyEnded) and judged is not None:
                delta = replace(delta, usage=delta.usage + judged.usage)
                if is_missing and not called:
                    yield not_found_notice(judged)
                    async for each in self._say_not_found(message, request, delta):
                        yield each
                    return
            elif is_missing and isinstance(delta, TextDelta):
                continue
            yield delta

    async def _say_not_found(self, message: str, request: Request, ended: ReplyEnded) -> AsyncIterator[Delta]:
        """Stream that the answer wasn't found, in the model's words. It doesn't see what was: there is nothing to copy from it."""
        options = replace(request.options, max_tokens=_NOT_FOUND_TOKENS)
        asked = Request(_NOT_FOUND, History((person_message(message),)), options=options, progress=request.progress)
        async for delta in self._spoken.reply(asked):
            yield replace(delta, usage=delta.usage + ended.usage) if isinstance(delta, ReplyEnded) else delta

    def _choose_after_results(self, request: Request, *, searches: bool) -> AsyncIterator[Delta]:
        """Stream calls or an answer, as the model chooses; an answer if it would only repeat a call, or, searching, make one up."""
        made = {
            _call_key(part.name, part.arguments) for message in request.history for part in message.parts if isinstance(part, Call)
        }
        said, tools = ConversationText(_conversation_text(request.history)), {tool.name: tool for tool in request.tools}

        def takes(call: Written) -> bool:
            if searches and (tool := tools.get(call.name)) is not None and not said.grounded_share(call, tool):
                return False
            return _call_key(call.name, _decode_arguments(call)) not in made

        if searches:
            request = _add_note(request, _LOOK_ELSEWHERE)
        return self._stream_calls(request, takes, constrained_schema(request.tools, answers=True), _ANSWER_NOW)

    async def _stream_calls(
        self, request: Request, takes: Callable[[Written], bool], shape: dict[str, Any], instead: str, others: Lookups = ()
    ) -> AsyncIterator[Delta]:
        """Stream the reply in that schema.

        If its first call isn't accepted, the model may call one of the `others`; else it is asked for an answer `instead`.
        """
        called, refused = False, ""
        async with aclosing(self._spoken.reply(replace(request, shape=shape))) as stream:
            async for delta in stream:
                if isinstance(delta, CallDone):
                    delta = CallDone(_drop_invented(delta.call, request))
                    if not called and not delta.call.cut and not takes(delta.call):
                        refused = delta.call.name
                        break
                    called = True
                yield delta
            else:
                return
        others = tuple([tool for tool in others if tool.name != refused])
        if others:
            again = self._stream_calls(request, takes, constrained_schema(others), instead)
        else:
            again = self._spoken.reply(_add_note(request, instead))
        async for delta in again:
            if isinstance(delta, ReplyEnded):
                yield replace(delta, usage=delta.usage + Usage(requests=1))
            elif others or not isinstance(delta, CallDone):  # it was told not to
                yield delta


def _add_note(request: Request, note: str) -> Request:
    return replace(request, note=f"{request.note} {note}".lstrip())


def _accept_any_call(_: Written) -> bool:
    return True


def _drop_invented(call: Written, request: Request) -> Written:
    """Return a call without the optional values that the model made up, if it only reads."""
    tool = next((tool for tool in request.tools if tool.name == call.name and call.name in request.read_only), None)
    if tool is None or call.cut:
        return call
    known = "\n".join([request.instructions, request.note, _conversation_text(request.history)])
    return ConversationText(known).drop_invented(call, tool)


def _decode_arguments(call: Written) -> dict[str, Any]:
    outcome = read_object(call.text)
    return outcome.value if isinstance(outcome, JsonRead) else {}


def _call_key(name: str, arguments: object) -> bytes:
    return msgspec.json.encode([name, arguments], order="sorted")


def _find_lookups(request: Request) -> tuple[str, list[Result]]:
    """Return the last message, and the results since; none if one of them isn't of a tool that only reads."""
    message, results = last_turn(request.history)
    return message, results if all(result.name in request.read_only for result in results) else []


def _format_records(results: Sequence[Result]) -> str:
    """Return the records of these results as lines; nothing if there are none, or anything else is among them."""
    sound = [result for result in results if result.problem is None]
    if not any(result.data for result in sound) or not all(isinstance(result.data, dict | list) for result in sound):
        return ""
    return "\n".join([f"{result.name}:\n{format_result_lines(result)}" for result in sound])


def _ask_about(message: str, found: str, request: Request) -> Request:
    """Return the request for an answer from what was found. The question comes last, else a model talks of the rest."""
    messages = list(request.history)
    if any(isinstance(part, Result) and part.untrusted for each in messages for part in each.parts):
        found = wrap_untrusted(found, "tools")
    last = max(index for index, each in enumerate(messages) if each.role == "person")
    asked = person_message("\n\n".join([part for part in (found, f"Question: {message}", request.note) if part]))
    instructions = f"{request.instructions}\n\n{_ANSWER_FOUND}".lstrip()
    return replace(request, instructions=instructions, history=History((*messages[:last], asked)), tools=(), note="")


def _conversation_text(history: Iterable[Message]) -> str:
    """Return the text that a call's values may come from: all user messages and all results."""
    told: list[str] = []
    for message in history:
        if message.role != "model":
            told += [part.text for part in message.parts if isinstance(part, Text)]
            told += [part.content for part in message.parts if isinstance(part, Result)]
    return "\n".join(told)

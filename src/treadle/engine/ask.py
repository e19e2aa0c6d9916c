"""Asks a model for its next reply: builds the request, listens, starts calls while the reply is still coming, tries again.

Nothing is tried again once a complete call has been taken from a reply: what came is kept, and the run goes on from there.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Iterable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from treadle.core.calls import Opaque, Written
from treadle.core.entries import Noted, Overflowed, Replied, to_microseconds
from treadle.core.errors import ContextTooLong, ModelError, ReplyBroken, SettingsError
from treadle.core.events import (
    CallArrived,
    ModelAsked,
    ModelNoticed,
    ModelProgressed,
    ModelRetried,
    NoToolFit,
    OutputArrived,
    ReplyArrived,
    TextArrived,
    ThinkingArrived,
)
from treadle.core.log import log
from treadle.core.messages import History, Message, ReplyPart, Text, Thinking, text_of
from treadle.core.requests import (
    CallDelta,
    CallDone,
    Delta,
    Notice,
    Options,
    Progress,
    ReplyEnded,
    Request,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from treadle.core.seams import Heard, Parser, warm_model
from treadle.dialects.partial_json import read_partial
from treadle.engine.live import LiveRun
from treadle.engine.media import adapt_history
from treadle.engine.perform import start_early
from treadle.engine.telemetry import trace_reply
from treadle.engine.tool_offer import offer_tools, prepare_tools
from treadle.guard.trust import message_to_prompt
from treadle.loop.decide import AskModel
from treadle.loop.retry import retry_delay
from treadle.tools.values import shorten_json_text

if TYPE_CHECKING:
    from treadle.loop.continuation import Joint


_NO_USAGE = Usage()


async def ask_model(run: LiveRun, step: AskModel) -> None:
    """Ask until there is a reply, or no try is left and the run has failed."""
    if run.prepare is not None and not step.last:
        await prepare_tools(run)
    request = _request(run, step)
    wasted, attempt = _NO_USAGE, 0
    while True:
        attempt += 1
        if run.watched:
            run.emit(ModelAsked(run_id=run.id, round=run.state.spent.rounds + 1, model=run.setup.model.name))
        listener = Listener(run, step, request, wasted)
        _report_changed_prefix(run, listener)
        try:
            await trace_reply(run, request, _listen(run, step, listener))
        except _OutOfTime:
            listener.give_up()
            return
        except ModelError as error:
            listener.stop()
            if listener.kept_calls():
                listener.close(ReplyEnded("broken", error.usage or Usage(requests=1)))
                return
            wasted = wasted + (error.usage or Usage(requests=1))
            if isinstance(error, ContextTooLong):
                run.record(
                    Overflowed(size=run.state.history.size, reason=run.redactor.text(str(error)), usage=wasted, at=run.now())
                )
                return
            if not await _wait_for_next_try(run, error, attempt):
                run.finish("failed", text=run.state.words, reason=str(error), usage=wasted)
                return
        else:
            return


async def warm_model_for(run: LiveRun) -> None:
    """Have the model read what the run's first request begins with."""
    if run.prepare is not None:
        await prepare_tools(run)
    await warm_model(run.setup.model, _request(run, AskModel()))


def _report_changed_prefix(run: LiveRun, listener: "Listener") -> None:
    prefix = (run.setup, run.instructions, run.catalog, run.offered, run.state.history.first)
    if prefix == run.checked_prefix:  # the same objects as before, nearly always
        return
    run.checked_prefix = prefix
    from treadle.engine.request_prefix import prefixes  # programs that only define an agent don't need it

    changes = prefixes.check(run)
    if changes:
        listener.notice(changes)


class _OutOfTime(Exception):
    """The turn's seconds are over."""

    error_type = "timeout"  # by the conventions of OpenTelemetry


def _listen(run: LiveRun, step: AskModel, listener: "Listener") -> Awaitable[ReplyEnded]:
    """Take the reply in, within what is left of the turn's seconds; the last answer may take its time."""
    limit = run.setup.terms.limits.seconds
    return listener.listen() if limit is None or step.last else _in_time(limit - run.state.spent.seconds, listener)


async def _in_time(seconds: float, listener: "Listener") -> ReplyEnded:
    left = asyncio.timeout(max(seconds, 0.0))
    try:
        async with left:
            return await listener.listen()
    except TimeoutError as error:
        if not left.expired():
            raise
        raise _OutOfTime from error


async def _wait_for_next_try(run: LiveRun, error: ModelError, attempt: int) -> bool:
    """Whether there is another try, after the wait that is due before it."""
    limits = run.setup.terms.limits
    if not error.retryable or attempt >= limits.tries:
        return False
    wait = retry_delay(attempt, limits.backoff, error.retry_after, run.services.chance())
    if wait is None:
        return False
    if run.watched:
        run.emit(ModelRetried(run_id=run.id, attempt=attempt, wait=wait, reason=run.redactor.text(str(error))))
    await asyncio.sleep(wait)
    return True


def _request(run: LiveRun, step: AskModel) -> Request:
    tools, shape = offer_tools(run, step)
    output, state = run.setup.output, run.state
    must_call = output is not None and not output.takes_text and shape is None and bool(tools)
    history = state.history
    if state.cut:  # what it has to continue
        said = tuple([part for part in state.parts if not isinstance(part, Written)])
        history = History((*history, Message("model", said)))
    history = history.convert("prompt", message_to_prompt)
    progress = partial(_emit_progress, run) if run.watched else None
    request = Request(
        run.system_prompt,
        history,
        tools,
        step.note,
        _options(run),
        shape,
        must_call=must_call,
        progress=progress,
        read_only=run.catalog.read_only,
    )
    return _with_media(run, request) if state.has_media else request


def _options(run: LiveRun) -> Options:
    """The options of a request. A call is required once in a turn: a model that had to call each time could never answer."""
    options = run.setup.options
    is_required = options.tool_choice not in (None, "auto", "none")
    return replace(options, tool_choice=None) if is_required and run.state.tool_calls else options


def _emit_progress(run: LiveRun, progress: Progress) -> None:
    if progress.draft:
        progress = replace(progress, draft=run.redactor.stream().feed(progress.draft))  # its end may be a part of a secret
    run.emit(ModelProgressed(run_id=run.id, **asdict(progress)))


def _with_media(run: LiveRun, request: Request) -> Request:
    """The request with what gives the bytes of its media, of which the model gets to see those that it takes."""
    blobs = run.services.blobs
    history = adapt_history(request.history, run.setup.model.traits, blobs)
    return replace(request, history=history, blobs=None if blobs is None else blobs.get)


def _begin_joint(run: LiveRun) -> "Joint":
    from treadle.loop.continuation import Joint  # few replies are cut

    return Joint(text_of(run.state.parts))


def _is_continued(run: LiveRun, parts: list[ReplyPart], usage: Usage) -> bool:
    from treadle.loop.continuation import is_continued  # few replies are cut

    return run.setup.terms.continues and is_continued(run.state, run.setup.terms.limits, parts, usage)


class Listener:
    """Takes one reply in. A call that is complete is recorded and started at the next pause of the stream."""

    __slots__ = (
        "_calls",
        "_flush",
        "_ids",
        "_joint",
        "_notices",
        "_output",
        "_parser",
        "_parts",
        "_recorded",
        "_request",
        "_run",
        "_shown",
        "_started",
        "_step",
        "_text",
        "_wasted",
        "_written",
        "ended",
    )

    def __init__(self, run: LiveRun, step: AskModel, request: Request, wasted: Usage) -> None:
        self._run = run
        self._step = step
        self._request = request
        self._wasted = wasted
        self._parser: Parser | None = None
        self._joint = _begin_joint(run) if run.state.cut else None
        self._parts: list[ReplyPart] = []  # complete, and not recorded yet
        self._text: list[str] = []
        self._output: object = None  # the structured answer, as far as its events were sent
        self._written = self._shown = 0  # characters of it received, and those sent as events
        self._calls = 0  # calls in `_parts`
        self._ids: dict[str, str] = {}  # of calls that have begun: the model's, and ours
        self._notices: list[str] = []
        self._started = perf_counter()
        self._recorded = False
        self.ended: ReplyEnded | None = None
        self._flush: asyncio.Handle | None = None

    async def listen(self) -> ReplyEnded:
        """Take the reply in, to its end, and return that."""
        run = self._run
        reply: Any = run.setup.model.reply(self._request)
        if not hasattr(reply, "__aiter__"):
            if inspect.iscoroutine(reply):
                reply.close()
            raise SettingsError(f"`reply` of the model {run.setup.model.name} has to be an `async def` that yields deltas.")
        take_arrived = getattr(reply, "take_arrived", None)  # a reply in one piece has all of its deltas at once
        async for delta in reply:
            self._take(delta)
            if take_arrived is not None and self.ended is None and (ended := self._take_all(take_arrived())) is not None:
                return ended
        if self.ended is None:
            raise ReplyBroken(f"{run.setup.model.name} broke its reply off.")
        return self.ended

    def _take_all(self, deltas: Iterable[Delta]) -> ReplyEnded | None:
        """Take in deltas that needn't be awaited. Return the end of the reply if it was among them."""
        for delta in deltas:
            self._take(delta)
        return self.ended

    def _take(self, delta: Delta) -> None:
        if type(delta) is TextDelta:
            self._hear(delta.text)
        elif type(delta) is CallDone:
            self._add_call(delta.call)
        elif type(delta) is CallDelta:
            self._begin_call(delta)
        elif type(delta) is ReplyEnded:
            self.close(delta)
        else:
            self._take_rare(delta)

    def _take_rare(self, delta: Delta) -> None:
        match delta:
            case ThinkingDelta():
                self._think(delta.text, delta.signature)
            case Opaque():
                self._end_text()
                self._parts.append(delta)
            case Notice():
                self.notice(self._run.redactor.text(delta.text))
            case _:
                shown = shorten_json_text(self._run.redactor.text(repr(delta)))
                raise SettingsError(
                    f"The model {self._run.setup.model.name} yielded {shown}; a model yields "
                    'TextDelta("…"), CallDone(…) and the like, and at its end ReplyEnded("done").'
                )

    def _begin_call(self, delta: CallDelta) -> None:
        run = self._run
        call_id = self._ids[delta.id] = run.fresh_id(delta.id)
        if run.watched:
            run.emit(CallArrived(run_id=run.id, call_id=call_id, name=delta.name))

    def _hear(self, text: str) -> None:
        """Words arrived; calls written among them are taken out."""
        parser = self._parser
        if parser is None:
            net = self._run.setup.net
            if net is None or not self._request.tools:
                self._say(text)
                return
            parser = self._parser = net.parser(self._request.tools)
        self._add_heard(parser.feed(text))

    def _add_heard(self, heard: Heard) -> None:
        if heard.thinking:
            self._think(heard.thinking)
        if heard.text:
            self._say(heard.text)
        for written in heard.calls:
            self._add_call(written)

    def _say(self, text: str) -> None:
        if self._joint is not None:
            text = self._joint.feed(text)
            if not text:
                return
        self._add_text(text)

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        if not self._run.watched:
            return
        if self._writes_json():
            self._written += len(text)
            if self._written > self._shown + self._shown // 16:  # reading it again costs: not for every piece
                self._show_output()
        else:
            self._run.emit(TextArrived(run_id=self._run.id, text=text))

    def _writes_json(self) -> bool:
        """Whether the text is the structured answer, which is an object, rather than words before a call."""
        if self._request.shape is None:
            return False
        first = next((piece.lstrip() for piece in self._text if not piece.isspace()), "")
        return first.startswith("{")

    def _show_output(self) -> None:
        """Tell what there is of a structured answer."""
        self._shown = self._written
        output = read_partial("".join(self._text))
        if output is not None and output != self._output:
            self._output = output
            self._run.emit(OutputArrived(run_id=self._run.id, output=self._run.redactor.value(output)))

    def _think(self, text: str, signature: str = "") -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, Thinking) and not last.signature:
            self._parts[-1] = Thinking(last.text + text, signature)
        else:
            self._end_text()
            self._parts.append(Thinking(text, signature))
        if self._run.watched:
            self._run.emit(ThinkingArrived(run_id=self._run.id, text=text))

    def notice(self, text: str) -> None:
        """Report something about how the reply comes about; it is journaled with the reply."""
        self._notices.append(text)
        log.warning("%s", text)
        if self._run.watched:
            self._run.emit(ModelNoticed(run_id=self._run.id, text=text))

    def _add_call(self, written: Written) -> None:
        """A complete call. It waits for the next pause of the stream, so that a reply in one piece is one entry."""
        self._end_text()
        run = self._run
        call_id = self._ids.pop(written.id, None) or run.fresh_id(written.id)
        self._parts.append(written if call_id == written.id else replace(written, id=call_id))
        self._calls += 1
        if self._flush is None and run.setup.model.traits.streams and not self._step.last:
            self._flush = asyncio.get_running_loop().call_soon(self._at_pause)

    def _at_pause(self) -> None:
        """The stream pauses: record what is complete, and start what may start."""
        self._flush = None
        run = self._run
        run.record(Replied(parts=tuple(self._parts), more=True, at=run.now()))
        self._recorded = True
        self._parts = []
        self._calls = 0
        start_early(run)

    def _end_text(self) -> None:
        if self._joint is not None and (rest := self._joint.close()):
            self._add_text(rest)
        if self._text:
            self._parts.append(Text("".join(self._text)))
            self._text = []

    def stop(self) -> None:
        """Nothing more will come: what isn't recorded yet stays unrecorded unless `close` is called."""
        if self._ids:
            self._run.call_ids.difference_update(self._ids.values())  # calls that were never finished need none
            self._ids = {}
        if self._flush is not None:
            self._flush.cancel()
            self._flush = None

    def give_up(self) -> None:
        """Time is over: keep complete calls if there are any, and note that the request was made."""
        self.stop()
        if self.kept_calls():
            self.close(ReplyEnded("broken"))
        else:
            self._run.record(Noted(text="", usage=self._wasted + Usage(requests=1), at=self._run.now()))

    def kept_calls(self) -> bool:
        """Whether complete calls came, so that the reply is worth keeping although it broke."""
        return self._recorded or self._calls > 0

    def close(self, ended: ReplyEnded) -> None:
        """The reply is over, or broke: record the rest of it. Of a broken one, nothing after its last complete call."""
        self.stop()
        self.ended = ended
        run = self._run
        if ended.finish == "broken":
            self._text = []
            while self._parts and not isinstance(self._parts[-1], Written):
                self._parts.pop()
        elif self._parser is not None:
            self._add_heard(self._parser.close())
            self.stop()
        if run.watched and self._written > self._shown:
            self._show_output()
        self._end_text()
        if ended.finish == "filtered" and any(isinstance(part, Text) for part in self._parts):  # a reply without text fails anyway
            self.notice(f"The content filter of {run.setup.model.name}'s provider ended this reply: it may be incomplete.")
        usage = self._add_price(ended.usage)
        entry = Replied(
            parts=tuple(self._parts),
            last=self._step.last,
            finish=ended.finish,
            usage=usage,
            model=ended.model,
            notices=tuple(self._notices),
            decision=ended.decision,
            seconds=to_microseconds(perf_counter() - self._started),
            continues=ended.finish == "length" and not self.kept_calls() and _is_continued(run, self._parts, usage),
            at=run.now(),
        )
        run.record(entry)
        if run.watched:
            if ended.decision is not None and not ended.decision.called:
                run.emit(NoToolFit(run_id=run.id, probability=ended.decision.probability))
            run.emit(ReplyArrived(run_id=run.id, usage=run.state.spent.usage))

    def _add_price(self, usage: Usage) -> Usage:
        total = self._wasted + usage if self._wasted.requests else usage
        price = self._run.setup.price
        if price is None:
            return total
        cost = price(self._run.setup.model.name, total)
        return total + Usage(cost=cost) if total.cost is None else total

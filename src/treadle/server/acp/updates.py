"""Events of a run as updates of a session, in the same way for a turn that is running and for one that is read from its journal."""

from collections.abc import Callable, Sequence
from typing import Any

from acp.helpers import (
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import Cost, PlanEntry, UsageUpdate

from treadle.core.calls import Call, Deny, Result
from treadle.core.events import (
    CallArrived,
    CallJudged,
    CallProgressed,
    CallRetried,
    CallReturned,
    CallStarted,
    Event,
    MessageDelivered,
    ModelAsked,
    ModelNoticed,
    ModelRetried,
    ReplyArrived,
    RunEnded,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.core.requests import Usage
from treadle.plugins.editor_session import SessionTask
from treadle.server.acp.tool_calls import CallPresenter, result_content, text_content
from treadle.server.compat.streamed_text import StreamedText
from treadle.server.runs.events import PersonSaid, StreamEvent, TurnEnded

Send = Callable[[Any], None]
REPLY_BROKEN = "The model's reply broke off before this call was complete."
CANCELLED = "It was cancelled."


def _no_tasks(call: Call) -> None:
    """Return nothing: for assistants without a task list."""


class ShownCalls:
    """The calls of a session that its client knows, by id; of those without a result, whether they were judged."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.unfinished: dict[str, bool] = {}


class SessionUpdates:
    """Watcher that sends a run as updates. Of nested runs only the calls are shown.

    window       how many tokens the model reads at once, None where that isn't known
    holds_text   the answer isn't sent as it comes, because it is checked before it is shown
    is_live      the calls are happening now, so that the files have the content that they change
    tasks        returns the task list that a call sets; None for other calls
    shown        the calls that the client knows already
    """

    def __init__(
        self,
        send: Send,
        calls: CallPresenter,
        *,
        window: int | None,
        holds_text: bool = False,
        is_live: bool = True,
        tasks: Callable[[Call], Sequence[SessionTask] | None] = _no_tasks,
        shown: ShownCalls,
    ) -> None:
        self._send = send
        self._calls = calls
        self._window = window
        self._holds_text = holds_text
        self._is_live = is_live
        self._tasks = tasks
        self._root = ""
        self._streamed = StreamedText()
        self._usage = Usage()
        self._shown = shown
        self._edited: set[str] = set()  # calls that are shown with the diff of a file
        self.words = ""  # of the last reply, as they were sent

    def __call__(self, event: "Event[Any] | StreamEvent") -> None:
        """Send one event."""
        match event:
            case CallArrived() | CallJudged() | CallStarted() | CallProgressed() | CallRetried() | CallReturned():
                self._on_call(event)
            case RunStarted() if not event.path:
                self._root = event.run_id
            case _ if event.run_id == self._root:
                self._on_root(event)
            case _:
                pass

    def _on_root(self, event: "Event[Any] | StreamEvent") -> None:
        match event:
            case TextArrived():
                self._on_text(event.text)
            case ThinkingArrived() if event.text:
                self._send(update_agent_thought_text(event.text))
            case PersonSaid() | MessageDelivered():
                self._send(update_user_message_text(event.text))
            case ModelAsked():
                self._streamed.start_request()
                self.words = ""
            case ModelRetried():
                self._streamed.mark_retry()
                self.words = ""
                self._drop_unwritten()
                self._send(update_agent_thought_text(f"{event.reason} Trying again in {event.wait:.0f} s.\n"))
            case ModelNoticed():
                self._send(update_agent_thought_text(f"{event.text}\n"))
            case ReplyArrived():
                self._on_usage(event.usage)
            case RunEnded():
                self._end_turn(goes_on=event.result.interrupted or event.result.stopped == "waiting")
            case TurnEnded():
                self._end_turn(goes_on=event.stopped == "waiting")
            case _:
                pass

    def _on_text(self, text: str) -> None:
        if self._holds_text:
            return
        self.words += text
        if told := self._streamed.told(text):
            self._send(update_agent_message_text(told))

    def _on_usage(self, usage: Usage) -> None:
        """Send how full the context window is: the tokens of the last request and its reply."""
        before, self._usage = self._usage, usage
        if self._window is None:
            return
        used = max(usage.total_tokens - before.total_tokens, 0)
        cost = None if usage.cost is None else Cost(amount=usage.cost, currency="USD")
        self._send(UsageUpdate(session_update="usage_update", used=used, size=self._window, cost=cost))

    def say(self, text: str) -> None:
        """Send a message that no model has streamed."""
        self._send(update_agent_message_text(f"\n\n{text}" if self.words else text))
        self.words = text

    # calls

    def _on_call(self, event: CallArrived | CallJudged | CallStarted | CallProgressed | CallRetried | CallReturned) -> None:
        match event:
            case CallArrived():
                self._announce(self.call_id(event.run_id, event.call_id), is_judged=False, title=event.name, kind="other")
            case CallJudged():
                number = self._show_call(event.run_id, event.call)
                if isinstance(event.verdict, Deny):
                    self.fail(number, event.verdict.reason)
            case CallStarted():
                self._on_started(event)
            case CallProgressed():
                self._send(update_tool_call(self.call_id(event.run_id, event.call_id), content=text_content(event.text)))
            case CallRetried():
                words = f"{event.reason} Trying again in {event.wait:.0f} s."
                self._send(update_tool_call(self.call_id(event.run_id, event.call_id), content=text_content(words)))
            case CallReturned():
                self._on_returned(event.run_id, event.result)

    def _on_started(self, event: CallStarted) -> None:
        number = self._show_call(event.run_id, event.call)
        edit = self._calls.edit(event.call.name, event.call.arguments) if self._is_live else []
        if edit:
            self._edited.add(number)
        self._send(update_tool_call(number, status="in_progress", content=edit or None))
        tasks = self._tasks(event.call)
        if tasks is not None:
            self._send(update_plan([PlanEntry(content=task.text, priority="medium", status=task.status) for task in tasks]))

    def _show_call(self, run_id: str, call: Call) -> str:
        """Send what is known of a call, unless it was sent before; return its id in the session."""
        number, name, arguments = self.call_id(run_id, call.id), call.name, call.arguments
        if not self._shown.unfinished.get(number, False):
            self._announce(
                number,
                is_judged=True,
                title=self._calls.title(name, arguments),
                kind=self._calls.kind(name, arguments),
                locations=self._calls.locations(name, arguments) or None,
                raw_input=arguments,
            )
        return number

    def _announce(self, number: str, *, is_judged: bool, title: str, **about: Any) -> None:
        is_known = number in self._shown.known
        self._shown.known.add(number)
        self._shown.unfinished[number] = is_judged
        send = update_tool_call if is_known else start_tool_call
        self._send(send(number, title=title, status="pending", **about))

    def _on_returned(self, run_id: str, result: Result) -> None:
        number = self.call_id(run_id, result.call_id)
        if number not in self._shown.known:
            self._announce(number, is_judged=True, title=result.name, kind="other")
        self._shown.unfinished.pop(number, None)
        keeps_diff = number in self._edited and result.problem is None  # without content, what was sent last stays
        content = None if keeps_diff else result_content(result)
        status = "completed" if result.problem is None else "failed"
        self._send(update_tool_call(number, status=status, content=content or None, raw_output=result.data))

    def fail(self, number: str, why: str) -> None:
        """Mark a call as one that didn't run."""
        self._shown.unfinished.pop(number, None)
        self._send(update_tool_call(number, status="failed", content=text_content(why) or None))

    def _drop_unwritten(self) -> None:
        """Mark calls that the model had begun to write, and never completed."""
        for number in [number for number, is_judged in self._shown.unfinished.items() if not is_judged]:
            self.fail(number, REPLY_BROKEN)

    def _end_turn(self, *, goes_on: bool) -> None:
        """Mark calls that have no result, unless the turn may go on with them."""
        self._drop_unwritten()
        for number in [] if goes_on else list(self._shown.unfinished):
            self.fail(number, CANCELLED)

    def call_id(self, run_id: str, call_id: str) -> str:
        """Return the id of a call in the session: that of the model, with the run's where it is a nested one."""
        return call_id if run_id == self._root or not self._root else f"{run_id}.{call_id}"

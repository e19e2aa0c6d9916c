"""Print a run's events: text to stdout, calls and the rest to stderr; or every event as JSON."""

from typing import Any

from treadle.cli.ui.render import fit_columns, fit_lines, format_call, format_seconds, to_one_line, to_terminal_json
from treadle.cli.ui.report import result_to_json
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Allow, Ask, Deny, Result, Verdict
from treadle.core.events import (
    AnswerUngrounded,
    CallArrived,
    CallJudged,
    CallProgressed,
    CallRetried,
    CallReturned,
    CallStarted,
    ContextLoaded,
    ContextSource,
    Event,
    MessageDelivered,
    ModelAsked,
    ModelNoticed,
    ModelRetried,
    NoToolFit,
    RunEnded,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.core.wrapping import display_width


class EventPrinter:
    """Watcher that prints a run for a person.

    `says` sends text to stdout; without it, text before calls is printed as notes on stderr.
    Of nested runs only the calls are shown.
    """

    def __init__(self, screen: Screen, *, says: bool = True, thinking: bool = False) -> None:
        self._screen = screen
        self._says = says
        self._thinking = thinking
        self._root = ""
        self._labels: dict[tuple[str, str], str] = {}
        self.words = ""  # of the last reply

    def __call__(self, event: Event) -> None:
        """Print one event."""
        if type(event) is TextArrived:
            self._on_text(event)
        elif type(event) is ThinkingArrived:
            if self._thinking and event.run_id == self._root:
                self._screen.think(event.text)
        elif type(event) is CallArrived:
            if event.run_id == self._root:
                self._screen.end_line()  # the text before the call is over, and writing the call may take a while
        else:
            self._on_event(event)

    def _on_text(self, event: TextArrived) -> None:
        if event.run_id != self._root:
            return
        self.words += event.text
        if self._says:
            self._screen.say(event.text)

    def _on_event(self, event: Event) -> None:  # noqa: C901 - one case for each kind of event
        match event:
            case RunStarted():
                self._root = self._root or event.run_id
            case ModelAsked() if event.run_id == self._root:
                self.words = ""
                self._screen.end_line()
            case ModelRetried():
                self._screen.note(f"{to_one_line(event.reason, 300)} Trying again in {format_seconds(event.wait)}.", "yellow")
            case ModelNoticed():
                self._screen.note(to_one_line(event.text, 400), "yellow")
            case ContextLoaded():
                self._note(event.run_id, f"Read {', '.join(map(_format_source, event.sources))}.")
            case MessageDelivered() if event.run_id == self._root:
                self._screen.note(f"» {to_one_line(event.text, 300)}")
            case NoToolFit() | AnswerUngrounded():
                self._note(event.run_id, _format_decision(event), "yellow")
            case CallJudged():
                self._on_judged(event)
            case CallStarted():
                self._on_started(event)
            case CallProgressed():
                self._note_call("…", event.run_id, event.call_id, ": ", event.text)
            case CallRetried():
                again = f"{event.reason} Trying again in {format_seconds(event.wait)}."
                self._note_call("…", event.run_id, event.call_id, ": ", again)
            case CallReturned():
                self._on_returned(event)
            case _:
                pass

    def _on_judged(self, event: CallJudged) -> None:
        if not self._says and event.run_id == self._root:
            for line in self.words.strip().splitlines():
                self._screen.note(line)
            self.words = ""
        label = self._labels[event.run_id, event.call.id] = format_call(event.call.name, event.call.arguments)
        mended = f" (mended: {event.mended})" if event.mended else ""
        verdict = f"{format_verdict(event.verdict)}{mended}"
        if isinstance(event.verdict, Allow):  # by which rule is of less interest than the call
            self._note(event.run_id, f"→ {label} {verdict}")
        else:
            self._note_call("→", event.run_id, event.call.id, " ", verdict, _verdict_style(event.verdict))

    def _on_started(self, event: CallStarted) -> None:
        """Print a started call only if it differs from the one already printed: it was edited, or was judged in another session."""
        label = format_call(event.call.name, event.call.arguments)
        if label != self._labels.get((event.run_id, event.call.id)):
            self._labels[event.run_id, event.call.id] = label
            self._note_call("→", event.run_id, event.call.id)

    def _on_returned(self, event: CallReturned) -> None:
        took = "cached" if event.cached else format_seconds(event.seconds)
        style = "red" if event.result.problem else "dim"
        self._note_call("←", event.run_id, event.result.call_id, f" {took}: ", format_result(event.result), style)

    def _note_call(self, mark: str, run_id: str, call_id: str, between: str = "", words: str = "", style: str = "dim") -> None:
        """Print a line about a call. Where both don't fit, the call may be cut to a third, so that its outcome is seen."""
        room = self._screen.note_width - len(self._indent(run_id)) - len(f"{mark} {between}")
        label = self._labels.get((run_id, call_id), call_id)
        label = fit_columns(label, max(room - display_width(fit_lines(words, room)), room // 3))
        self._note(run_id, f"{mark} {label}{between}{fit_lines(words, room - display_width(label))}", style)

    def _note(self, run_id: str, text: str, style: str = "dim") -> None:
        """Print a line, indented by the nesting depth of its run."""
        self._screen.note(indent_line(self._indent(run_id), text, self._screen.note_width), style)

    def _indent(self, run_id: str) -> str:
        return "  " * (run_id.count(".") - self._root.count("."))


def _format_source(source: ContextSource) -> str:
    return f"{to_one_line(source.source, 100)} ({source.characters:,} characters)"


def _format_decision(event: NoToolFit | AnswerUngrounded) -> str:
    if isinstance(event, NoToolFit):
        return f"No tool seemed to fit ({event.probability * 100:.0f} %); use --call to have one called."
    return f"Asked again: no tool result has {', '.join([f'«{value.text}»' for value in event.values])}."


def indent_line(indent: str, text: str, width: int) -> str:
    """Return a line of notes that fits the width."""
    return indent + to_one_line(text, width - len(indent))


def format_verdict(verdict: Verdict) -> str:
    """Format a verdict in a few words."""
    match verdict:
        case Allow():
            return f"allowed by {verdict.by}"
        case Ask():
            return "needs approval"
        case Deny():
            return f"{verdict.problem} by {verdict.by}: {verdict.reason}"


def _verdict_style(verdict: Verdict) -> str:
    return {Allow: "dim", Ask: "yellow", Deny: "red"}[type(verdict)]


def format_result(result: Result) -> str:
    """Format a result in a few words."""
    return f"{result.problem}: {result.content}" if result.problem else result.content


class JsonEventPrinter:
    """Watcher that prints a run for a program: one JSON line per event."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.words = ""

    def __call__(self, event: Event) -> None:
        """Write one event."""
        value: Any = event
        if isinstance(event, RunEnded):
            value = {"event": "run_ended", "run_id": event.run_id, "result": result_to_json(event.result)}
        self._screen.line(to_terminal_json(value))

"""Tells what happens in a run, event by event: words to stdout, calls and the rest to stderr; or every event as JSON."""

from typing import Any

from treadle.cli.render import call_label, one_line, seconds, to_json
from treadle.cli.report import summary
from treadle.cli.screen import Screen
from treadle.core.calls import Allow, Ask, Deny, Result, Verdict
from treadle.core.events import (
    CallJudged,
    CallProgressed,
    CallReturned,
    CallStarted,
    Event,
    ModelAsked,
    ModelNoticed,
    ModelRetried,
    RunEnded,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)


class Teller:
    """Watches a run for a person. `says` is whether words go to stdout; without it, those before calls are notes on stderr.

    Of runs inside of it only the calls are told.
    """

    def __init__(self, screen: Screen, *, says: bool = True, thinking: bool = False) -> None:
        self._screen = screen
        self._says = says
        self._thinking = thinking
        self._root = ""
        self._labels: dict[tuple[str, str], str] = {}
        self.words = ""  # of the last reply

    def __call__(self, event: Event) -> None:
        """Tell one event."""
        if type(event) is TextArrived:
            self._hear(event)
        elif type(event) is ThinkingArrived:
            if self._thinking and event.run_id == self._root:
                self._screen.think(event.text)
        else:
            self._tell(event)

    def _hear(self, event: TextArrived) -> None:
        if event.run_id != self._root:
            return
        self.words += event.text
        if self._says:
            self._screen.say(event.text)

    def _tell(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._root = self._root or event.run_id
            case ModelAsked() if event.run_id == self._root:
                self.words = ""
                self._screen.end_line()
            case ModelRetried():
                self._screen.note(f"{one_line(event.reason, 300)} Trying again in {seconds(event.wait)}.", "yellow")
            case ModelNoticed():
                self._screen.note(one_line(event.text, 400), "yellow")
            case CallJudged():
                self._judged(event)
            case CallStarted():
                self._started(event)
            case CallProgressed():
                self._note(event.run_id, f"… {self._label(event.run_id, event.call_id)}: {event.text}")
            case CallReturned():
                self._returned(event)
            case _:
                pass

    def _judged(self, event: CallJudged) -> None:
        if not self._says and event.run_id == self._root:
            for line in self.words.strip().splitlines():
                self._screen.note(line)
            self.words = ""
        label = self._labels[event.run_id, event.call.id] = call_label(event.call.name, event.call.arguments)
        mended = f" (mended: {event.mended})" if event.mended else ""
        self._note(event.run_id, f"→ {label} {verdict_words(event.verdict)}{mended}", _style(event.verdict))

    def _started(self, event: CallStarted) -> None:
        """Told only where it isn't the call that was told already: a person changed it, or it was judged another day."""
        label = call_label(event.call.name, event.call.arguments)
        if label != self._labels.get((event.run_id, event.call.id)):
            self._labels[event.run_id, event.call.id] = label
            self._note(event.run_id, f"→ {label}")

    def _returned(self, event: CallReturned) -> None:
        label = self._label(event.run_id, event.result.call_id)
        took = "cached" if event.cached else seconds(event.seconds)
        style = "red" if event.result.problem else "dim"
        self._note(event.run_id, f"← {label} {took}: {result_words(event.result)}", style)

    def _label(self, run_id: str, call_id: str) -> str:
        return self._labels.get((run_id, call_id), call_id)

    def _note(self, run_id: str, text: str, style: str = "dim") -> None:
        """A line, indented by how deep inside the run it happened."""
        deep = "  " * (run_id.count(".") - self._root.count("."))
        self._screen.note(one_line_indented(deep, text, self._screen.note_width), style)


def one_line_indented(indent: str, text: str, width: int) -> str:
    """A line of notes that fits."""
    return indent + one_line(text, width - len(indent))


def verdict_words(verdict: Verdict) -> str:
    """What was decided, in a few words."""
    match verdict:
        case Allow():
            return f"allowed by {verdict.by}"
        case Ask():
            return "needs approval"
        case Deny():
            return f"{verdict.problem} by {verdict.by}: {verdict.reason}"


def _style(verdict: Verdict) -> str:
    return {Allow: "dim", Ask: "yellow", Deny: "red"}[type(verdict)]


def result_words(result: Result) -> str:
    """What came back, in a few words."""
    return f"{result.problem}: {result.content}" if result.problem else result.content


class EventLines:
    """Watches a run for a program: a line of JSON an event."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.words = ""

    def __call__(self, event: Event) -> None:
        """Write one event."""
        value: Any = event
        if isinstance(event, RunEnded):
            value = {"event": "run_ended", "run_id": event.run_id, "result": summary(event.result)}
        self._screen.line(to_json(value))

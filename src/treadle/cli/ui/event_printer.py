"""Print a run's events: text to stdout, calls and the rest to stderr; or every event as JSON."""

from typing import Any

from treadle.cli.ui.render import (
    fit_columns,
    fit_lines,
    fold_line,
    format_call,
    format_count,
    format_seconds,
    to_one_line,
    to_terminal_json,
)
from treadle.cli.ui.report import result_to_json
from treadle.cli.ui.screen import Screen
from treadle.core.calls import Allow, Ask, Deny, ProblemKind, Result, Verdict
from treadle.core.events import (
    AnswerUngrounded,
    ApprovalNeeded,
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

CallKey = tuple[str, str]  # the run and the call
MAX_REASON = 8  # lines of why a call wasn't run, or failed
MAX_LINE = 500  # columns of each


class EventPrinter:
    """Watcher that prints a run for a person.

    `says` sends text to stdout; without it, text before calls is printed as notes on stderr. `asks` says that a person is asked
    about calls that need approval, and sees them then. Of nested runs only the calls are shown.

    At a terminal a call and what it returned are one line where that is short, and aren't named again in the lines below. With
    `verbose`, and where notes don't go to a terminal, each has a line of its own, and that of a call has the rule that allows it.
    """

    def __init__(
        self, screen: Screen, *, says: bool = True, thinking: bool = False, verbose: bool = False, asks: bool = False
    ) -> None:
        self._screen = screen
        self._says = says
        self._thinking = thinking
        self._is_brief = screen.notes_on_terminal and not verbose
        self._asks = asks
        self._root = ""
        self._labels: dict[CallKey, str] = {}
        self._open: dict[CallKey, str] = {}  # the names of calls that have a line, and haven't returned
        self._run_id = ""  # of the last call
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
                self._screen.release_held()
                self._screen.end_line()
            case ModelRetried():
                self._screen.note(f"{to_one_line(event.reason, 300)} Trying again in {format_seconds(event.wait)}.", "yellow")
            case ModelNoticed():
                self._screen.note(to_one_line(event.text, 400), "yellow")
            case ContextLoaded():
                self._tell(event.run_id, f"Read {', '.join(map(_format_source, event.sources))}.")
            case MessageDelivered() if event.run_id == self._root:
                self._screen.note(f"» {to_one_line(event.text, 300)}")
            case NoToolFit() | AnswerUngrounded():
                self._tell(event.run_id, _format_decision(event), "yellow")
            case CallJudged():
                self._on_judged(event)
            case ApprovalNeeded() if self._is_brief and self._asks:
                self._open[event.run_id, event.call.id] = event.call.name  # the question shows it
            case CallStarted():
                self._on_started(event)
            case CallProgressed():
                self._note_call("…", (event.run_id, event.call_id), ": ", "", event.text)
            case CallRetried():
                again = f"{event.reason} Trying again in {format_seconds(event.wait)}."
                self._note_call("…", (event.run_id, event.call_id), ": ", "", again)
            case CallReturned():
                self._on_returned(event)
            case _:
                pass

    def _on_judged(self, event: CallJudged) -> None:
        if not self._says and event.run_id == self._root:
            for line in self.words.strip().splitlines():
                self._screen.note(line)
            self.words = ""
        key, verdict = (event.run_id, event.call.id), event.verdict
        self._labels[key] = format_call(event.call.name, event.call.arguments)
        mended = f" (mended: {event.mended})" if event.mended else ""
        match verdict:
            case Allow():  # by which rule is of less interest than the call
                self._begin_call(key, event.call.name, mended if self._is_brief else f" {format_verdict(verdict)}{mended}")
            case Ask():
                if not (self._is_brief and self._asks):
                    self._open[key] = event.call.name
                    self._note_call("→", key, " ", "", f"{format_verdict(verdict)}{mended}", "yellow", named=True)
            case Deny():
                brief = f"{_to_words(verdict.problem)}: {verdict.reason}"
                words = brief if self._is_brief and verdict.reason else format_verdict(verdict).removesuffix(": ")
                self._note_reason("→", key, f"{words}{mended}", named=True)

    def _begin_call(self, key: CallKey, name: str, words: str = "") -> None:
        """Print a call that runs; at a terminal only when something else is printed, or it has returned."""
        self._enter_run(key[0])
        self._open[key] = name
        line = indent_line(self._indent(key[0]), f"→ {self._labels[key]}{words}", self._screen.note_width)
        if self._is_brief:
            self._screen.hold_note(key, line)
        else:
            self._screen.note(line)

    def _enter_run(self, run_id: str) -> None:
        """Print what is held where a call of another run comes next: it may be inside of one that is held."""
        if run_id != self._run_id:
            self._run_id = run_id
            self._screen.release_held()

    def _on_started(self, event: CallStarted) -> None:
        """Print a started call only if it differs from the one already printed: it was edited, or was judged in another session."""
        key, label = (event.run_id, event.call.id), format_call(event.call.name, event.call.arguments)
        if label != self._labels.get(key):
            self._labels[key] = label
            self._begin_call(key, event.call.name)

    def _on_returned(self, event: CallReturned) -> None:
        key, result = (event.run_id, event.result.call_id), event.result
        took = "cached" if event.cached else format_seconds(event.seconds)
        self._enter_run(key[0])
        if not self._is_brief:
            self._note_call("←", key, " ", f"{took}: ", format_result(result), "red" if result.problem else "dim")
        elif result.problem:
            self._screen.replace_held(key)
            self._note_reason("←", key, f"{took}: {_to_words(result.problem)}: {result.content}")
        elif not self._finish_line(key, f" ← {took}: {fit_lines(summarize_result(result), self._screen.note_width)}"):
            self._note_call("←", key, " ", f"{took}: ", summarize_result(result))
        self._open.pop(key, None)

    def _finish_line(self, key: CallKey, words: str) -> bool:
        """Print a call and what it returned as one line, where both fit and it has no line yet. Return whether they are printed."""
        line = f"{self._indent(key[0])}→ {self._labels.get(key, key[1])}{words}"
        fits = display_width(line) <= self._screen.note_width
        if self._screen.replace_held(key, line if fits else ""):
            return fits
        if fits and key not in self._open and self._screen.topic != key:  # it was approved, and something else came in between
            self._screen.note(line, topic=key)
            return True
        return False

    def _label_again(self, key: CallKey) -> str:
        """Return what a further line about a call names it: nothing below its own, its tool where no other call has that."""
        if self._is_brief and self._screen.topic == key:
            return ""
        name = self._open.get(key, "")
        is_known = self._is_brief and name and list(self._open.values()).count(name) == 1
        return name if is_known else self._labels.get(key, key[1])

    def _note_call(
        self, mark: str, key: CallKey, between: str, begins: str, words: str, style: str = "dim", *, named: bool = False
    ) -> None:
        """Print a line about a call. Where both don't fit, the call may be cut to a third, so that its outcome is seen."""
        self._enter_run(key[0])
        self._screen.replace_held(key)
        label = self._labels[key] if named else self._label_again(key)
        between = between if label else ""
        room = self._screen.note_width - len(self._indent(key[0])) - len(f"{mark} {between}{begins}")
        label = fit_columns(label, max(room - display_width(fit_lines(words, room)), room // 3))
        self._note(key, f"{mark} {label}{between}{begins}{fit_lines(words, room - display_width(label))}", style)

    def _note_reason(self, mark: str, key: CallKey, words: str, *, named: bool = False) -> None:
        """Print why a call wasn't run, or failed: on the line of the call as far as that fits, and on lines below it."""
        self._enter_run(key[0])
        label = self._labels[key] if named else self._label_again(key)
        indent, width = self._indent(key[0]), self._screen.note_width
        first, *more = [to_one_line(line, MAX_LINE) for line in words.splitlines() if line.strip()]
        head = f"{indent}{mark} {label} {first}" if label else f"{indent}{mark} {first}"
        if label and display_width(head) > width:
            head, more = indent_line(indent, f"{mark} {label}", width), [first, *more]
        lines = fold_line(head, width, f"{indent}  ")
        for line in more:
            lines += fold_line(f"{indent}  {line}", width, f"{indent}    ")
        if len(lines) > MAX_REASON:
            lines[MAX_REASON:] = [f"{indent}  [{format_count(len(lines) - MAX_REASON, 'more line')}]"]
        for line in lines:
            self._screen.note(line, "red", topic=key)

    def _note(self, key: CallKey, text: str, style: str = "dim") -> None:
        """Print a line about a call, indented by the nesting depth of its run."""
        self._screen.note(indent_line(self._indent(key[0]), text, self._screen.note_width), style, topic=key)

    def _tell(self, run_id: str, text: str, style: str = "dim") -> None:
        """Print another line, indented likewise."""
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
    """Format a verdict in a few words, with the rule."""
    match verdict:
        case Allow():
            return f"allowed by {verdict.by}"
        case Ask():
            return "needs approval"
        case Deny():
            return f"{verdict.problem} by {verdict.by}: {verdict.reason}"


def _to_words(problem: ProblemKind) -> str:
    """Return the kind of a problem in words."""
    return problem.replace("_", " ")


def format_result(result: Result) -> str:
    """Format a result in a few words."""
    return f"{result.problem}: {result.content}" if result.problem else result.content


def summarize_result(result: Result) -> str:
    """Return what a call returned: how much of a file or of a search, or the text itself."""
    match result.data:
        case {"text": str(), "start": int(start), "end": int(end), "total": int(total)} if total:  # of `FileLines`
            return format_count(total, "line") if (start, end) == (1, total) else f"lines {start} to {end} of {total:,}"
        case {"hits": [_, *_] as hits, "more": bool(more)}:  # of `GrepResult`
            files = {hit["path"] for hit in hits}
            return f"{_format_found(len(hits), 'match', 'matches', more=more)} in {format_count(len(files), 'file')}"
        case {"paths": [_, *_] as paths, "more": bool(more)}:  # of `FileNames`
            return _format_found(len(paths), "file", "files", more=more)
        case _:
            return result.content


def _format_found(count: int, one: str, many: str, *, more: bool) -> str:
    return f"{count:,} or more {many}" if more else format_count(count, one, many)


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

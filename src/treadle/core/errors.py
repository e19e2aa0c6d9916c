"""Everything Treadle raises, for developers; each message is a sentence that says what to do.

    TreadleError
    ├── SettingsError            something was set up wrongly
    │   ├── UnknownModel
    │   ├── MissingKey
    │   ├── BadTool
    │   ├── BadPrompt
    │   └── BadMedia             an image, a recording or a document that can't be used, or that the model doesn't take
    ├── ModelError               a model's server; `retryable` says whether another try may help
    │   ├── ModelUnavailable     not there, overloaded, too many requests, timed out
    │   ├── ModelRefused         400, 401, 403, 404 and the like
    │   │   ├── AllowanceSpent   what a user of the server may spend is spent
    │   │   ├── ToolsRefused     this server takes no tools
    │   │   └── WrongWire        this model is asked over another API of its provider
    │   ├── ContextTooLong       more than the model can read
    │   ├── ReplyBroken          the reply stopped in the middle
    │   └── RecordingDeparted    a replay met a request that wasn't recorded
    ├── PullFailed               a local model could not be fetched or removed
    ├── JournalError
    │   ├── RunNotFound
    │   ├── RunTaken             another process carries this run on
    │   ├── JournalDamaged
    │   ├── MediaMissing         the bytes of an image, a recording or a document aren't kept here
    │   └── WrongKey             encrypted with a key that isn't here
    ├── ContextNotFound          what a conversation is to be about isn't there, or isn't this person's
    ├── ApprovalError            nothing to answer, expired, not what was asked, or other arguments than were shown
    ├── EventError               an event that can't be sent
    │   └── EventNotAwaited      no call waits for it
    └── RunStopped               raised by `result.output` of a run that has no answer; `result` is that result
        ├── RunWaiting           a call of it waits for a person, a time or an event
        ├── LimitReached         it stopped at a limit
        ├── RunCancelled
        └── RunFailed

What a *model* did wrong is never one of these: it gets a result with a problem. `ToolProblem` is for authors of tools; what they
wait for and doesn't come is an `EventTimeout`, which is one, and so is `BadArguments`.
"""

from typing import Any, ClassVar

from treadle.core.requests import Usage


class TreadleError(Exception):
    """The root of the tree."""


class SettingsError(TreadleError):
    """Something was set up wrongly."""


class UnknownModel(SettingsError):
    """No model by that name."""


class MissingKey(SettingsError):
    """A model needs a key that isn't set."""


class BadTool(SettingsError):
    """A function or description that can't be a tool."""


class BadPrompt(SettingsError):
    """An invalid prompt, such as an empty one."""


class BadMedia(SettingsError):
    """An image, a recording or a document that can't be used, or that the model doesn't take."""


class ModelError(TreadleError):
    """A model's server failed or refused."""

    retryable: ClassVar[bool] = False

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None, usage: Usage | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.usage = usage  # what was paid for all the same
        self.said: Any = None  # the server's message and its error object, for repairing the request


class ModelUnavailable(ModelError):
    """Not there, overloaded, too many requests, timed out: another try may help."""

    retryable = True


class ModelRefused(ModelError):
    """The server understood the request and rejected it."""


class AllowanceSpent(ModelRefused):
    """What a user may spend is spent: another model isn't asked instead."""


class ToolsRefused(ModelRefused):
    """This server takes no tools; the model may still call them in text."""


class WrongWire(ModelRefused):
    """This model needs another API of its provider: OpenAI's Responses instead of chat completions."""


class ContextTooLong(ModelRefused):
    """More than the model's context."""


class ReplyBroken(ModelError):
    """The reply stopped in the middle: another try may help."""

    retryable = True


class RecordingDeparted(ModelError):
    """A replay met a request that wasn't recorded."""


class PullFailed(TreadleError):
    """A local model could not be fetched or removed."""


class JournalError(TreadleError):
    """A journal can't be read or written."""


class RunNotFound(JournalError):
    """No run by that id."""


class RunTaken(JournalError):
    """Another process has written to this run since it was read."""


class JournalDamaged(JournalError):
    """The file is there, but isn't what was written."""


class MediaMissing(JournalError):
    """The bytes of an image, a recording or a document aren't stored here."""


class WrongKey(JournalError):
    """It was encrypted with a key that isn't available."""


class ContextNotFound(TreadleError):
    """The subject of a conversation, such as a project, doesn't exist, or isn't this user's."""


class ApprovalError(TreadleError):
    """Nothing to answer, expired, not what was asked, or other arguments than were shown."""


class EventError(TreadleError):
    """An event that can't be sent: its name, key or value isn't valid."""


class EventNotAwaited(EventError):
    """No call waits for this event."""


class RunStopped(TreadleError):
    """A run has no answer: it waits, or ended without one. `result` is its `RunResult`."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class RunWaiting(RunStopped):
    """A run waits: for a person (`result.approvals` are the calls in question), for a time, or for an event."""


class LimitReached(RunStopped):
    """A run stopped at a limit."""


class RunCancelled(RunStopped):
    """A run was cancelled."""


class RunFailed(RunStopped):
    """A run failed."""


class ToolProblem(Exception):
    """Raise it in a tool to tell the model what went wrong, in your own words; it may then try again.

    `quote` is text from an untrusted source, for example a server. It follows your words, and the model is
    told that it is data. `data` is for code: it becomes that of the call's result. `refused_by` is set where a
    tool has called another one (`ctx.call`), and a person refused that call: their name.
    """

    words: str = ""  # what a subclass that leaves `__init__` out has
    quote: str = ""
    data: Any = None
    refused_by: str = ""

    def __init__(self, words: object = "", quote: str = "", *, data: Any = None, refused_by: str = "") -> None:
        super().__init__(f"{words}{quote}")
        self.words = str(words)
        self.quote = quote
        self.data = data
        self.refused_by = refused_by


class BadArguments(ToolProblem):
    """Arguments that fit a tool's schema, and can't be converted to what the tool takes. The tool wasn't called."""


class EventTimeout(ToolProblem):
    """An event that a tool waited for hasn't come in time."""

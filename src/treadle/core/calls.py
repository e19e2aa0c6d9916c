"""A call at each stage: as the model wrote it, as it was read, the verdict, and the result.

Values only. Reading a written call is in `tools.validate`, judging in `guard.policy`, execution in `engine.perform`.
"""

from typing import Any, Literal

from msgspec import Struct, field

Effect = Literal["read", "write", "destroy"]
Retry = Literal["read", "idempotent", "keyed", "checkable", "once"]
Trust = Literal["trusted", "untrusted"]

REPEATABLE: frozenset[Retry] = frozenset(("read", "idempotent", "keyed"))  # a call that may run again, whatever became of it
MediaKind = Literal["image", "audio", "document"]
Settling = Literal[
    "happened",  # it took effect, and never runs again
    "not_happened",  # it didn't, and isn't run again unless the model asks for it once more
    "again",  # it is run again
]

ProblemKind = Literal[
    "unknown_tool",  # no such tool
    "unreadable",  # arguments that are no JSON, however mended
    "cut_off",  # arguments that end in the middle
    "invalid",  # arguments that don't fit the tool
    "denied",  # by policy or by a person
    "limit",  # beyond a limit
    "repeat",  # the same call once too often
    "raised",  # the tool failed
    "timeout",  # the tool took too long
    "interrupted",  # the process died during the call; it may have taken effect
    "cancelled",  # the run was cancelled before or during the call
]


class Opaque(Struct, frozen=True, gc=False, tag_field="part", tag="opaque"):
    """Provider data that isn't interpreted here: a reasoning item, a thought signature, a block of a server's own tool.

    `json` is sent back byte for byte in the next request on the same `wire`, and is left out on any other.
    """

    wire: str
    json: str


class Written(Struct, frozen=True, gc=False, tag_field="part", tag="written", omit_defaults=True):
    """A call as the model wrote it: `text` should be a JSON object. `cut` says that the reply ended inside it.

    `problem` is the message to the model about a call that can't run as written.
    """

    id: str
    name: str
    text: str
    cut: bool = False
    opaque: Opaque | None = None
    problem: str = ""


class Preview(Struct, frozen=True):
    """What a call would do. A tool whose `ctx.seal` is no longer true must not do it: something has changed.

    `covers` names the arguments of which the text shows everything, so that a person needn't read them beside it as well.
    """

    text: str
    seal: str = ""
    covers: tuple[str, ...] = ()


class Media(Struct, frozen=True, gc=False, tag_field="part", tag="media", omit_defaults=True):
    """A picture, a recording or a document. Its bytes are stored once, by their hash, outside the journal's lines (`Blobs`)."""

    media_type: str
    sha256: str
    size: int
    name: str = ""

    @property
    def kind(self) -> MediaKind:
        """The kind of media."""
        return media_kind(self.media_type)

    @property
    def label(self) -> str:
        """The label in place of media that can't be shown: `[image diagram.png]`."""
        return media_label(self.media_type, self.name)

    @property
    def is_text(self) -> bool:
        """Whether it is a plain text document, which any model can read as such."""
        return self.media_type.startswith("text/")


def media_kind(media_type: str) -> MediaKind:
    """Return the kind of media of this type."""
    family = media_type.partition("/")[0]
    return "image" if family == "image" else "audio" if family == "audio" else "document"


def media_label(media_type: str, name: str) -> str:
    """Return the label in place of media that can't be shown."""
    return f"[{media_kind(media_type)} {name or media_type}]"


class Call(Struct, frozen=True, gc=False, tag_field="part", tag="call", omit_defaults=True):
    """A call as it was read: arguments that fit the tool (or, where they could not be read, none)."""

    id: str
    name: str
    arguments: dict[str, Any]
    opaque: Opaque | None = None


class Result(Struct, frozen=True, gc=False, tag_field="part", tag="result", omit_defaults=True):
    """The result of one call. A `problem` says which kind of thing went wrong.

    content     the text that is for the model; where it is `untrusted`, a model reads it between marks (`guard.trust`)
    data        the JSON value behind the text, for code; None where there is none, or where it was too large to be kept
    structured  the tool returned fields, not a text: what is in one field can't pose as another
    quoted      how many characters at the end of a problem's content are from an untrusted source
    note        what the engine adds for the model alone
    about       what untrusted content is, for the model, in place of the sentence that it is data to be read only
    """

    call_id: str
    name: str
    content: str
    # Clients of the HTTP API read these without asking whether they are there: a factory's value is always written.
    problem: ProblemKind | None = field(default_factory=lambda: None)
    untrusted: bool = field(default_factory=bool)
    structured: bool = field(default_factory=bool)
    media: tuple[Media, ...] = field(default_factory=lambda: ())
    data: Any = None
    quoted: int = 0
    note: str = ""
    about: str = ""


class WaitRequest(Struct, frozen=True, omit_defaults=True):
    """What a tool waits for: `seconds` from now on, or `until` a time; or an event, for so long at most.

    A tool that returns one has no result yet: that is the time at which the wait is over, or the value of the event.
    """

    seconds: float | None = None
    until: float | None = None
    event: str = ""
    key: str = ""


class Wait(Struct, frozen=True, omit_defaults=True):
    """What a call waits for: a time (seconds since 1970), or an event until that time; `until` is None where there is no end."""

    until: float | None = None
    event: str = ""
    key: str = ""
    seconds: float | None = None  # as requested, where that was from the beginning of the wait on


class Delivery(Struct, frozen=True, omit_defaults=True):
    """The value of an event that a call waited for, and who sent it. Where that isn't the user, the value is untrusted."""

    value: Any = None
    sender: str = ""
    from_user: bool = False


class Allow(Struct, frozen=True, gc=False, tag_field="verdict", tag="allow"):
    """The call may run. `by` names the rule, limit or person that decided."""

    by: str = "default"
    reason: str = ""


class Deny(Struct, frozen=True, gc=False, tag_field="verdict", tag="deny"):
    """The call does not run; the model reads `reason`. `problem` is the kind of its result."""

    by: str = "default"
    reason: str = ""
    problem: ProblemKind = "denied"


class Ask(Struct, frozen=True, gc=False, tag_field="verdict", tag="ask"):
    """A user must approve the call first."""

    by: str = "default"
    reason: str = ""


Verdict = Allow | Deny | Ask

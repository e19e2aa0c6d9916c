"""The lines of a journal: what happened in a run, in order. A run is the fold of these (`loop.state`).

This is a file format. Every entry has a `kind` and a version `v`; new fields get defaults, so old journals still replay.
Text deltas are not entries, and nothing here is decided again on replay.
"""

from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Media, Result, Settling, Verdict, Wait
from treadle.core.errors import JournalDamaged
from treadle.core.grants import Grant, GrantTerms
from treadle.core.messages import ContextItem, Message, Part, Quote, ReplyPart, Summary, Text
from treadle.core.requests import Finish, ToolDecision, Usage

VERSION = 2  # 1 had untrusted content between the marks that a model reads it with

Stopped = Literal["answered", "limit", "waiting", "cancelled", "failed"]


ValueKind = Literal["number", "time", "date", "name", "id", "quote"]


class UngroundedValue(Struct, frozen=True, gc=False):
    """A value of an answer, from `start` to `end`, that is in no tool result, no message and no instruction."""

    start: int
    end: int
    text: str
    kind: ValueKind


def to_microseconds(seconds: float) -> float:
    """Return a duration to the microsecond, as it is journaled. `round` takes three times as long."""
    return int(seconds * 1e6 + 0.5) / 1e6


class _Entry(Struct, frozen=True, gc=False, tag_field="kind", kw_only=True, omit_defaults=True):
    at: float = 0.0  # seconds since 1970, by the engine's clock
    v: int = VERSION


class Opened(_Entry, frozen=True, tag="opened"):
    """A run began. `origin` is what a face needs to set the same agent up again, in its own words.

    `within` is the call of the run `parent` that a nested run is carried out in. `tainted` is that the run it is inside of
    had read untrusted content before it asked for this one.
    """

    agent: str = ""
    model: str = ""
    user: str = ""
    parent: str = ""
    within: str = ""
    origin: dict[str, Any] = {}
    history: tuple[Message, ...] = ()
    tainted: bool = False


class Said(_Entry, frozen=True, tag="said"):
    """A person said something: a turn begins. `parts` has all of it where it is more than words; `text` then has labels.

    `id` is the sender's own, by which the same message is recognized if it is sent again; empty where there is none.
    """

    text: str
    parts: tuple[Text | Quote | Media, ...] = ()
    id: str = ""


class Steered(_Entry, frozen=True, tag="steered"):
    """The user sent a message while a turn was running. The model doesn't read it before it is `Delivered`.

    `text` and `parts` are as in `Said`. An `id` that the run has already is the same message, sent again.
    """

    id: str
    text: str
    parts: tuple[Text | Quote | Media, ...] = ()


class Delivered(_Entry, frozen=True, tag="delivered"):
    """The steering messages with these ids joined the conversation, between two rounds."""

    message_ids: tuple[str, ...]


class Informed(_Entry, frozen=True, tag="informed"):
    """The context of an agent was loaded: what its model reads with the instructions, from now on and unchanged."""

    agent: str
    items: tuple[ContextItem, ...] = ()


class Replied(_Entry, frozen=True, tag="replied"):
    """The model replied. A reply may come in pieces: `more` says that this one isn't the last.

    `last` says that it was asked for an answer without tools, so calls in it don't count. `notices` say what people should know
    about how it came about. `seconds` is how long it took, from the request on. `continues` says that it was cut at the output
    limit, and that the next reply has the rest of it. `decision` is whether a model that was asked first if a tool fits called one.
    """

    parts: tuple[ReplyPart, ...]
    more: bool = False
    last: bool = False
    finish: Finish = "done"
    usage: Usage = Usage()
    model: str = ""
    notices: tuple[str, ...] = ()
    seconds: float = 0.0
    continues: bool = False
    decision: ToolDecision | None = None


class Called(_Entry, frozen=True, tag="called"):
    """A running tool asked for another tool; `within` is its own call.

    Of a tool that works in the `background`, it is the work itself: `within` is the model's call, which has returned already.
    """

    call: Call
    within: str
    background: bool = False


class Judged(_Entry, frozen=True, tag="judged"):
    """A call was read and judged. `call` is what will run; `mended` says what was put right; `note` is added to its result.

    `partial` are the arguments of a call that was cut at the output limit, as far as they came: another call may send the rest.
    `grant` is the remembered approval that the verdict is by. `terms` are what an answer can be remembered for, where a person is
    asked; without them, only this call can be approved.
    """

    call: Call
    verdict: Verdict
    mended: str = ""
    note: str = ""
    partial: str = ""
    grant: Grant | None = None
    terms: GrantTerms | None = None


class Previewed(_Entry, frozen=True, tag="previewed"):
    """What a call would do, for the person who is asked about it. `seal` stands for what that was found out from.

    `covers` names the arguments of which the text shows everything.
    """

    call_id: str
    text: str = ""
    seal: str = ""
    covers: tuple[str, ...] = ()


class Approved(_Entry, frozen=True, tag="approved"):
    """A person approved a call: exactly these arguments, by their digest, unless they edited them.

    `grant` is what they allowed besides, for this conversation or always. `covered` is the id of the grant that answered in their
    place, given after the call was judged.
    """

    call_id: str
    by: str = ""
    digest: str = ""
    arguments: dict[str, Any] | None = None
    grant: Grant | None = None
    covered: str = ""


class Refused(_Entry, frozen=True, tag="refused"):
    """A person said no; the model reads why."""

    call_id: str
    by: str = ""
    reason: str = ""


class Started(_Entry, frozen=True, tag="started"):
    """A call with an effect is about to be carried out. Written, and safe on disk, before it is."""

    call_id: str
    key: str = ""
    attempt: int = 1


class Unclear(_Entry, frozen=True, tag="unclear"):
    """A call had begun when its process died, and nothing here can tell whether it took effect: a person is asked."""

    call_id: str
    reason: str = ""


class Settled(_Entry, frozen=True, tag="settled"):
    """A person reported the outcome of an unclear call; `words` are theirs, for the model."""

    call_id: str
    said: Settling
    by: str = ""
    words: str = ""


class Returned(_Entry, frozen=True, tag="returned"):
    """A call came back.

    `seconds` is how long it took, `cached` that it wasn't carried out again, `usage` what nested runs spent in it,
    `kept` where the whole of a shortened result is, `revealed` which tools it showed the model, `final` that its arguments
    are the answer of the run, or `output` is, where a function or a validator made another one of them. `rejected` says that it
    is an answer that was rejected, `about` has the call in the background whose result it has. `handoff` is the agent that goes
    on with the run after this round. `waited` says that the call had been waiting for a time or an event (`Awaited`).
    """

    result: Result
    seconds: float = 0.0
    cached: bool = False
    usage: Usage = Usage()
    kept: str = ""
    revealed: tuple[str, ...] = ()
    final: bool = False
    about: tuple[str, ...] = ()
    output: dict[str, Any] | str | None = None
    rejected: bool = False
    handoff: str = ""
    waited: bool = False


class Awaited(_Entry, frozen=True, tag="awaited"):
    """A call waits for a time or an event: its result follows then.

    With `within`, it is a wait in the middle of a tool's work: `within` is the tool's own call, which is carried out anew once
    the wait is over.
    """

    call_id: str
    wait: Wait
    within: str = ""


class Woken(_Entry, frozen=True, tag="woken"):
    """A wait in the middle of a tool's work is over. `result` has the event's value, or that none came in time."""

    result: Result


class Noted(_Entry, frozen=True, tag="noted"):
    """The engine has something to tell the model with the next request, and only then; nothing, if time ran out.

    `about` are the calls in the background that it says have ended. `ungrounded` are the values for which the answer before it is
    asked for again.
    """

    text: str
    usage: Usage = Usage()  # of a request that was given up
    about: tuple[str, ...] = ()
    ungrounded: tuple[UngroundedValue, ...] = ()


class Shortened(_Entry, frozen=True, tag="shortened"):
    """The conversation outgrew the model; the results of these calls were shortened in what it reads."""

    call_ids: tuple[str, ...]


class Compacted(_Entry, frozen=True, tag="compacted"):
    """The conversation outgrew the model: `summary` stands for the first `messages` messages in what it reads from now on."""

    messages: int
    summary: Summary
    reason: Literal["window", "requested"] = "window"
    model: str = ""  # that wrote the notes; empty where they are an outline made without one
    usage: Usage = Usage()


class Overflowed(_Entry, frozen=True, tag="overflowed"):
    """The model's server refused a request as too long; `size` is that of the history, in characters."""

    size: int
    reason: str = ""
    usage: Usage = Usage()


class Resumed(_Entry, frozen=True, tag="resumed"):
    """The run was taken up again, by another process or after a wait."""


class Forked(_Entry, frozen=True, tag="forked"):
    """This run goes on from a copy of another one's first entries."""

    run_id: str
    entries: int


class Finished(_Entry, frozen=True, tag="finished"):
    """The turn is over: how, with the model's last words, and why where it isn't an answer.

    `output` is the structured answer, an object; or a text that was accepted in its place. `limit` is the field of `Limits` that it
    stopped at. `ungrounded` are the values of `text` that nothing vouches for, also after it was asked for again. A turn that was
    `interrupted` is cancelled for now: its calls are left as they are, and it can be resumed. `running` has the calls that were cut
    off then, and the seconds that each had taken. One that waits and is `asleep` waits for a time or an event, and for no person.
    """

    stopped: Stopped
    text: str = ""
    output: Any = None
    reason: str = ""
    limit: str = ""
    usage: Usage = Usage()  # of requests that brought no reply
    ungrounded: tuple[UngroundedValue, ...] = ()
    interrupted: bool = False
    running: dict[str, float] = {}
    asleep: bool = False

    @property
    def resumable(self) -> bool:
        """Whether `resume` goes on with the turn; otherwise it is over."""
        return self.interrupted or self.stopped in ("waiting", "failed")


Entry = (
    Opened
    | Said
    | Steered
    | Delivered
    | Informed
    | Replied
    | Called
    | Judged
    | Previewed
    | Approved
    | Refused
    | Started
    | Unclear
    | Settled
    | Returned
    | Awaited
    | Woken
    | Noted
    | Shortened
    | Compacted
    | Overflowed
    | Resumed
    | Forked
    | Finished
)

_encoder = msgspec.json.Encoder()


@cache
def _make_decoder() -> msgspec.json.Decoder[Entry]:
    """Return the decoder of entries. It takes a while to make, and runs without a journal decode none."""
    return msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """One line of the journal. The version is always written out, so that a later default can't change what a line means."""
    return b'{"v":%d,' % entry.v + _encoder.encode(entry)[1:]


def decode(line: bytes | str) -> Entry:
    """The entry of one line. One that a newer Treadle wrote is refused, never half understood."""
    try:
        entry = _make_decoder().decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JournalDamaged(f"A line of the journal can't be read: {error}") from error
    if entry.v > VERSION:
        known = f"format {entry.v}, this one knows {VERSION}"
        raise JournalDamaged(f"This journal was written by a newer Treadle ({known}); update Treadle to read it.")
    return _upgrade(entry) if entry.v < VERSION else entry


def _upgrade(entry: Entry) -> Entry:
    """Return an entry of an older format as one of this format."""
    match entry:
        case Returned() if entry.result.untrusted:
            return replace(entry, result=_without_marks(entry.result), v=VERSION)
        case Opened() if entry.history:
            return replace(entry, history=upgrade_messages(entry.history), v=VERSION)
        case _:
            return replace(entry, v=VERSION)


def upgrade_messages(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return messages of an older format as ones of this format."""
    return tuple([replace(message, parts=tuple(map(_without_marks, message.parts))) for message in messages])


def _without_marks(part: Part) -> Any:
    """Return a result of format 1 with its content alone: that was from the fourth line to the last but one."""
    if not isinstance(part, Result) or not part.untrusted:
        return part
    lines = part.content.split("\n")
    marked = len(lines) > 4 and lines[0].startswith("<untrusted-") and lines[-1].startswith("</untrusted-")
    return replace(part, content="\n".join(lines[3:-1])) if marked else part

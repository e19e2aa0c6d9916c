"""A turn as either wire asks for it: the conversation in our own words, the caller's tools, how to write. Values, and their checks.

How a wire spells it is the business of the wire; how it is carried out, the `desk`'s.
"""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Media, Result
from treadle.core.media import Prompt
from treadle.core.messages import Message, Text
from treadle.core.requests import Options, ToolSpec
from treadle.server.wires.foreign import Handle, handle_of
from treadle.server.wires.refused import Refused

GO_ON = "Go on with these results."  # where a conversation that we don't know ends with them


class Asked(Struct, frozen=True):
    """A turn.

    model         the model as the caller names it: an assistant, perhaps `@` a model for it
    messages      what was said so far; the last is a person's, or the tools'
    instructions  the caller's own, which come after the assistant's
    tools         the caller's own, carried out by the caller
    choice        which of these the model may call, and whether it has to
    shape         a JSON schema that the answer has to fit
    wire          which wire it came by
    media         the bytes of what is in the messages besides words, by their hashes
    """

    model: str
    messages: tuple[Message, ...]
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    choice: "Choice | None" = None
    options: Options = Options()
    shape: dict[str, object] | None = None
    wire: str = ""
    media: dict[str, bytes] = {}

    @property
    def before(self) -> tuple[Message, ...]:
        """What was said before what is said now."""
        said = self.messages if self.messages[-1].role == "tools" else self.messages[:-1]
        return tuple([_with_labels(message) if message.role == "tools" else message for message in said])

    @property
    def prompt(self) -> Prompt:
        """What is said now."""
        last = self.messages[-1]
        if last.role == "tools":
            return GO_ON
        if not _shows(last):
            return last.text
        return [part.text if isinstance(part, Text) else part for part in last.parts if isinstance(part, Text | Media)]


def _with_labels(message: Message) -> Message:
    """Results with the labels of what they show, as our own have them: not every model sees more than that."""
    results = [part for part in message.parts if isinstance(part, Result)]
    return Message("tools", tuple([replace(each, content=_content(each)) for each in results]))


def _content(result: Result) -> str:
    return "\n".join(filter(None, [result.content, *[media.label for media in result.media]]))


def _shows(message: Message) -> bool:
    """Whether a person shows something besides what they say."""
    return any(isinstance(part, Media) for part in message.parts)


class Choice(Struct, frozen=True):
    """Which of the caller's tools the model may call, and whether it has to call one."""

    names: tuple[str, ...]
    must: bool = False


class Batch(Struct, frozen=True):
    """Results that a caller brings to calls of a run: by the marks of the calls, with what a person said besides."""

    run_id: str
    results: dict[str, Result]
    words: str = ""

    def mark(self, call_mark: str) -> str:
        """What tells the same result, brought again, from another one."""
        result = self.results[call_mark]
        said = (result.content, result.problem, self.words, *[media.sha256 for media in result.media])
        return sha256(repr(said).encode(errors="surrogatepass")).hexdigest()[:16]


def batch_of(messages: Sequence[Message]) -> Batch | None:
    """The results at the end of a conversation, if they are of calls that one of our runs may have handed over.

    What a person shows beside them can't be brought to a run that waits, so that makes the conversation one of its own.
    """
    at = next((at for at in reversed(range(len(messages))) if messages[at].role != "person"), 0)
    if messages[at].role != "tools" or any(_shows(message) for message in messages[at + 1 :]):
        return None
    results = [part for part in messages[at].parts if isinstance(part, Result)]
    handles = [handle_of(result.call_id) for result in results]
    runs = {handle.run_id for handle in handles if handle is not None}
    if None in handles or len(runs) != 1:
        return None
    run_id = runs.pop()
    brought = {handle.mark: result for handle, result in zip(handles, results, strict=True) if handle is not None}
    return Batch(run_id, brought, _said_since(run_id, messages))


def _said_since(run_id: str, messages: Sequence[Message]) -> str:
    """What a person has said since a run first handed calls over."""
    first = next(at for at, message in enumerate(messages) if run_id in _runs(message))
    return "\n\n".join([message.text for message in messages[first:] if message.role == "person" and message.text.strip()])


def _runs(message: Message) -> set[str]:
    handles: list[Handle | None] = [handle_of(part.id) for part in message.parts if isinstance(part, Call)]
    return {handle.run_id for handle in handles if handle is not None}


def conversation(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, in which every call has its result and every result its call; else what is wrong is said."""
    told: list[Message] = []
    for message in _joined(messages):
        open_calls = _open_calls(told)
        if message.role == "tools":
            told.append(_named(message, open_calls))
        elif open_calls:
            raise _missing(open_calls)
        else:
            told.append(message)
    if open_calls := _open_calls(told):
        raise _missing(open_calls)
    if not told or told[-1].role == "model":
        raise Refused(400, "The last message has to be the user's, or a tool's: there is nothing to answer.", "messages")
    return tuple(told)


def _joined(messages: Sequence[Message]) -> list[Message]:
    """The messages, results that come one after the other as one."""
    joined: list[Message] = []
    for message in messages:
        if message.role == "tools" and joined and joined[-1].role == "tools":
            joined[-1] = Message("tools", (*joined[-1].parts, *message.parts))
        else:
            joined.append(message)
    return joined


def _open_calls(told: Sequence[Message]) -> dict[str, Call]:
    """The calls that wait for their results at the end of what was told so far."""
    if not told or told[-1].role != "model":
        return {}
    return {part.id: part for part in told[-1].parts if isinstance(part, Call)}


def _missing(calls: dict[str, Call]) -> Refused:
    named = ", ".join([f"{call.id} ({call.name})" for call in calls.values()])
    return Refused(400, f"Each call needs its result after it, and there is none for {named}.", "messages")


def _named(message: Message, calls: dict[str, Call]) -> Message:
    """The results with the names of their tools."""
    results = [part for part in message.parts if isinstance(part, Result)]
    strange = next((result.call_id for result in results if result.call_id not in calls), None)
    if strange is not None:
        raise Refused(400, f"There is a result for {strange!r}, but no such call right before it.", "messages")
    missing = {call_id: call for call_id, call in calls.items() if call_id not in [result.call_id for result in results]}
    if missing:
        raise _missing(missing)
    return Message("tools", tuple([replace(each, name=calls[each.call_id].name, untrusted=True) for each in results]))

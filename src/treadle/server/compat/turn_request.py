"""A turn as either API requests it: the conversation in our own types, the client's tools, the options.

Values, and their checks.

Each API's module parses its own format; `turns` executes the turn.
"""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Media, Result
from treadle.core.media import Prompt
from treadle.core.messages import Message, Text
from treadle.core.requests import Options, ToolSpec
from treadle.server.compat.client_tools import CallHandle, parse_call_id
from treadle.server.compat.errors import CompatError

CONTINUE_PROMPT = "Go on with these results."  # where a conversation that we don't know ends with them


class CompatTurnRequest(Struct, frozen=True):
    """A requested turn.

    model         the model as the client names it: an assistant, optionally `@` a model for it
    messages      the conversation so far; the last is a user's, or tool results
    instructions  the client's own, which come after the assistant's
    tools         the client's own, executed by the client
    choice        which of these the model may call, and whether it has to
    shape         a JSON schema that the answer has to fit
    wire          which API it came by
    media         the bytes of the messages' media, by their hashes
    """

    model: str
    messages: tuple[Message, ...]
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    choice: "ToolChoice | None" = None
    options: Options = Options()
    shape: dict[str, object] | None = None
    wire: str = ""
    media: dict[str, bytes] = {}

    @property
    def before(self) -> tuple[Message, ...]:
        """The history: the messages before the current one."""
        said = self.messages if self.messages[-1].role == "tools" else self.messages[:-1]
        return tuple([_add_labels(message) if message.role == "tools" else message for message in said])

    @property
    def prompt(self) -> Prompt:
        """The current message."""
        last = self.messages[-1]
        if last.role == "tools":
            return CONTINUE_PROMPT
        if not _has_media(last):
            return last.text
        return [part.text if isinstance(part, Text) else part for part in last.parts if isinstance(part, Text | Media)]


def _add_labels(message: Message) -> Message:
    """Add the labels of media to results, as our own have them: not every model sees more than that."""
    results = [part for part in message.parts if isinstance(part, Result)]
    return Message("tools", tuple([replace(each, content=_content_with_labels(each)) for each in results]))


def _content_with_labels(result: Result) -> str:
    return "\n".join(filter(None, [result.content, *[media.label for media in result.media]]))


def _has_media(message: Message) -> bool:
    """Whether a user's message contains media."""
    return any(isinstance(part, Media) for part in message.parts)


class ToolChoice(Struct, frozen=True):
    """Which of the client's tools the model may call, and whether it has to call one."""

    names: tuple[str, ...]
    must: bool = False


class ResultBatch(Struct, frozen=True):
    """Results that a client delivers for calls of a run: by the hashes of the calls, with the user's text besides."""

    run_id: str
    results: dict[str, Result]
    words: str = ""

    def mark(self, call_mark: str) -> str:
        """Return a fingerprint that tells a repeated result from a different one."""
        result = self.results[call_mark]
        said = (result.content, result.problem, self.words, *[media.sha256 for media in result.media])
        return sha256(repr(said).encode(errors="surrogatepass")).hexdigest()[:16]


def find_results(messages: Sequence[Message]) -> ResultBatch | None:
    """Return the results at the end of a conversation, if they are of calls that one of our runs may have handed over.

    Media beside them can't be delivered to a waiting run, so the conversation then becomes a run of its own.
    """
    at = next((at for at in reversed(range(len(messages))) if messages[at].role != "person"), 0)
    if messages[at].role != "tools" or any(_has_media(message) for message in messages[at + 1 :]):
        return None
    results = [part for part in messages[at].parts if isinstance(part, Result)]
    handles = [parse_call_id(result.call_id) for result in results]
    runs = {handle.run_id for handle in handles if handle is not None}
    if None in handles or len(runs) != 1:
        return None
    run_id = runs.pop()
    brought = {handle.mark: result for handle, result in zip(handles, results, strict=True) if handle is not None}
    return ResultBatch(run_id, brought, _text_since(run_id, messages))


def _text_since(run_id: str, messages: Sequence[Message]) -> str:
    """Return the user's text since a run first handed calls over."""
    first = next(at for at, message in enumerate(messages) if run_id in _run_ids(message))
    return "\n\n".join([message.text for message in messages[first:] if message.role == "person" and message.text.strip()])


def _run_ids(message: Message) -> set[str]:
    handles: list[CallHandle | None] = [parse_call_id(part.id) for part in message.parts if isinstance(part, Call)]
    return {handle.run_id for handle in handles if handle is not None}


def check_conversation(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Check that every call has its result and every result its call, and return the messages; raise where they don't."""
    told: list[Message] = []
    for message in _merge_results(messages):
        open_calls = _open_calls(told)
        if message.role == "tools":
            told.append(_name_results(message, open_calls))
        elif open_calls:
            raise _missing_results_error(open_calls)
        else:
            told.append(message)
    if open_calls := _open_calls(told):
        raise _missing_results_error(open_calls)
    if not told or told[-1].role == "model":
        raise CompatError(400, "The last message has to be the user's, or a tool's: there is nothing to answer.", "messages")
    return tuple(told)


def _merge_results(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, with consecutive results merged."""
    joined: list[Message] = []
    for message in messages:
        if message.role == "tools" and joined and joined[-1].role == "tools":
            joined[-1] = Message("tools", (*joined[-1].parts, *message.parts))
        else:
            joined.append(message)
    return joined


def _open_calls(told: Sequence[Message]) -> dict[str, Call]:
    """Return the calls whose results are missing at the end of these messages."""
    if not told or told[-1].role != "model":
        return {}
    return {part.id: part for part in told[-1].parts if isinstance(part, Call)}


def _missing_results_error(calls: dict[str, Call]) -> CompatError:
    named = ", ".join([f"{call.id} ({call.name})" for call in calls.values()])
    return CompatError(400, f"Each call needs its result after it, and there is none for {named}.", "messages")


def _name_results(message: Message, calls: dict[str, Call]) -> Message:
    """Add the names of their tools to results."""
    results = [part for part in message.parts if isinstance(part, Result)]
    strange = next((result.call_id for result in results if result.call_id not in calls), None)
    if strange is not None:
        raise CompatError(400, f"There is a result for {strange!r}, but no such call right before it.", "messages")
    missing = {call_id: call for call_id, call in calls.items() if call_id not in [result.call_id for result in results]}
    if missing:
        raise _missing_results_error(missing)
    return Message("tools", tuple([replace(each, name=calls[each.call_id].name, untrusted=True) for each in results]))

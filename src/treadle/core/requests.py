"""Requests to a model and their replies: requests, deltas, usage, traits.

Values only. Transport is in `models`.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Opaque, Written, media_kind
from treadle.core.messages import History

Finish = Literal["done", "calls", "length", "window", "filtered", "broken", "paused"]  # "window": the context window was full
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Structured = Literal["no", "without_tools", "yes"]


class Shorthand(Struct, frozen=True):
    """What an option stands for in a call that is written as a command line, such as `-l 3:7`.

    names  the arguments that take its value; several take what stands between its colons
    sets   arguments that it implies, unless the line gives them itself
    """

    names: tuple[str, ...] = ()
    sets: dict[str, Any] = {}


class ToolSpec(Struct, frozen=True, omit_defaults=True):
    """A tool as described to the model: name, what it does, and a JSON schema of its arguments.

    `command_line` has the options that stand for arguments where a model calls it by a command line; the one without a name
    is about every line. `programs` says that it runs programs.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    command_line: dict[str, Shorthand] = {}
    programs: "Programs | None" = None


class Programs(Struct, frozen=True):
    """That a tool runs Python programs, for models that write calls as text: they write a program as a block of code.

    argument   the argument that takes the program
    functions  the tools that programs call, by their names in Python
    listing    these as signatures of Python functions, whose calls aren't awaited
    """

    argument: str
    functions: dict[str, ToolSpec]
    listing: str


class Options(Struct, frozen=True):
    """How a model should write. None leaves the choice to its server; what a model is known to refuse isn't sent to it.

    reasoning         how much it should think before it answers, for models that do
    reasoning_budget  tokens that it may think at most, for servers that count them
    tool_choice       "auto", "required", "none", or the name of the tool to call
    parallel_calls    whether one reply may have several calls
    service_tier      such as "flex" or "priority", in the provider's own words
    cache_key         groups requests that begin alike, for providers that cache prompts by a key
    headers           sent with each request
    extra             further fields of the request's body, in the provider's own words
    """

    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    reasoning: Effort | None = None
    reasoning_budget: int | None = None
    tool_choice: str | None = None
    parallel_calls: bool | None = None
    service_tier: str | None = None
    cache_key: str | None = None
    headers: dict[str, str] = {}
    extra: dict[str, Any] = {}

    def for_model(self, traits: "Traits") -> "Options":
        """Return these options for a model: without a temperature and a limit where it thinks, as that would use the limit up."""
        return replace(self, temperature=None, max_tokens=None) if traits.reasons else self


def find_option_mistakes(options: Options) -> Iterator[str]:
    """Yield a sentence for each value that can't be meant."""
    if options.temperature is not None and not 0 <= options.temperature < inf:  # nor NaN
        yield f"Options.temperature is {options.temperature}; it is 0 or more, and None leaves it to the server."
    if options.top_p is not None and not 0 <= options.top_p <= 1:
        yield f"Options.top_p is {options.top_p}; it is a share, from 0 to 1."
    if options.max_tokens is not None and options.max_tokens < 1:
        yield f"Options.max_tokens is {options.max_tokens}, which leaves no room for a reply; None leaves it to the server."
    if options.reasoning_budget is not None and options.reasoning_budget < 0:
        yield f"Options.reasoning_budget is {options.reasoning_budget}; it is a number of tokens, from 0 up."
    if options.tool_choice is not None and not options.tool_choice.strip():
        yield 'Options.tool_choice is empty; there are "auto", "required", "none" and the names of tools.'


def merge_options(base: Options, own: Options) -> Options:
    """Return options in which those that `own` sets override those of `base`."""
    default = Options()
    values = {name: getattr(own, name) for name in Options.__struct_fields__}
    set_here = {name: value for name, value in values.items() if value != getattr(default, name)}
    return replace(base, **set_here)


class Progress(Struct, frozen=True, gc=False):
    """How far a model is with a reply, for people who wait. Nothing depends on it.

    stage    "waiting" for its server, "loading" the model, "reading" the prompt, "writing" the reply
    done     the loaded share, the tokens read or the tokens written: nearly every server streams one at a time
    total    what `done` amounts to in the end; 0 where that isn't known
    request  which request to the model it is, where a plan makes several for one reply; else 0
    ahead    how many requests of others it waits for, where that is known
    draft    the words so far of an answer that a plan checks before it is given: the answer replaces them
    """

    stage: Literal["waiting", "loading", "reading", "writing"]
    done: float = 0
    total: float = 0
    request: int = 0
    ahead: int = 0
    draft: str = ""


class Request(Struct, frozen=True):
    """One request to a model. `note` is a line for this request only, after the history and not part of it.

    `shape` is a JSON schema that the server holds the reply to, for models whose traits say that theirs can. `fixed` is how many
    messages at the beginning of the history are the same in every request like this one, for servers that can read them once.
    `read_only` names the tools that change nothing, for models of ours that weigh whether to call (`models.calling`).
    `must_call` says that the answer is a call too, so that words alone are none. `blobs` gives the bytes of media by their hash,
    where there are media in the history. `progress` is a callback for how far the reply is, if one is wanted; it is called in
    the event loop.
    """

    instructions: str
    history: History
    tools: tuple[ToolSpec, ...] = ()
    note: str = ""
    options: Options = Options()
    shape: dict[str, Any] | None = None
    fixed: int = 0
    must_call: bool = False
    blobs: Callable[[str], bytes] | None = None
    progress: Callable[[Progress], None] | None = None
    read_only: frozenset[str] = frozenset()


class Usage(Struct, frozen=True, gc=False):
    """What a run has used so far. `cost` is in US dollars, None where the price isn't known."""

    requests: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None

    @property
    def total_tokens(self) -> int:
        """Input and output together; cached input is part of the input."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        cost = self.cost if other.cost is None else other.cost + (self.cost or 0)
        return Usage(
            self.requests + other.requests,
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            cost,
        )


class Traits(Struct, frozen=True):
    """What a model can do. `context` is how many tokens it can read at once, None where that isn't known.

    `streams` says that time may pass between two deltas of a reply, so that it is worth starting calls before its end.
    For models without native calls: `dialect` is how it writes calls, `thinks` says that its replies begin inside a thought,
    `holds` that its server can hold a reply to a JSON schema, `flat` that it does better with a tool for each action.
    `reasons` says that it thinks before it answers, and that this counts against the output's limit. `guided` says that a plan
    decides what it is asked, so that it can't be asked for anything else. `warms` says that it can read in advance what requests
    begin with.

    `structured_output` says whether its server can be given the schema of the answer (`Request.shape`), so that no tool has to
    stand in for it: always, or only where no tools are on offer.

    `modalities` are the kinds of media ("image", "audio", "document") or the media types ("audio/wav") that may be sent to it
    besides text. None where that isn't known: then they are sent, and its server answers.
    """

    native_calls: bool = True
    context: int | None = None
    streams: bool = True
    dialect: str = "auto"
    thinks: bool = False
    holds: bool = False
    flat: bool = False
    reasons: bool = False
    guided: bool = False
    warms: bool = False
    modalities: frozenset[str] | None = None
    structured_output: Structured = "no"

    def takes(self, media_type: str) -> bool:
        """Return whether media of this type may be sent to it. Without native calls a model reads only text by default."""
        if self.modalities is None:
            return self.native_calls
        return media_type in self.modalities or media_kind(media_type) in self.modalities

    def through_text(self) -> "Traits":
        """Return the traits of this model once calls are parsed from its text: to everything else it then has native calls."""
        modalities = self.modalities if self.native_calls or self.modalities is not None else frozenset[str]()
        return replace(self, native_calls=True, modalities=modalities, structured_output="no")


class TextDelta(Struct, frozen=True, gc=False):
    """A piece of the model's text."""

    text: str


class ThinkingDelta(Struct, frozen=True, gc=False):
    """A piece of the model's thinking. The `signature` comes with the last piece, if there is one."""

    text: str
    signature: str = ""


class CallDelta(Struct, frozen=True, gc=False):
    """The model has begun to write a call of this tool; nothing may run yet."""

    id: str
    name: str


class CallDone(Struct, frozen=True, gc=False):
    """A call is complete: it may be read, judged and run while the rest of the reply is still streaming."""

    call: Written


class Notice(Struct, frozen=True, gc=False):
    """Something people should know about how a reply came about: a parameter that was dropped, another model that took over."""

    text: str


class ToolDecision(Struct, frozen=True, gc=False):
    """Whether a model that was asked first if a tool fits then called one, and how probable it thought that one fits."""

    probability: float
    called: bool


class ReplyEnded(Struct, frozen=True, gc=False):
    """The reply is over: why, and its usage. Always the last delta; a reply without it was interrupted.

    `model` is the name that it is used by here, `response_model` the name that its server states in the response.
    `chances` are the tokens the reply might have begun with, and the log probability of each, where that was requested.
    `decision` is what the model decided about calling, where it was asked that first.
    """

    finish: Finish
    usage: Usage = Usage(requests=1)
    model: str = ""
    chances: dict[str, float] = {}
    response_model: str = ""
    decision: ToolDecision | None = None


Delta = TextDelta | ThinkingDelta | Opaque | Notice | CallDelta | CallDone | ReplyEnded

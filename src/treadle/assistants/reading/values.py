"""What a reading is made of: the intent of a file, its responsibility blocks, and how they were found. Values only.

Names of fields are those of the HTTP contract; lines are 1-based and inclusive.
"""

from typing import Any, Literal

from msgspec import Struct, field

from treadle import Usage

ExecutionPath = Literal["fast-path", "tool-calling", "two-stage", "sketch", "empty"]
Range = tuple[int, int]


class Elements(Struct, frozen=True):
    """What belongs to a block, by name."""

    functions: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()


class Block(Struct, frozen=True):
    """All that serves one purpose in a file, also where it is scattered."""

    id: str
    label: str
    description: str
    elements: Elements
    ranges: tuple[Range, ...]


class ToolRead(Struct, frozen=True):
    """Lines that a model asked to see."""

    start_line: int
    end_line: int
    reason: str


class Fallback(Struct, frozen=True):
    """A way to ask the model that failed, so that the next one was taken. `path` is "run" where the model itself failed."""

    path: str
    reason: str


class Tokens(Struct, frozen=True):
    """What a reading cost. `cached` is the part of the input that its server had read before."""

    input: int = 0
    output: int = 0
    cached: int = 0
    requests: int = 0

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output

    @classmethod
    def of(cls, usage: Usage) -> "Tokens":
        """Those of a run."""
        return cls(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.requests)

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input, self.output + other.output, self.cached + other.cached, self.requests + other.requests
        )


class Metadata(Struct, frozen=True):
    """How a reading was made.

    `why` says what led to the path, `notes` what a reader should know, beginning with the model's own notes. `fallbacks` are the
    paths that failed before it.
    """

    execution_path: ExecutionPath
    why: str
    tool_reads: tuple[ToolRead, ...] = ()
    tool_call_count: int = 0
    tokens: Tokens = Tokens()
    seconds: float = 0.0
    model: str = ""
    language: str = ""
    content_hash: str = ""
    cached: bool = False
    coverage: float = 1.0
    notes: str = ""
    run_id: str = ""  # the run that read it; empty where no model was asked
    fallbacks: tuple[Fallback, ...] = ()

    @property
    def is_failed(self) -> bool:
        """Whether a model was asked and nothing came of it, so that this is a sketch."""
        return self.execution_path == "sketch" and bool(self.fallbacks)

    @property
    def label(self) -> str:
        """What has to be said beside the reading, in a line; empty where a model made it as it was meant to."""
        failed = "; ".join([f"{fallback.path} failed: {fallback.reason.rstrip('.')}" for fallback in self.fallbacks])
        if self.execution_path == "sketch":
            return f"[FALLBACK] Sketch, made without a model: {failed}." if failed else f"Sketch, made without a model: {self.why}"
        return f"[FALLBACK] {failed}; {self.execution_path} was used instead." if failed else ""


class Reading(Struct, frozen=True):
    """What a file is for, and which of its parts belong together."""

    file_intent: str
    responsibilities: tuple[Block, ...]
    metadata: Metadata


class ToolCall(Struct, frozen=True):
    """A call of a model in an analysis, for the debug report. `problem` says what kind of thing went wrong, if anything."""

    tool_name: str
    args: dict[str, Any]
    timestamp: float
    result_content: str
    problem: str = ""


class FailedRequest(Struct, frozen=True):
    """A request that the model's server did not answer, for the debug report."""

    timestamp: float
    reason: str


class Stage(Struct, frozen=True):
    """One request to a model, for the debug report. `response` is empty where it called tools."""

    name: str
    start_time: float
    end_time: float
    tokens: Tokens
    prompt: str
    response: str
    parsed_output: dict[str, Any] = field(default_factory=dict[str, Any])

"""Data types of a reading: a file's intent, its responsibility blocks, and how they were found.

Field names are those of the HTTP contract; lines are 1-based and inclusive.
"""

from typing import Any, Literal

from msgspec import Struct, field

from treadle import Usage

ExecutionPath = Literal["fast-path", "tool-calling", "two-stage", "sketch", "empty"]
Range = tuple[int, int]


class Elements(Struct, frozen=True):
    """The elements of a block, by name."""

    functions: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()


class ResponsibilityBlock(Struct, frozen=True):
    """Everything in a file that serves one purpose, even if it is scattered."""

    id: str
    label: str
    description: str
    elements: Elements
    ranges: tuple[Range, ...]


class ToolRead(Struct, frozen=True):
    """Lines that a model requested."""

    start_line: int
    end_line: int
    reason: str


class FailedPath(Struct, frozen=True):
    """An execution path that failed, so that the next one was taken. `path` is "run" if the model itself failed."""

    path: str
    reason: str


class TokenUsage(Struct, frozen=True):
    """Token usage of a reading. `cached` is the part of the input that the model's server had cached."""

    input: int = 0
    output: int = 0
    cached: int = 0
    requests: int = 0

    @property
    def total(self) -> int:
        """Input and output together."""
        return self.input + self.output

    @classmethod
    def of(cls, usage: Usage) -> "TokenUsage":
        """Build the token usage of a run."""
        return cls(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.requests)

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.input + other.input, self.output + other.output, self.cached + other.cached, self.requests + other.requests
        )


class AnalysisMetadata(Struct, frozen=True):
    """How a reading was made.

    `why` says why the path was taken, `notes` what a reader should know, beginning with the model's own notes.
    `fallbacks` are the paths that failed before it.
    """

    execution_path: ExecutionPath
    why: str
    tool_reads: tuple[ToolRead, ...] = ()
    tool_call_count: int = 0
    tokens: TokenUsage = TokenUsage()
    seconds: float = 0.0
    model: str = ""
    language: str = ""
    content_hash: str = ""
    cached: bool = False
    coverage: float = 1.0
    notes: str = ""
    run_id: str = ""  # the run that read it; empty where no model was asked
    fallbacks: tuple[FailedPath, ...] = ()

    @property
    def is_failed(self) -> bool:
        """Whether a model was asked without success, so that this is a sketch."""
        return self.execution_path == "sketch" and bool(self.fallbacks)

    @property
    def label(self) -> str:
        """The note to print beside the reading; empty if a model made it as intended."""
        failed = "; ".join([f"{fallback.path} failed: {fallback.reason.rstrip('.')}" for fallback in self.fallbacks])
        if self.execution_path == "sketch":
            return f"[FALLBACK] Sketch, made without a model: {failed}." if failed else f"Sketch, made without a model: {self.why}"
        return f"[FALLBACK] {failed}; {self.execution_path} was used instead." if failed else ""


class FileReading(Struct, frozen=True):
    """A file's purpose, and which of its parts belong together."""

    file_intent: str
    responsibilities: tuple[ResponsibilityBlock, ...]
    metadata: AnalysisMetadata


class ToolCall(Struct, frozen=True):
    """A model's call in an analysis, for the debug report. `problem` is the kind of failure, if any."""

    tool_name: str
    args: dict[str, Any]
    timestamp: float
    result_content: str
    problem: str = ""


class FailedRequest(Struct, frozen=True):
    """A request that the model's server didn't answer, for the debug report."""

    timestamp: float
    reason: str


class Stage(Struct, frozen=True):
    """One request to a model, for the debug report. `response` is empty if the model called tools."""

    name: str
    start_time: float
    end_time: float
    tokens: TokenUsage
    prompt: str
    response: str
    parsed_output: dict[str, Any] = field(default_factory=dict[str, Any])

"""What the routes of the reading assistant are: what can be asked, and every answer there can be. Who answers is `routes`."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from treadle.assistants.reading.values import Block, Metadata, Reading
from treadle.routes import Answer, Operation

# What is asked


class SourceAsked(Struct, frozen=True):
    """Source code to be read. `metadata` comes back with the answer; `fresh` asks anew where an answer is kept."""

    filename: Annotated[str, Meta(min_length=1, examples=["shop.js"])]
    source_code: Annotated[str, Meta(min_length=1, examples=["export const price = () => 3;\n"])]
    language: Annotated[str, Meta(examples=["javascript"])] = "javascript"
    metadata: dict[str, Any] | None = None
    fresh: bool = False


class SwitchesSet(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Switches to set, at least one."""

    debug_mode: bool | UnsetType = UNSET
    force_fast_path: bool | UnsetType = UNSET
    use_raw_source: bool | UnsetType = UNSET
    use_tool_calling: bool | UnsetType = UNSET


class FileAsked(Struct, frozen=True):
    """A file by its path; `unless` it still has this hash."""

    path: str = ""
    unless: str | None = None


# What is answered


class ReadingRefused(Struct, frozen=True):
    """Why there is no answer, in a sentence."""

    success: Literal[False]
    error: str
    detail: str = ""


class DebugStats(Struct, frozen=True):
    """How good the outline was, of which a report was filed."""

    integrity_score: float
    has_quality_warning: bool
    node_reduction_ratio: float
    context_compression_ratio: float
    comment_retention_score: float


class ReadingMetadata(Metadata, frozen=True, kw_only=True):
    """How a reading was made, among what came with the request."""

    debug_stats: DebugStats | UnsetType = UNSET


class Read(Struct, frozen=True):
    """What a file is for, and which of its parts belong together."""

    success: Literal[True]
    file_intent: str
    responsibilities: tuple[Block, ...]
    metadata: ReadingMetadata


class Switches(Struct, frozen=True):
    """How answers are made."""

    debug_mode: bool = True
    force_fast_path: bool = False
    use_raw_source: bool = False
    use_tool_calling: bool = True


class Health(Switches, frozen=True, kw_only=True):
    """Whether a model can be had, and the switches."""

    status: Literal["ok"] = "ok"
    agent_ready: bool
    agent_error: str | None


class SwitchesShown(Switches, frozen=True, kw_only=True):
    """The switches, twice: as they are, and in words."""

    status: dict[str, Literal["enabled", "disabled"]]


class SwitchesTold(Switches, frozen=True, kw_only=True):
    """The switches, after some were set."""

    success: Literal[True]
    message: str


class FilesListed(Struct, frozen=True):
    """The source files of a folder."""

    folder: str
    files: list[str]
    truncated: bool


class Prepared(Struct, frozen=True):
    """A reading for which no model has to be asked; or, without one, what to begin a run with: POST /api/runs."""

    success: Literal[True]
    reading: Reading | None
    message: str
    context: dict[str, Any]


class FileTold(Struct, frozen=True, omit_defaults=True):
    """A file. One that is still the same has its hash only, one that is gone not even that.

    `run_id` is the latest analysis of just this text, under way or over.
    """

    success: Literal[True]
    gone: bool = False
    path: str = ""
    language: str | UnsetType | None = UNSET
    content_hash: str = ""
    text: str | UnsetType = UNSET
    run_id: str = ""


ANALYZE = Operation(
    "Read source code: what it is for, and which of its parts belong together",
    body=SourceAsked,
    answers={
        200: Answer("the reading", Read),
        400: Answer("something is missing, or can't be read", ReadingRefused),
        499: Answer("nobody waits for this any more", ReadingRefused),
        502: Answer("the model's server failed", ReadingRefused),
        503: Answer("the model can't be had; the sentence says what to do", ReadingRefused),
    },
    runs=True,
)
PREPARE = Operation(
    "What is needed to have source code read as a run: nothing, where its reading is kept or no model can be had",
    body=SourceAsked,
    answers={
        200: Answer("its reading, or what to begin a run with", Prepared),
        400: Answer("something is missing, or can't be read", ReadingRefused),
    },
)
RUN = Operation(
    "The reading that a run came to",
    answers={
        200: Answer("the reading", Read),
        404: Answer("there is no such run, or it is no analysis", ReadingRefused),
        409: Answer("it isn't over, or was cancelled", ReadingRefused),
    },
)
HEALTH = Operation("Whether a model can be had", answers={200: Answer("how it stands", Health)})
SWITCHES = Operation("How answers are made", answers={200: Answer("the switches", SwitchesShown)})
SET = Operation(
    "Set how answers are made",
    body=SwitchesSet,
    answers={200: Answer("they are set", SwitchesTold), 400: Answer("there is no such switch", ReadingRefused)},
)
FILES = Operation("The source files of the folder that the server was started in", answers={200: Answer("the files", FilesListed)})
FILE = Operation(
    "One of them, with its text",
    query=FileAsked,
    answers={200: Answer("the file", FileTold), 400: Answer("it can't be read", ReadingRefused)},
)

"""Settings of the reading assistant: how much of a file a model may read.

Under `[assistants.reading]` in `treadle.toml`.
"""

from typing import Annotated

from msgspec import Meta, Struct

from treadle.assistant import Host

MAX_TOOL_CALLS = 30
MAX_LINES = 400


class ReadingSettings(Struct, frozen=True):
    """The keys.

    max_tool_calls  calls of `refer_to_source_code` in one analysis
    max_lines       lines that one call may read
    """

    max_tool_calls: Annotated[int, Meta(ge=1, le=500, description="a whole number from 1 to 500", extra={"project": "lower"})] = (
        MAX_TOOL_CALLS
    )
    max_lines: Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10000", extra={"project": "lower"})] = (
        MAX_LINES
    )


def load_settings(host: Host) -> ReadingSettings:
    """Return the assistant's settings where the host works."""
    settings: ReadingSettings = host.settings.assistant("reading")
    return settings

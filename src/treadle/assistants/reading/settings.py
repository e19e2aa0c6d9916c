"""Settings of the reading assistant: how much of a file a model may read, and how large a repository map is.

Under `[assistants.reading]` in `treadle.toml`.
"""

from typing import Annotated

from msgspec import Meta, Struct

from treadle import Host

MAX_TOOL_CALLS = 30
MAX_LINES = 400


class ReadingSettings(Struct, frozen=True):
    """The keys.

    max_tool_calls  calls of `refer_to_source_code` in one analysis
    max_lines       lines that one call may read
    map_tokens      tokens of a repository map
    """

    max_tool_calls: Annotated[int, Meta(ge=1, le=500, description="a whole number from 1 to 500", extra={"project": "lower"})] = (
        MAX_TOOL_CALLS
    )
    max_lines: Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10000", extra={"project": "lower"})] = (
        MAX_LINES
    )
    map_tokens: Annotated[int, Meta(ge=100, le=50_000, description="a whole number from 100 to 50000")] = 1500


def load_settings(host: Host) -> ReadingSettings:
    """Return what is set where the host works."""
    settings: ReadingSettings = host.settings.assistant("reading")
    return settings

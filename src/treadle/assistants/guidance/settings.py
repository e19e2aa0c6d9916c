"""Settings of the guidance assistant: where projects are stored, and which tools it may use.

Under `[assistants.guidance]` in `treadle.toml`.
"""

from typing import Annotated

from msgspec import Meta, Struct

ToolNames = Annotated[tuple[str, ...], Meta(description="a list of tools' names")]


class GuidanceSettings(Struct, frozen=True):
    """Settings of the guidance assistant.

    database       `postgresql://USER@HOST/NAME`, or a file; by default one in the data folder
    allowed_tools  the only tools it may use; all, if none is named
    denied_tools   tools it may not use
    """

    database: Annotated[str, Meta(description="a text such as postgresql://anna@localhost/projects, or a file")] = ""
    allowed_tools: ToolNames = ()
    denied_tools: Annotated[ToolNames, Meta(extra={"project": "more"})] = ()

"""What a person settles for the guidance assistant: where projects are kept, and which tools it may use.

Under `[assistants.guidance]` in `treadle.toml`.
"""

from typing import Annotated

from msgspec import Meta, Struct

Names = Annotated[tuple[str, ...], Meta(description="a list of tools' names")]


class GuidanceSettings(Struct, frozen=True):
    """What can be settled.

    database       `postgresql://USER@HOST/NAME`, or a file; one in the data folder unless you say otherwise
    allowed_tools  the only tools it may use; all, where none is named
    denied_tools   tools it may not use
    """

    database: Annotated[str, Meta(description="a text such as postgresql://anna@localhost/projects, or a file")] = ""
    allowed_tools: Names = ()
    denied_tools: Annotated[Names, Meta(extra={"project": "more"})] = ()

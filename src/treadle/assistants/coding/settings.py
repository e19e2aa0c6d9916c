"""Settings of the coding assistant: the folders in which its page may work.

Under `[assistants.coding]` in `treadle.toml`. Commands work wherever they are run.
"""

from typing import Annotated

from msgspec import Meta, Struct


class CodingSettings(Struct, frozen=True):
    """Settings of the coding assistant.

    workspaces  folders that jobs started on the page may work in; on a server with users, the only ones
    """

    workspaces: Annotated[tuple[str, ...], Meta(description="a list of folders")] = ()

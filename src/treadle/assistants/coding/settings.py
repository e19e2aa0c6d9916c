"""What a person settles for the coding assistant: the folders in which its page may work.

Under `[assistants.coding]` in `treadle.toml`. Commands work wherever they are typed.
"""

from typing import Annotated

from msgspec import Meta, Struct


class CodingSettings(Struct, frozen=True):
    """What can be settled.

    workspaces  folders that jobs begun on the page may work in; on a server with users, the only ones
    """

    workspaces: Annotated[tuple[str, ...], Meta(description="a list of folders")] = ()

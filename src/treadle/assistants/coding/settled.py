"""What a person settles for the coding assistant: the folders in which its page may work.

Under `[assistants.coding]` in `treadle.toml`. Commands work wherever they are typed.
"""

from msgspec import Struct

from treadle import assistant_settings


class CodingSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What can be settled.

    workspaces  folders that jobs begun on the page may work in; on a server with users, the only ones
    """

    workspaces: tuple[str, ...] = ()


def settled() -> CodingSettings:
    """What counts."""
    return assistant_settings("coding", CodingSettings)

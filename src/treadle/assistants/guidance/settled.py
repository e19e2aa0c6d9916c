"""What a person settles for the guidance assistant: where projects are kept, and which tools it may use.

Under `[assistants.guidance]` in `treadle.toml`.
"""

import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle import assistant_settings

DATABASE_VARIABLE = "TREADLE_GUIDANCE_DATABASE"
FILE = "guidance.db"


class GuidanceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What can be settled.

    database       `postgresql://USER@HOST/NAME`, or a file; one in the data folder unless you say otherwise
    allowed_tools  the only tools it may use; all, where none is named
    denied_tools   tools it may not use
    """

    database: str = ""
    allowed_tools: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()


def settled(folder: Path) -> GuidanceSettings:
    """What counts, for whoever's data is in this folder."""
    settings = assistant_settings("guidance", GuidanceSettings)
    return replace(settings, database=os.environ.get(DATABASE_VARIABLE) or settings.database or str(folder / FILE))

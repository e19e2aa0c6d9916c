"""Settings of the coding assistant: the folders in which its page may work, language servers, and the symbol index.

Under `[assistants.coding]` in `treadle.toml`. Commands work wherever they are run.
"""

from typing import Annotated

from msgspec import Meta, Struct


class CodingSettings(Struct, frozen=True):
    """Settings of the coding assistant.

    workspaces   folders that jobs started on the page may work in; on a server with users, the only ones
    diagnostics  whether an installed language server checks each edit
    index        whether a session builds the symbol index in the background as soon as it opens
    """

    workspaces: Annotated[tuple[str, ...], Meta(description="a list of folders")] = ()
    diagnostics: Annotated[bool, Meta(description="true or false", extra={"project": "off"})] = True
    index: Annotated[bool, Meta(description="true or false", extra={"project": "off"})] = True

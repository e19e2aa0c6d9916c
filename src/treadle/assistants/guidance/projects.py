"""The store of a person's projects. Everybody in the process who uses one at the same time shares it; the last one closes it."""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from treadle import Host, SharedResources
from treadle.assistants.guidance.settings import GuidanceSettings
from treadle.assistants.guidance.store import open_store

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

FILE = "guidance.db"
_stores: "SharedResources[Store]" = SharedResources(lambda store: store.close())


def user_of(host: Host) -> str:
    """Whose projects these are: whoever the face says, else the one person at this machine."""
    return host.user or "local"


def open_projects(host: Host) -> "AbstractAsyncContextManager[Store]":
    """The store that the projects of a host's person are in."""
    settings: GuidanceSettings = host.settings.assistant("guidance")
    address = settings.database or str(host.home.folder / FILE)
    return _stores.use(address, lambda: open_store(address))

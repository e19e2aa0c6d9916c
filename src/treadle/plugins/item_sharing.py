"""Sharing of assistants' items, such as projects and courses, between the users of a server.

An assistant decides what an item is and checks the owner; who may read or change it is in the users' store, and is looked up at
each use, so that it ends as soon as it is revoked.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from treadle.core.errors import SettingsError
from treadle.files.workspace_folders import WORKSPACE
from treadle.home import Home, open_user_home
from treadle.stores.users import OwnShare, Share, SharedItem, Users

if TYPE_CHECKING:
    from treadle.plugins.assistant import Host

MAX_SHARES = 200  # users and groups of one item


class ItemSharing:
    """What one user shares of their items, and what others share with them. `home` is the server's own."""

    def __init__(self, users: Users, home: Home, user: str) -> None:
        self._users = users
        self._home = home
        self._user = user

    async def shares_of(self, assistant: str, item: str) -> list[Share]:
        """Return who may read or change an item of this user."""
        return [each.share for each in await self.all_shares() if (each.assistant, each.item) == (assistant, item)]

    async def all_shares(self) -> list[OwnShare]:
        """Return everything that this user shares."""
        return await asyncio.to_thread(self._users.item_shares_of, self._user)

    async def set_shares(self, assistant: str, item: str, shares: Sequence[Share]) -> None:
        """Set who may read or change an item of this user. Raises `SettingsError` for a user that doesn't exist."""
        if len(shares) > MAX_SHARES:
            raise SettingsError(f"Share it with {MAX_SHARES} users and groups at most; a group may have any number of users.")
        known = {person.name for person in await asyncio.to_thread(self._users.all)}
        unknown = [each.grantee for each in shares if not each.is_group and each.grantee not in known]
        if unknown:
            raise SettingsError(f"There is no user {unknown[0]!r} at this server.")
        wanted = [each for each in shares if each.is_group or each.grantee != self._user]
        await asyncio.to_thread(self._users.set_item_shares, self._user, assistant, item, wanted)

    async def shared_with_me(self, assistant: str) -> list[SharedItem]:
        """Return the items of other users that this user may read."""
        return await asyncio.to_thread(self._users.items_shared_with, self._user, assistant)

    def owner_host(self, host: "Host", shared: SharedItem) -> "Host":
        """Return the host with the home of an item's owner, for reading that item and nothing else."""
        home = open_user_home(self._home, shared.owner)
        return replace(host, home=home, user=shared.owner, folder=home.folder / WORKSPACE, sharing=None)

"""Users of a server over HTTP, for its admins: list, add, change, issue a new token, remove."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.core.errors import SettingsError
from treadle.routes import Created, delete, get, post, put, routes_of
from treadle.server.settings.access import FORBIDDEN, SettingsAccess
from treadle.stores.accounts import Allowance, Role, User
from treadle.stores.users import Users

NO_USERS = "This server has no users. Add one with `treadle users add NAME`, and start the server again."
OWN_ACCOUNT = "This is your own account: another admin has to do that, or the server's owner with `treadle users`."
ERRORS = {**FORBIDDEN, 409: "the server has no users"}


class UserView(Struct, frozen=True):
    """A user, with their role and limits."""

    name: str
    role: Role
    allowance: Allowance


class UserList(Struct, frozen=True):
    """All users of the server."""

    users: list[UserView]


class NewUser(Struct, frozen=True, forbid_unknown_fields=True):
    """A user to add."""

    name: Annotated[str, Meta(max_length=40)]
    role: Role = "user"


class UserChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What is changed about a user."""

    role: Role


class UserToken(Struct, frozen=True):
    """A user's token. It is shown once."""

    name: str
    token: str


class UserAdminApi:
    """The handlers for one admin."""

    def __init__(self, access: SettingsAccess) -> None:
        self._access = access

    @get("/api/settings/users", errors=ERRORS)
    async def list_users(self) -> UserList:
        """List the users of this server."""
        return UserList([_to_view(each) for each in await asyncio.to_thread(self._users().all)])

    @post("/api/settings/users", errors={**ERRORS, 422: "the name is invalid, or there is such a user already"})
    async def add_user(self, body: NewUser) -> Created[UserToken]:
        """Add a user, and return their token, which can't be shown again."""
        return UserToken(body.name, await self._try(self._users().add, body.name, body.role))

    @put("/api/settings/users/{name}", errors={**ERRORS, 404: "there is no such user"})
    async def change_role(self, name: str, body: UserChange) -> UserView:
        """Change a user's role."""
        users = self._users_but(name)
        return _to_view(await self._try(users.change, name, body.role, status=404))

    @post("/api/settings/users/{name}/token", errors={**ERRORS, 404: "there is no such user"})
    async def renew_token(self, name: str) -> UserToken:
        """Issue a new token: the old one and all sessions of the user end."""
        return UserToken(name, await self._try(self._users_but(name).renew, name, status=404))

    @delete(
        "/api/settings/users/{name}", errors={**ERRORS, 404: "there is no such user"}, returns="their token and sessions have ended"
    )
    async def remove_user(self, name: str) -> None:
        """Remove a user. Their data stays in its folder."""
        await self._try(self._users_but(name).remove, name, status=404)

    def _users(self) -> Users:
        self._access.check()
        if self._access.users is None:
            raise HTTPException(409, NO_USERS)
        return self._access.users

    def _users_but(self, name: str) -> Users:
        """Return the users; raise 409 where an admin would lock themselves out."""
        users = self._users()
        if name == self._access.person.name:
            raise HTTPException(409, OWN_ACCOUNT)
        return users

    async def _try(self, change: Callable[..., Any], *args: Any, status: int = 422) -> Any:
        try:
            return await asyncio.to_thread(change, *args)
        except SettingsError as error:
            raise HTTPException(status, str(error)) from error


def _to_view(user: User) -> UserView:
    return UserView(user.name, user.role, user.allowance)


def user_admin_routes(access: SettingsAccess) -> list[BaseRoute]:
    """Return the routes."""
    return routes_of(UserAdminApi(access))

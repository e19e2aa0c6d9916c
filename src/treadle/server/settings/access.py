"""Who may change the settings of a server: its owner, or an admin where it has users.

Settings apply to every user of the server and to the command line of its owner. A server without authentication changes none:
everything that reaches it, such as a command in the sandbox, could otherwise give itself rights.
"""

from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.stores.accounts import LOCAL_OWNER, User
from treadle.stores.users import Users

UNAUTHENTICATED = (
    "This server has no token, so its settings can't be changed here. Edit treadle.toml, or start it without --no-token "
    "and --anyone."
)
NO_ADMIN = "Only an admin of this server can change its settings."
HAS_USERS = "This server has users: {what} only in its owner's treadle.toml."
FORBIDDEN = {403: "you aren't an admin of this server, or it has no token"}


class SettingsAccess(Struct, frozen=True):
    """What one user may do about the settings. `users` are those of the server; None where it has none."""

    person: User
    users: Users | None
    is_authenticated: bool

    @property
    def is_owner(self) -> bool:
        """Whether this is the owner of a server that has no users."""
        return self.person == LOCAL_OWNER

    @property
    def refusal(self) -> str:
        """Why they may not change settings, in a sentence; empty where they may."""
        if self.person.role != "admin":
            return NO_ADMIN
        return "" if self.is_authenticated else UNAUTHENTICATED

    def check(self) -> None:
        """Raise 403 where they may not change settings."""
        if self.refusal:
            raise HTTPException(403, self.refusal)

    def check_owner(self, what: str) -> None:
        """Raise 403 unless they own the server: for what would reach files and programs of its account."""
        self.check()
        if not self.is_owner:
            raise HTTPException(403, HAS_USERS.format(what=what))

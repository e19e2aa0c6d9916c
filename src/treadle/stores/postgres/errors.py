"""PostgreSQL errors: whether a retry can help, and a message for the user. It never contains a password."""

from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

from treadle.core.errors import JournalError, TreadleError
from treadle.stores.postgres.address import redact_url

if TYPE_CHECKING:
    import psycopg

MAX_MESSAGE = 300  # characters of what the driver says

ErrorKind = Literal[
    "gone",  # the server or the way to it: connect again
    "crossed",  # two transactions were in each other's way: begin again
    "refused",  # it would be the same the next time
]

_CROSSED = ("40001", "40P01", "55P03")  # serialization, deadlock, a lock that wasn't to be had
_GONE = ("57P01", "57P02", "57P03", "57P05", "25P03", "53300")  # stopping, crashed, starting, idle too long (two ways), full
_NO = (  # of connections that failed: the driver has no code for these
    "authentication failed",
    "no password supplied",
    "pg_hba.conf",
    "does not exist",
    "permission denied",
    "certificate",
    "SSL",
)
_TO_DO = {
    "28P01": "Correct the user and password in its address",
    "3D000": "Create the database, or correct its address",
    "25006": "It can only be read, as a replica can: give the address of the server that is written to",
    "42501": "Let the user of its address create schemas and tables in it: GRANT CREATE ON DATABASE … TO …",
    "53100": "Make room on its disk",
    "57014": "It is too busy or a lock is held for long: see what it does",
}
_OTHERWISE = "Fix that"
_MEND = "Start it, or correct its address"
_RESUME = "then resume; nothing that was written is lost."


def classify_error(error: "psycopg.Error") -> ErrorKind:
    """Return the kind of an error."""
    from psycopg import InterfaceError, OperationalError

    code = error.sqlstate
    if code is None:
        lost = isinstance(error, OperationalError | InterfaceError)
        return "gone" if lost and not any(words in str(error) for words in _NO) else "refused"
    if code in _CROSSED:
        return "crossed"
    return "gone" if code in _GONE or code.startswith("08") else "refused"


def translate_postgres_error(error: Exception, url: str) -> Exception:
    """Return an error of the driver with a message for the user."""
    if isinstance(error, TreadleError):
        return error
    import psycopg

    if not isinstance(error, psycopg.Error | OSError):
        return error
    said = _strip_secrets(str(error), url).strip().partition("\n")[0][:MAX_MESSAGE]
    return JournalError(f"{redact_url(url)} can't be used ({said}). {_advise(error)}, {_RESUME}")


def _advise(error: "psycopg.Error | OSError") -> str:
    import psycopg

    if not isinstance(error, psycopg.Error) or classify_error(error) == "gone":
        return _MEND
    if error.sqlstate is not None:
        return _TO_DO.get(error.sqlstate, _OTHERWISE)
    code = "28P01" if any(words in str(error) for words in (_NO[0], _NO[1], _NO[2])) else "3D000"
    return _TO_DO[code] if "does not exist" in str(error) or code == "28P01" else _OTHERWISE


def _strip_secrets(words: str, url: str) -> str:
    """Return the driver's message without passwords. It repeats none, except in URLs that it can't parse."""
    parts = urlsplit(url)
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    for secret in (password, unquote(password), parts.query):
        if secret:
            words = words.replace(secret, "…")
    return words

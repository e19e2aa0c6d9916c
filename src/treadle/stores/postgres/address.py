"""PostgreSQL URLs, and the schema names of users. Pure. A URL is displayed without its password."""

import re
from urllib.parse import urlsplit

from treadle.core.errors import SettingsError

OWNER_SCHEMA = "treadle"  # the schema of a home's owner
MAX_NAME_BYTES = 63  # of a name in PostgreSQL; it would cut a longer one off, and two could become the same

_SCHEMES = ("postgresql", "postgres")
_WORDS = "write postgresql://USER:PASSWORD@HOST/DATABASE, with signs in the password as %-codes"


def check_postgres_url(url: str) -> str:
    """Return a URL. Raises if it isn't a PostgreSQL URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise SettingsError(f"The address of the database can't be read; {_WORDS}.") from None  # the cause may quote a password
    if parts.scheme not in _SCHEMES or not url.partition(":")[2].startswith("//"):
        raise SettingsError(f"The address of the database doesn't begin with postgresql://; {_WORDS}.")
    return url


def redact_url(url: str) -> str:
    """Return a URL for display: the servers and the database."""
    parts = urlsplit(check_postgres_url(url))
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def schema_name(person: str) -> str:
    """Return the schema of a user's home; the owner's schema where no name is given."""
    schema = f"{OWNER_SCHEMA}_{person}" if person else OWNER_SCHEMA
    if "\0" in schema or len(schema.encode(errors="replace")) > MAX_NAME_BYTES or not schema.isprintable():
        raise SettingsError(
            f"{person!r} can't be the name of a person whose runs are kept in PostgreSQL; choose a shorter, plain one."
        )
    return schema


def quote_identifier(name: str) -> str:
    """Quote a SQL identifier, whatever its characters."""
    return '"' + re.sub('"', '""', name) + '"'

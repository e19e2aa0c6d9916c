"""Where a PostgreSQL database is, and which schema of it is whose. Pure. An address is shown without its password."""

import re
from urllib.parse import urlsplit

from treadle.core.errors import SettingsError

OWNERS = "treadle"  # the schema of whoever a home belongs to
MOST_BYTES = 63  # of a name in PostgreSQL; it would cut a longer one off, and two could become the same

_SCHEMES = ("postgresql", "postgres")
_WORDS = "write postgresql://USER:PASSWORD@HOST/DATABASE, with signs in the password as %-codes"


def checked(url: str) -> str:
    """An address that is one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise SettingsError(f"The address of the database can't be read; {_WORDS}.") from None  # the cause may quote a password
    if parts.scheme not in _SCHEMES or not url.partition(":")[2].startswith("//"):
        raise SettingsError(f"The address of the database doesn't begin with postgresql://; {_WORDS}.")
    return url


def shown(url: str) -> str:
    """An address for people: the servers and the database."""
    parts = urlsplit(checked(url))
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def schema_of(person: str) -> str:
    """The schema of one person's home; that of the owner where no name is given."""
    schema = f"{OWNERS}_{person}" if person else OWNERS
    if "\0" in schema or len(schema.encode(errors="replace")) > MOST_BYTES or not schema.isprintable():
        raise SettingsError(
            f"{person!r} can't be the name of a person whose runs are kept in PostgreSQL; choose a shorter, plain one."
        )
    return schema


def quoted(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    return '"' + re.sub('"', '""', name) + '"'

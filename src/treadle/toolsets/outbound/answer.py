"""What a server answered: a value. Whether that is good news is up to whoever asked."""

import re

from msgspec import Struct

_CHARSET = re.compile(r"""charset\s*=\s*"?([^\s";]+)""", re.IGNORECASE)


class Answer(Struct, frozen=True):
    """A whole answer. `headers` have lower-case names; `kind` is the content type without its parameters; `url` is who answered."""

    status: int
    headers: dict[str, str]
    body: bytes
    url: str

    def __repr__(self) -> str:
        return f"Answer(status={self.status}, kind={self.kind!r}, {len(self.body)} bytes)"  # the rest may hold secrets

    @property
    def kind(self) -> str:
        """`application/json` and the like, in lower case; empty where the server doesn't say."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> str:
        """The body as text, in the encoding that the server names; what can't be read becomes a mark."""
        named = _CHARSET.search(self.headers.get("content-type", ""))
        try:
            return self.body.decode(named[1] if named else "utf-8-sig", errors="replace")
        except (LookupError, UnicodeError):  # no such encoding, or one that is no text encoding
            return self.body.decode("utf-8-sig", errors="replace")

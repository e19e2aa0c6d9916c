"""Calls while they stream: ids that are unique in a reply, and arguments that grow until they are complete.

Pure. A complete call may start while the reply still streams, so `complete` is never set too early.
"""

from msgspec import DecodeError, Raw
from msgspec.json import Decoder

from treadle.core.calls import Opaque, Written
from treadle.core.requests import CallDelta, CallDone

FREE_TRIES = 8  # readings of growing arguments before each one has to wait until they have doubled

_read_object = Decoder(dict[str, Raw]).decode


def is_object(text: str) -> bool:
    """Return whether the text is a complete JSON object."""
    try:
        _read_object(text)
    except (DecodeError, UnicodeError, RecursionError):
        return False
    return True


class CallIds:
    """Ids for the calls of one reply: the server's own, or `call_<length of the history>_<number>` where that can't be used."""

    __slots__ = ("_given", "_length")

    def __init__(self, length: int) -> None:
        self._length = length
        self._given: set[str] = set()

    def unique(self, wanted: str | None) -> str:
        """Return the wanted id, unless it is missing or another call of the reply has it."""
        number = len(self._given)
        given = wanted or ""
        while not given or given in self._given:
            number += 1
            given = f"call_{self._length}_{number}"
        self._given.add(given)
        return given


class PartialCall:
    """One call whose arguments are still streaming."""

    __slots__ = ("_depth", "_pieces", "_size", "_tried", "_tries", "complete", "id", "name", "opaque", "server_id")

    def __init__(self, call_id: str, server_id: str) -> None:
        self.id = call_id
        self.server_id = server_id  # as it came; may be missing or a repeat
        self.name = ""
        self.opaque: Opaque | None = None
        self.complete = False  # a JSON object with something in it: nothing that belongs to it can follow
        self._pieces: list[str] = []
        self._size = 0
        self._depth = 0
        self._tries = 0
        self._tried = 0

    @property
    def text(self) -> str:
        """The arguments so far."""
        return "".join(self._pieces)

    def set_name(self, name: str) -> CallDelta:
        """Set the name and return the delta that announces this call."""
        self.name = name
        return CallDelta(self.id, name)

    def add(self, piece: str) -> None:
        """Append to the arguments."""
        if self.complete or not piece:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        # Braces inside of strings count too. That only makes a reading come in vain, or the call complete a little later.
        self._depth += piece.count("{") - piece.count("}")
        if self._depth <= 0 and "}" in piece and piece.rstrip().endswith("}"):
            self._check_complete()

    def settle(self) -> None:
        """Mark the call complete if its arguments are an object, even an empty one: another call has begun."""
        self.complete = self.complete or is_object(self.text)

    def to_call(self, *, cut: bool = False) -> CallDone:
        """Return the call as it is now. `cut` says that the reply ended early; a call with complete arguments wasn't cut."""
        text = self.text
        cut = cut and not (self.complete or is_object(text))
        return CallDone(Written(self.id, self.name, text if text.strip() or cut else "{}", cut, self.opaque))

    def _check_complete(self) -> None:
        if self._tries >= FREE_TRIES and self._size < 2 * self._tried:
            return
        self._tries += 1
        self._tried = self._size
        text = self.text
        # Some servers write {} first and the arguments after it, so an empty object may be a beginning.
        self.complete = is_object(text) and text.strip("{} \t\r\n") != ""

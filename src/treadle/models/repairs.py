"""Requests that repair themselves: what a server says it doesn't accept is dropped or converted, and remembered for its model.

`diagnosis` finds a repair by a server's words, `request_changes` makes it; here they are values, and remembered. What can't be read
stays a refusal. Nothing happens twice by it: a request that was refused has had no effect.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

Kind = Literal[
    "drop",  # leave a field out
    "rename",  # send it under another name
    "set",  # send another value
    "fit",  # ask for as many tokens as there is room for, in this request
    "single",  # one value instead of a list
    "no_system",  # instructions go into the first message of the user
    "short_ids",  # call ids of nine letters or digits
    "between",  # something is said between results and a user's message
    "alternate",  # messages of one role that follow each other are joined
    "reasoning",  # the reasoning of messages with calls goes back, empty where there is none
    "content",  # no message without content
    "no_stream",  # the response comes in one
    "in_text",  # calls are asked for in the model's text; the request itself stays as it is
]


class Repair(Struct, frozen=True, omit_defaults=True):
    """One change to every request for a model: to `field`, a name or a path (`request_fields`) such as `generationConfig.topK`."""

    kind: Kind
    field: str = ""
    value: Any = None

    @property
    def words(self) -> str:
        """What is done, for people."""
        match self.kind:
            case "drop":
                return f"{self.field} isn't sent"
            case "rename":
                return f"{self.field} is sent as {self.value}"
            case "set" | "fit":
                return f"{self.field} is sent as {self.value}"
            case "single":
                return f"{self.field} is sent as one value"
            case _:
                return _WORDS[self.kind]

    @property
    def lasting(self) -> bool:
        """Whether it holds for the requests to come, too."""
        return self.kind != "fit"


_WORDS = {
    "no_system": "instructions are sent with the first message",
    "short_ids": "ids of calls are shortened",
    "between": "a message is put between results and the next question",
    "alternate": "messages of one role are joined",
    "reasoning": "reasoning is sent back with calls",
    "content": "messages without words get empty ones",
    "no_stream": "responses aren't streamed",
    "in_text": "calls are asked for in its text",
}

IN_TEXT = Repair("in_text")
REASONING = Repair("reasoning")


class Memory:
    """Repairs by model and address, for this process. Where one is to last, `load` and `save` say how."""

    def __init__(self) -> None:
        self.load: Callable[[], dict[str, tuple[Repair, ...]]] | None = None
        self.save: Callable[[dict[str, tuple[Repair, ...]]], None] | None = None
        self._known: dict[str, tuple[Repair, ...]] | None = None

    def of(self, model: str, address: str) -> tuple[Repair, ...]:
        """Return the repairs that are known for a model."""
        return self.all().get(_key(model, address), ())

    def add(self, model: str, address: str, repair: Repair) -> None:
        """Remember one more."""
        known, key = self.all(), _key(model, address)
        known[key] = (*known.get(key, ()), repair)
        if self.save is not None:
            self.save(known)

    def remove(self, model: str, address: str, repairs: Sequence[Repair]) -> None:
        """Take back repairs that didn't help."""
        known, key = self.all(), _key(model, address)
        if not repairs or key not in known:
            return
        rest = tuple([repair for repair in known.pop(key) if repair not in repairs])
        known |= {key: rest} if rest else {}
        if self.save is not None:
            self.save(known)

    def forget(self, model: str) -> bool:
        """Forget what is known of a model, at whatever address; whether there was anything."""
        known = self.all()
        gone = [key for key in known if key.partition(" ")[0] == model]
        for key in gone:
            del known[key]
        if gone and self.save is not None:
            self.save(known)
        return bool(gone)

    def all(self) -> dict[str, tuple[Repair, ...]]:
        """Return everything that is known, by model and address."""
        if self._known is None:
            self._known = self.load() if self.load is not None else {}
        return self._known


def _key(model: str, address: str) -> str:
    return f"{model} {address}"


memory = Memory()

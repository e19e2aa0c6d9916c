"""Automatic repair of refused requests: fields that a server doesn't accept are dropped or converted, and remembered per model.

`diagnosis` finds a repair from a server's message, `request_changes` applies it; here repairs are values, and remembered. A
message that can't be parsed stays a refusal. No effect happens twice: a refused request has had none.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

RepairKind = Literal[
    "drop",  # leave a field out
    "rename",  # send it under another name
    "set",  # send another value
    "fit",  # ask for as many tokens as there is room for, in this request
    "shorten",  # cut texts to this many characters
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

    kind: RepairKind
    field: str = ""
    value: Any = None

    @property
    def words(self) -> str:
        """Description of the change for people."""
        match self.kind:
            case "drop":
                return f"{self.field} isn't sent"
            case "rename":
                return f"{self.field} is sent as {self.value}"
            case "set" | "fit":
                return f"{self.field} is sent as {self.value}"
            case "shorten":
                return f"{self.field} is cut to {self.value} characters"
            case "single":
                return f"{self.field} is sent as one value"
            case _:
                return _DESCRIPTIONS[self.kind]

    @property
    def lasting(self) -> bool:
        """Whether it applies to future requests, too."""
        return self.kind != "fit"


_DESCRIPTIONS = {
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


class RepairMemory:
    """Repairs by model and address, for this process. `load` and `save` make them persistent."""

    def __init__(self) -> None:
        self.load: Callable[[], dict[str, tuple[Repair, ...]]] | None = None
        self.save: Callable[[dict[str, tuple[Repair, ...]]], None] | None = None
        self._known: dict[str, tuple[Repair, ...]] | None = None

    def of(self, model: str, address: str) -> tuple[Repair, ...]:
        """Return the known repairs for a model."""
        known = self.all() if self._known is None else self._known
        return known.get(_memory_key(model, address), ()) if known else ()

    def add(self, model: str, address: str, repair: Repair) -> None:
        """Remember another repair."""
        known, key = self.all(), _memory_key(model, address)
        known[key] = (*known.get(key, ()), repair)
        if self.save is not None:
            self.save(known)

    def remove(self, model: str, address: str, repairs: Sequence[Repair]) -> None:
        """Remove repairs that didn't help."""
        known, key = self.all(), _memory_key(model, address)
        if not repairs or key not in known:
            return
        rest = tuple([repair for repair in known.pop(key) if repair not in repairs])
        known |= {key: rest} if rest else {}
        if self.save is not None:
            self.save(known)

    def forget(self, model: str) -> bool:
        """Forget the repairs of a model at any address; return whether there were any."""
        known = self.all()
        gone = [key for key in known if key.partition(" ")[0] == model]
        for key in gone:
            del known[key]
        if gone and self.save is not None:
            self.save(known)
        return bool(gone)

    def all(self) -> dict[str, tuple[Repair, ...]]:
        """Return all repairs, by model and address."""
        if self._known is None:
            self._known = self.load() if self.load is not None else {}
        return self._known


def _memory_key(model: str, address: str) -> str:
    return f"{model} {address}"


repair_memory = RepairMemory()

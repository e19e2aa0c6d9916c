"""What a mock server answers, in words of no wire: replies made of parts, and failures. Each wire's server renders them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Finish = Literal["", "length", "filter", "refusal", "malformed", "pause", "context", "error"]
Kind = Literal["rate_limit", "overloaded", "server", "auth", "not_found", "context", "filter", "bad_call", "page"]


@dataclass(frozen=True)
class Say:
    """Text."""

    text: str


@dataclass(frozen=True)
class Think:
    """Reasoning, with what the wire seals it with. `hidden` reasoning has a seal and no text."""

    text: str
    seal: str = "c2VhbC0x"
    hidden: bool = False


@dataclass(frozen=True)
class Ask:
    """A call. Arguments in a string are sent as they are, right or wrong. `id` None leaves it to the server."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)

    @property
    def value(self) -> Any:
        """The arguments as a value; None where they can't be read."""
        try:
            return json.loads(self.text or "{}")
        except ValueError:
            return None


@dataclass(frozen=True)
class Give:
    """A structured answer, in whichever way the request asked for one: native JSON, or a call of an output tool."""

    value: Any


@dataclass(frozen=True)
class Block:
    """A part in the wire's own words that has to come back unchanged, such as a server tool's result."""

    json: Mapping[str, Any]


Part = Say | Think | Ask | Give | Block


@dataclass(frozen=True)
class Tokens:
    """What a request used. All that was read is `input`, also what was cached or written to the cache."""

    input: int = 100
    output: int = 20
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Fail:
    """An answer that is no reply, or an error event where it ends a `Reply`. `retry_after` is told where the wire can."""

    kind: Kind
    status: int | None = None
    retry_after: float | None = None


@dataclass(frozen=True)
class Reply:
    """A reply.

    quirks   oddities of some servers of the wire, by name
    cut      the share of the bytes of a stream after which the connection ends
    failure  a stream ends with this error instead of its proper end
    """

    parts: tuple[Part, ...]
    finish: Finish = ""
    tokens: Tokens = Tokens()
    quirks: frozenset[str] = frozenset()
    cut: float | None = None
    failure: Fail | None = None

    @property
    def calls(self) -> list[Ask]:
        return [part for part in self.parts if isinstance(part, Ask)]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Say))

    @property
    def whole(self) -> bool:
        """Whether all of it reaches the client."""
        return self.cut is None and self.failure is None


Answer = Reply | Fail


def reply(*parts: Part | str, quirks: str = "", **settings: Any) -> Reply:
    """A reply; words alone are said. Quirks are named in one string."""
    made = tuple(Say(part) if isinstance(part, str) else part for part in parts)
    return Reply(made, quirks=frozenset(quirks.split()), **settings)


def pieces(text: str, size: int = 5) -> list[str]:
    """The text in pieces, as a server streams it."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def argument_pieces(text: str) -> list[str]:
    """Arguments in pieces: small ones first, so that long arguments don't make thousands of events."""
    return [*pieces(text[:60], 7), *pieces(text[60:], 4000)]

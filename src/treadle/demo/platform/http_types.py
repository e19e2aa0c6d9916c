"""Data types of the demo platform: users, requests, responses, and the exception that refuses a request."""

from collections.abc import Mapping
from datetime import datetime
from sqlite3 import Connection
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

Shape = Literal["new", "old"]

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class PlatformUser(Struct, frozen=True):
    """An authenticated user."""

    username: str
    team: str
    role: Literal["admin", "developer"]

    @property
    def is_admin(self) -> bool:
        """Whether they see everything of every team."""
        return self.role == "admin"

    def sees(self, team: str) -> bool:
        """Return whether they may see and change what belongs to a team."""
        return self.is_admin or team == self.team


class PlatformRequest(Struct, frozen=True):
    """A request with its whole body. Header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    named: Mapping[str, str]
    body: bytes
    address: str


class PlatformResponse(Struct, frozen=True):
    """A response."""

    status: int
    media: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict[str, str])


class RequestRefused(Exception):
    """A refused request that changed nothing: the text and status of the response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class RequestContext(Struct, frozen=True):
    """One request inside its transaction. `begun` collects the executions to run after it."""

    db: Connection
    at: datetime
    who: PlatformUser
    shape: Shape
    begun: list[int] = field(default_factory=list[int])


def json_reply(value: Any, status: int = 200) -> PlatformResponse:
    """Build a JSON response."""
    return PlatformResponse(status, JSON, msgspec.json.encode(value) + b"\n")


def text_reply(text: str, status: int) -> PlatformResponse:
    """Build a plain-text response, as used for errors here."""
    return PlatformResponse(status, TEXT, f"{text}\n".encode(errors="replace"))

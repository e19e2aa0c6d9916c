"""What goes in and out of the platform: users, requests and answers. Values, and the one way to refuse."""

from collections.abc import Mapping
from datetime import datetime
from sqlite3 import Connection
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

Shape = Literal["new", "old"]

TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class User(Struct, frozen=True):
    """Somebody who is known here."""

    username: str
    team: str
    role: Literal["admin", "developer"]

    @property
    def is_admin(self) -> bool:
        """Whether they see what is of every team."""
        return self.role == "admin"

    def sees(self, team: str) -> bool:
        """Whether what a team has is theirs to see and change."""
        return self.is_admin or team == self.team


class Asked(Struct, frozen=True):
    """A request, read whole. Names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    cookies: Mapping[str, str]
    named: Mapping[str, str]
    body: bytes
    address: str


class Answer(Struct, frozen=True):
    """What is said to a request."""

    status: int
    media: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict[str, str])


class Refused(Exception):
    """Nothing was done, and why: the text and status of the answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Visit(Struct, frozen=True):
    """One request at the platform, inside of its transaction. `begun` collects the executions that shall run after it."""

    db: Connection
    at: datetime
    who: User
    shape: Shape
    begun: list[int] = field(default_factory=list[int])


def said(value: Any, status: int = 200) -> Answer:
    """An answer in JSON."""
    return Answer(status, JSON, msgspec.json.encode(value) + b"\n")


def plainly(text: str, status: int) -> Answer:
    """An answer in plain text, as errors are given here."""
    return Answer(status, TEXT, f"{text}\n".encode(errors="replace"))

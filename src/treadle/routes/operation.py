"""What a route does, as values: what can be asked of it, and every answer there can be. Who answers is `described`."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from treadle.routes.declaration import JSON, Problem


class Answer(Struct, frozen=True):
    """One answer that a route may give.

    words   when, or what it is
    kind    its type; without one it has no body
    events  whether whoever wants a stream of events gets that instead
    links   operations that can be asked next, about the run that is named in it
    """

    words: str
    kind: Any = None
    content: str = JSON
    events: bool = False
    links: tuple[str, ...] = ()


class Operation(Struct, frozen=True):
    """What a route does.

    query    what can stand behind the question mark, as a Struct
    body     what has to be sent; with `optional`, it may be left out
    answers  by their status; those that every route may give needn't be among them
    headers  that are looked at, and what for
    problem  the shape of what goes wrong, where that is another than `Problem`
    runs     it carries a run out, which counts among those that a person has under way for as long as it is answered
    open     it needs nobody who is known
    """

    summary: str
    query: type[Struct] | None = None
    body: Any = None
    optional: bool = False
    answers: Mapping[int, Answer] = {}
    headers: Mapping[str, str] = {}
    problem: Any = None
    runs: bool = False
    open: bool = False


def problem(words: str) -> Answer:
    """An answer that says what went wrong."""
    return Answer(words, Problem)

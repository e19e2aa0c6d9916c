"""What a handler declares: its method and path, its errors, and how the type that it returns becomes a response.

    @get("/api/shelf/{item}", errors={404: "there is no such item"})
    async def stock(item: str, query: Depth) -> Stock:
        '''What is on the shelf.'''

The signature says the rest; `handlers` reads it. Nothing of a server is imported here.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Struct

JSON, HTML, EVENTS = "application/json", "text/html; charset=utf-8", "text/event-stream; charset=utf-8"
UNFIT = 400
ATTRIBUTE = "__declaration__"

T = TypeVar("T")
HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])
Error = str | tuple[str, Any]  # when it happens; and the type of the response's body, where that is another than `Problem`


class Problem(Struct, frozen=True):
    """What went wrong, in a sentence; `error` and `detail` are the same."""

    success: Literal[False]
    error: str
    detail: str


class Returns(Struct, frozen=True):
    """How what a handler returns becomes a response: `Annotated[Job, Returns(202)]`.

    description  what it is, for the documentation; else it is the first line of the type's docstring
    body         the type of the body, where the handler returns a Starlette response: `Annotated[Response, Returns(body=Job)]`
    """

    status: int = 200
    description: str = ""
    media_type: str = JSON
    body: Any = None


Created = Annotated[T, Returns(201)]
Accepted = Annotated[T, Returns(202)]
Events = Annotated[AsyncIterator[T], Returns(200, "events, each a line of JSON", EVENTS)]  # server-sent events


class Declaration(Struct, frozen=True):
    """What a decorator such as `@get` declares about a handler.

    errors   the status codes it answers with where something goes wrong, and when; those that every route has needn't be said
    returns  the description of the response, where the docstring of its type doesn't do
    accepts  the type of the request body, where the handler reads that from the request itself
    headers  the request headers it reads, and what for
    problem  the type of an error's body, where that is another than the other handlers'
    links    the operations that can follow, about the run that the response names
    runs     it carries a run out, which counts among those that a person has under way until the response is complete
    public   it needs nobody who is signed in
    unfit    the status code for a query or body that doesn't fit its type
    most     the bytes of a request body that it takes; without it 4 MB, and 64 MB is the largest there can be
    listed   it is in the OpenAPI document
    """

    method: str
    path: str = ""
    errors: Mapping[int, Error] = {}
    returns: str = ""
    accepts: Any = None
    headers: Mapping[str, str] = {}
    problem: Any = None
    links: tuple[str, ...] = ()
    runs: bool = False
    public: bool = False
    unfit: int = UNFIT
    most: int | None = None
    listed: bool = True

    def __call__(self, handler: HandlerT) -> HandlerT:
        """Mark a function or method as a handler; it stays what it is."""
        setattr(handler, ATTRIBUTE, self)
        return handler


get = partial(Declaration, "GET")
post = partial(Declaration, "POST")
put = partial(Declaration, "PUT")
delete = partial(Declaration, "DELETE")

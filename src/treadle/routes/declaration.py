"""The declaration of a handler: its method and path, its errors, and how its return type becomes a response.

    @get("/api/shelf/{item}", errors={404: "there is no such item"})
    async def stock(item: str, query: Depth) -> Stock:
        '''Return what is on the shelf.'''

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
    """An error message, in a sentence; `error` and `detail` are the same."""

    success: Literal[False]
    error: str
    detail: str


class Returns(Struct, frozen=True):
    """How a handler's return value becomes a response: `Annotated[Job, Returns(202)]`.

    description  for the documentation; by default the first line of the type's docstring
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

    errors   the error status codes and their conditions; those that every route has needn't be listed
    returns  the description of the response, where the docstring of its type isn't suitable
    accepts  the type of the request body, where the handler reads that from the request itself
    headers  the request headers it reads, and what for
    problem  the type of an error's body, where that differs from the other handlers'
    links    the operations that can follow, for the run in the response
    runs     it executes a run, which counts against the user's limit of active runs until the response is complete
    public   it needs no authentication
    unfit    the status code for an invalid query or body
    most     the maximum bytes of its request body; 4 MB by default, 64 MB at most
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
        """Mark a function or method as a handler and return it unchanged."""
        setattr(handler, ATTRIBUTE, self)
        return handler


get = partial(Declaration, "GET")
post = partial(Declaration, "POST")
put = partial(Declaration, "PUT")
delete = partial(Declaration, "DELETE")

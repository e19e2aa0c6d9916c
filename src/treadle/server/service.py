"""What the server itself does for one person: models, runs, approvals, jobs, audit, figures, and the document that lists it all."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec import Struct
from starlette.routing import BaseRoute

from treadle.app.assistant import Assistant, Host
from treadle.routes import get, routes_of
from treadle.server.audit import audit_routes
from treadle.server.demo.recordings import demonstration_routes
from treadle.server.documents import document_routes
from treadle.server.jobs import job_routes
from treadle.server.mcp.http import mcp_routes
from treadle.server.metrics import Figures, metrics_routes
from treadle.server.models import Fetching, Models, model_routes
from treadle.server.pages import panel_path
from treadle.server.runs.routes import run_routes
from treadle.server.runs.service import HostedRuns
from treadle.server.stats import stats_routes
from treadle.server.wires.routes import wire_routes
from treadle.stores.people import LOCAL, Person, Role


class Me(Struct, frozen=True):
    """Who asks. `local` is whoever started a server that has no users."""

    name: str
    role: Role
    local: bool


class Told(Struct, frozen=True, omit_defaults=True):
    """An assistant, as programs are told of it. `only_panel` says why conversations can begin in its panel alone."""

    name: str
    title: str
    summary: str
    questions: tuple[str, ...]
    panel: str | None
    only_panel: str = ""


class Shared(Struct, frozen=True):
    """What all persons of a server share."""

    figures: Figures
    fetching: Fetching


def make_shared(fetching: Fetching | None = None) -> Shared:
    """For one server."""
    return Shared(Figures(), fetching or Fetching())


class Service:
    """All of it, for one person."""

    def __init__(self, assistants: Sequence[Assistant], host: Host, person: Person, shared: Shared) -> None:
        self._assistants = assistants
        self._host = host
        self._person = person
        self._shared = shared
        self._models = Models(host, is_local=person == LOCAL, fetching=shared.fetching)
        self._runs = HostedRuns(assistants, host, self._models, shared.figures)

    def open(self) -> AbstractAsyncContextManager[Any]:
        """For as long as the application runs."""
        return self._runs.open()

    def routes(self, all_routes: Callable[[], Sequence[BaseRoute]]) -> list[BaseRoute]:
        """The routes. `all_routes` gives those of the whole application, for the document."""
        return [
            *about_routes(self._assistants, self._person),
            *model_routes(self._models),
            *run_routes(self._runs),
            *demonstration_routes(self._host.home),
            *job_routes(self._assistants, self._host),
            *audit_routes(self._host.home),
            *stats_routes(self._host.home),
            *metrics_routes(self._shared.figures),
            *document_routes(all_routes, self._assistants),
            *wire_routes(self._assistants, self._host, self._models.named, self._shared.figures),
            *mcp_routes(self._assistants, self._host, self._shared.figures),
        ]


def about_routes(assistants: Sequence[Assistant], person: Person) -> list[BaseRoute]:
    """Who asks, and whom they can ask."""
    told = [_told(each) for each in assistants]

    @get("/api/me", returns="the person")
    async def me() -> Me:
        """Who asks."""
        return Me(person.name, person.role, person == LOCAL)

    @get("/api/assistants", returns="the assistants")
    async def listed() -> list[Told]:
        """The assistants that are installed."""
        return told

    return routes_of(me, listed)


def _told(assistant: Assistant) -> Told:
    only = assistant.panel.only if assistant.panel else ""
    return Told(assistant.name, assistant.title, assistant.summary, assistant.questions, panel_path(assistant), only)

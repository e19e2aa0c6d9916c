"""The server's own API for one user: models, runs, approvals, jobs, audit, statistics, and the OpenAPI document."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from time import time
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.admin.stats import open_stats, parse_moment
from treadle.agent.quotas import Quotas, QuotaUsage
from treadle.core.errors import SettingsError
from treadle.home import Home
from treadle.plugins.assistant import Assistant, Host
from treadle.routes import get, routes_of
from treadle.server.api_docs import document_routes
from treadle.server.audit import audit_routes
from treadle.server.compat.routes import compat_routes
from treadle.server.conversations import conversation_routes
from treadle.server.demo.recordings import demonstration_routes
from treadle.server.jobs import job_routes
from treadle.server.mcp.http import mcp_routes
from treadle.server.metrics import ServerMetrics, metrics_routes
from treadle.server.models import DownloadTracker, ModelCatalog, model_routes
from treadle.server.pages import panel_path
from treadle.server.queues import queue_routes
from treadle.server.runs.feedback import feedback_routes
from treadle.server.runs.hosted_runs import HostedRuns
from treadle.server.runs.routes import run_routes
from treadle.server.settings.access import SettingsAccess
from treadle.server.settings.data import data_routes
from treadle.server.settings.notes import note_routes
from treadle.server.settings.providers import provider_routes
from treadle.server.settings.tool_sources import tool_source_routes
from treadle.server.settings.users import user_admin_routes
from treadle.server.settings.values import settings_routes
from treadle.server.sharing import sharing_routes
from treadle.stores.accounts import LOCAL_OWNER, Role, User
from treadle.stores.stats.values import StatsQuery, StatsReport
from treadle.stores.users import Users


class CurrentUser(Struct, frozen=True):
    """The authenticated user. `local` is the owner of a server that has no users."""

    name: str
    role: Role
    local: bool


class AssistantView(Struct, frozen=True, omit_defaults=True):
    """An assistant. `only_panel` says why conversations can start only in its panel, `asks_in_panel` that they better do.

    A `quick` one answers quickly also with a small model.
    """

    name: str
    title: str
    summary: str
    questions: tuple[str, ...]
    panel: str | None
    only_panel: str = ""
    asks_in_panel: bool = False
    quick: bool = False


class ServerState(Struct, frozen=True):
    """State that all users of a server share."""

    figures: ServerMetrics
    fetching: DownloadTracker
    quotas: Quotas | None = None
    users: Users | None = None
    home: Home | None = None
    is_authenticated: bool = False


def make_server_state(
    host: Host, fetching: DownloadTracker | None = None, users: Users | None = None, *, is_authenticated: bool = False
) -> ServerState:
    """Create the state of one server; `host` is that of its owner, whose runs workers execute.

    Settings can be changed only where requests are authenticated.
    """
    return ServerState(
        ServerMetrics(host.home.database), fetching or DownloadTracker(), users=users, is_authenticated=is_authenticated
    )


class ServerApi:
    """The server's API for one user."""

    def __init__(self, assistants: Sequence[Assistant], host: Host, person: User, shared: ServerState) -> None:
        self._assistants = assistants
        self._host = host
        self._person = person
        self._shared = shared
        self._models = ModelCatalog(host, is_local=person == LOCAL_OWNER, fetching=shared.fetching)
        self._runs = HostedRuns(assistants, host, self._models, shared.figures)

    def open(self) -> AbstractAsyncContextManager[Any]:
        """Return the context in which the application runs."""
        return self._runs.open()

    def routes(self, all_routes: Callable[[], Sequence[BaseRoute]]) -> list[BaseRoute]:
        """Return the routes. `all_routes` returns those of the whole application, for the OpenAPI document."""
        return [
            *about_routes(self._assistants, self._person),
            *model_routes(self._models),
            *run_routes(self._runs),
            *feedback_routes(self._runs),
            *sharing_routes(self._shared.users, self._shared.home or self._host.home, self._person, self._runs),
            *conversation_routes(self._runs, self._assistants, self._host.user),
            *demonstration_routes(self._host.home),
            *job_routes(self._assistants, self._host),
            *audit_routes(self._host.home),
            *stats_routes(self._host.home),
            *queue_routes(self._host.home),
            *quota_routes(self._shared.quotas, self._person),
            *self._settings_routes(),
            *metrics_routes(self._shared.figures),
            *document_routes(all_routes, self._assistants),
            *compat_routes(self._assistants, self._host, self._models.get_model, self._shared.figures),
            *mcp_routes(self._assistants, self._host, self._shared.figures),
        ]

    def _settings_routes(self) -> list[BaseRoute]:
        access = SettingsAccess(self._person, self._shared.users, self._shared.is_authenticated)
        return [
            *settings_routes(access),
            *provider_routes(access, self._shared.fetching, self._host.on_close),
            *tool_source_routes(access, self._host.home),
            *user_admin_routes(access),
            *note_routes(access, self._host.home.folder),
            *data_routes(self._runs, self._host.user, self._host.sharing),
        ]


def about_routes(assistants: Sequence[Assistant], person: User) -> list[BaseRoute]:
    """Return the routes about the user and the assistants."""
    told = [_to_view(each) for each in assistants]

    @get("/api/me", returns="the person")
    async def me() -> CurrentUser:
        """Get the authenticated user."""
        return CurrentUser(person.name, person.role, person == LOCAL_OWNER)

    @get("/api/assistants", returns="the assistants")
    async def list_assistants() -> list[AssistantView]:
        """List the installed assistants."""
        return told

    return routes_of(me, list_assistants)


def _to_view(assistant: Assistant) -> AssistantView:
    panel = assistant.panel
    return AssistantView(
        assistant.name,
        assistant.title,
        assistant.summary,
        assistant.questions,
        panel_path(assistant),
        panel.only if panel else "",
        bool(panel and (panel.asks or panel.only)),
        assistant.quick,
    )


class StatsParameters(Struct, frozen=True):
    """Grouping and filters, as on the command line."""

    by: Literal["", "tool", "assistant", "model", "user", "day"] = ""
    since: Annotated[str, Meta(description="A day, or how long ago: `7d`.")] = ""
    until: Annotated[str, Meta(description="A day, or how long ago.")] = ""
    assistant: str = ""
    model: str = ""
    tool: Annotated[str, Meta(description="A name, or a glob such as `read_*`.")] = ""
    user: str = ""


def stats_routes(home: Home) -> list[BaseRoute]:
    """Return the route."""
    stats = open_stats(home)

    @get("/api/stats", returns="the figures")
    async def figures(query: StatsParameters) -> StatsReport:
        """Get statistics about calls."""
        return await stats.ask(parse_stats_parameters(query))

    return routes_of(figures)


def quota_routes(quotas: Quotas | None, person: User) -> list[BaseRoute]:
    """Return the route of a user's quotas."""

    @get("/api/quotas", returns="the quotas")
    async def list_quotas() -> list[QuotaUsage]:
        """List your quotas, with what is used of each in the current period."""
        return [] if quotas is None else await quotas.usage_of(person)

    return routes_of(list_quotas)


def parse_stats_parameters(asked: StatsParameters) -> StatsQuery:
    """Parse the query string; raise 400 with a sentence where a time is invalid."""
    now = time()
    try:
        since, until = parse_moment(asked.since, now), parse_moment(asked.until, now, end=True)
    except SettingsError as error:
        raise HTTPException(400, str(error)) from error
    return StatsQuery(asked.by or "tool", since, until, asked.assistant, asked.model, asked.tool, asked.user)

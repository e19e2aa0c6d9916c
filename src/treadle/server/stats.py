"""Statistics over HTTP, for API clients and the statistics page: `GET /api/stats`. `stores.stats.values` defines them."""

from time import time
from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.admin.stats import open_stats, parse_moment
from treadle.core.errors import SettingsError
from treadle.home import Home
from treadle.routes import get, routes_of
from treadle.stores.stats.values import StatsQuery, StatsReport


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


def parse_stats_parameters(asked: StatsParameters) -> StatsQuery:
    """Parse the query string; raise 400 with a sentence where a time is invalid."""
    now = time()
    try:
        since, until = parse_moment(asked.since, now), parse_moment(asked.until, now, end=True)
    except SettingsError as error:
        raise HTTPException(400, str(error)) from error
    return StatsQuery(asked.by or "tool", since, until, asked.assistant, asked.model, asked.tool, asked.user)

"""The figures over HTTP, for programs and for the page of figures: `GET /api/stats`. What they mean is `stores.stats.values`."""

from time import time
from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle.app.home import Home
from treadle.app.stats import moment, stats_of
from treadle.core.errors import SettingsError
from treadle.routes import get, routes_of
from treadle.stores.stats.values import Question, Report


class StatsAsked(Struct, frozen=True):
    """What can be asked by, as on the command line."""

    by: Literal["", "tool", "assistant", "model", "user", "day"] = ""
    since: Annotated[str, Meta(description="A day, or how long ago: `7d`.")] = ""
    until: Annotated[str, Meta(description="A day, or how long ago.")] = ""
    assistant: str = ""
    model: str = ""
    tool: Annotated[str, Meta(description="A name, or a glob such as `read_*`.")] = ""
    user: str = ""


def stats_routes(home: Home) -> list[BaseRoute]:
    """What is asked of them."""
    stats = stats_of(home)

    @get("/api/stats", returns="the figures")
    async def figures(query: StatsAsked) -> Report:
        """Figures about calls."""
        return await stats.ask(question_of(query))

    return routes_of(figures)


def question_of(asked: StatsAsked) -> Question:
    """What is asked; 400 and a sentence where a time makes no sense."""
    now = time()
    try:
        since, until = moment(asked.since, now), moment(asked.until, now, end=True)
    except SettingsError as error:
        raise HTTPException(400, str(error)) from error
    return Question(asked.by or "tool", since, until, asked.assistant, asked.model, asked.tool, asked.user)

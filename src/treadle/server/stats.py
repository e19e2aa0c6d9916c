"""The figures over HTTP, for programs and for the page of figures: `GET /api/stats`. What they mean is `stores.stats.values`."""

from time import time
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from treadle.app.home import Home
from treadle.app.stats import moment, stats_of
from treadle.core.errors import SettingsError
from treadle.routes import Answer, Described, Operation
from treadle.stores.stats.values import BY, By, Question, Report

PICKED = ("assistant", "model", "tool", "user")
NAMES = ("by", "since", "until", *PICKED)


def stats_routes(home: Home) -> list[BaseRoute]:
    """What is asked of them."""
    stats = stats_of(home)

    async def asked(request: Request) -> Response:
        return Response(msgspec.json.encode(await stats.ask(question_of(request))), media_type="application/json")

    return [Described("/api/stats", asked, OPERATION)]


class StatsAsked(Struct, frozen=True):
    """What can be asked by."""

    by: Literal["", "tool", "assistant", "model", "user", "day"] = ""
    since: Annotated[str, Meta(description="A day, or how long ago: `7d`.")] = ""
    until: Annotated[str, Meta(description="A day, or how long ago.")] = ""
    assistant: str = ""
    model: str = ""
    tool: Annotated[str, Meta(description="A name, or a glob such as `read_*`.")] = ""
    user: str = ""


OPERATION = Operation("Figures about calls", query=StatsAsked, answers={200: Answer("the figures", Report)})


def question_of(request: Request) -> Question:
    """What is asked, by the same names as on the command line; else it is answered with 400 and a sentence."""
    said, now = request.query_params, time()
    strange = next((name for name in said if name not in NAMES), None)
    if strange is not None:
        raise HTTPException(400, f"There is no {strange!r} to ask by; there are {', '.join(NAMES)}.")
    by: By | None = next((each for each in BY if each == (said.get("by") or "tool")), None)
    if by is None:
        raise HTTPException(400, f"Figures can't be had by {said['by']!r}, only by {', '.join(BY)}.")
    try:
        since, until = moment(said.get("since", ""), now), moment(said.get("until", ""), now, end=True)
    except SettingsError as error:
        raise HTTPException(400, str(error)) from error
    assistant, model, tool, user = [said.get(name, "") for name in PICKED]
    return Question(by, since, until, assistant, model, tool, user)

"""What a platform can be asked for, whichever version it is: each by the path that this one knows, in one form."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from treadle import ToolProblem
from treadle.assistants.platform import shapes
from treadle.assistants.platform.server import Missing, NoSuchPath, Platform, named
from treadle.assistants.platform.shapes import Json

PAGE = 100  # workflows a page, the most that platforms give
PAGES = 10  # pages that are looked through for those that were asked for

APPLICATIONS = ("/api/applications", "/api/specs")  # the newer path first
APPLICATION = ("/api/applications/{}", "/api/specs/{}")


async def user(platform: Platform) -> Json:
    """Who the token belongs to."""
    return shapes.user(await platform.get("/api/profile"))


async def applications(platform: Platform) -> list[Json]:
    """All that the person may see."""
    return shapes.applications(await _by(APPLICATIONS, platform.get))


async def application(platform: Platform, name: str) -> Json:
    """One of them."""
    return shapes.application(name, await _by(_of(name), platform.get))


async def running(platform: Platform, name: str) -> Json | None:
    """What runs under a name; None where nothing does."""
    try:
        return await application(platform, name)
    except NoSuchPath:
        raise
    except Missing:
        return None


async def workflows(platform: Platform, app: str = "", status: str = "") -> tuple[list[Json], int]:
    """The newest executions, and how many there are. Versions that know no filter are filtered here."""
    query = {key: value for key, value in (("app", app), ("status", status)) if value}
    found: list[Json] = []
    total = seen = 0
    for page in range(PAGES):
        answer = await platform.get(
            "/api/workflows", {**query, "limit": str(PAGE), "page": str(page + 1), "offset": str(page * PAGE)}
        )
        some, total = shapes.workflows(answer)
        found += [each for each in some if _fits(each, app, status)]
        seen += len(some)
        if len(some) < PAGE or (isinstance(answer, dict) and seen >= total):
            break
    return found, len(found) if query else max(total, len(found))


def _fits(workflow: Json, app: str, status: str) -> bool:
    return (not app or workflow.get("application_name") == app) and (not status or workflow.get("status") == status)


def workflow_number(text: str) -> int:
    """The number of a workflow, as a model or a person writes it."""
    number = text.strip().lstrip("#")
    if not (number.isascii() and number.isdecimal()):
        raise ToolProblem("A workflow's id is a number. list_workflows shows them.")
    return int(number)


async def workflow(platform: Platform, number: int) -> Json:
    """One execution with its steps."""
    return shapes.workflow(await platform.get(f"/api/workflows/{number}"))


async def resources(platform: Platform, app: str = "") -> list[Json]:
    """Resources, of one application or of all."""
    found = shapes.resources(await platform.get("/api/resources", {"app": app} if app else {}))
    return [each for each in found if not app or each.get("application_name", app) == app]


async def stats(platform: Platform) -> Json:
    """How much there is of everything."""
    return shapes.stats(await platform.get("/api/stats"))


async def golden_paths(platform: Platform) -> list[Json]:
    """The paved ways of doing things."""
    return shapes.golden_paths(await platform.get("/api/golden-paths"))


async def providers(platform: Platform) -> list[Json]:
    """What makes resources."""
    return shapes.providers(await platform.get("/api/providers"))


async def run_golden_path(platform: Platform, path: str, spec: str, parameters: Mapping[str, str], key: str) -> Any:
    """Deploy a spec by a golden path."""
    query = {f"param.{name}": value for name, value in parameters.items()}
    return await platform.post(named("/api/workflows/golden-paths/{}/execute", path), spec, "application/yaml", key, query)


async def retry(platform: Platform, number: int, key: str) -> Any:
    """Retry a failed workflow, as it is."""
    return await platform.post(f"/api/workflows/{number}/retry", "", "application/json", key)


async def deploy(platform: Platform, spec: str, key: str) -> Any:
    """Deploy a spec. A path that a version doesn't know has no effect there, so the older one may follow."""
    return await _by(APPLICATIONS, lambda path: platform.post(path, spec, "application/yaml", key))


async def delete(platform: Platform, name: str, key: str) -> Any:
    """Delete an application."""
    return await _by(_of(name), lambda path: platform.delete(path, key))


def _of(name: str) -> tuple[str, ...]:
    return tuple([named(path, name) for path in APPLICATION])


async def _by(paths: Sequence[str], ask: Callable[[str], Awaitable[Any]]) -> Any:
    """By the first path that this version knows."""
    for path in paths[:-1]:
        try:
            return await ask(path)
        except NoSuchPath:
            continue
    return await ask(paths[-1])

"""API calls to a platform of any version: each by the path that this version supports, normalized to one form."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from treadle import ToolProblem
from treadle.assistants.platform import responses
from treadle.assistants.platform.client import PlatformClient, PlatformNotFound, PlatformPathUnknown, expand_path
from treadle.assistants.platform.responses import Json

PAGE_SIZE = 100  # workflows a page, the most that platforms give
MAX_PAGES = 10  # pages that are looked through for those that were asked for

APPLICATIONS = ("/api/applications", "/api/specs")  # the newer path first
APPLICATION = ("/api/applications/{}", "/api/specs/{}")


async def fetch_user(platform: PlatformClient) -> Json:
    """Return the user of the token."""
    return responses.parse_user(await platform.get("/api/profile"))


async def fetch_applications(platform: PlatformClient) -> list[Json]:
    """Return all applications that the user may see."""
    return responses.parse_applications(await _try_paths(APPLICATIONS, platform.get))


async def fetch_application(platform: PlatformClient, name: str) -> Json:
    """Return one application."""
    return responses.parse_application(name, await _try_paths(_application_paths(name), platform.get))


async def find_application(platform: PlatformClient, name: str) -> Json | None:
    """Return the application that runs under a name; None if there is none."""
    try:
        return await fetch_application(platform, name)
    except PlatformPathUnknown:
        raise
    except PlatformNotFound:
        return None


async def fetch_workflows(platform: PlatformClient, app: str = "", status: str = "") -> tuple[list[Json], int]:
    """Return the newest executions, and how many there are. Versions without filters are filtered here."""
    query = {key: value for key, value in (("app", app), ("status", status)) if value}
    found: list[Json] = []
    total = seen = 0
    for page in range(MAX_PAGES):
        answer = await platform.get(
            "/api/workflows", {**query, "limit": str(PAGE_SIZE), "page": str(page + 1), "offset": str(page * PAGE_SIZE)}
        )
        some, total = responses.parse_workflows(answer)
        found += [each for each in some if _matches_filter(each, app, status)]
        seen += len(some)
        if len(some) < PAGE_SIZE or (isinstance(answer, dict) and seen >= total):
            break
    return found, len(found) if query else max(total, len(found))


def _matches_filter(workflow: Json, app: str, status: str) -> bool:
    return (not app or workflow.get("application_name") == app) and (not status or workflow.get("status") == status)


def parse_workflow_number(text: str) -> int:
    """Parse a workflow number as a model or a user writes it."""
    number = text.strip().lstrip("#")
    if not (number.isascii() and number.isdecimal()):
        raise ToolProblem("A workflow's id is a number. list_workflows shows them.")
    return int(number)


async def fetch_workflow(platform: PlatformClient, number: int) -> Json:
    """Return one execution with its steps."""
    return responses.parse_workflow(await platform.get(f"/api/workflows/{number}"))


async def fetch_resources(platform: PlatformClient, app: str = "") -> list[Json]:
    """Return the resources of one application or of all."""
    found = responses.parse_resources(await platform.get("/api/resources", {"app": app} if app else {}))
    return [each for each in found if not app or each.get("application_name", app) == app]


async def fetch_stats(platform: PlatformClient) -> Json:
    """Return the dashboard counts."""
    return responses.parse_stats(await platform.get("/api/stats"))


async def fetch_golden_paths(platform: PlatformClient) -> list[Json]:
    """Return the golden paths."""
    return responses.parse_golden_paths(await platform.get("/api/golden-paths"))


async def fetch_providers(platform: PlatformClient) -> list[Json]:
    """Return the resource providers."""
    return responses.parse_providers(await platform.get("/api/providers"))


async def post_golden_path(platform: PlatformClient, path: str, spec: str, parameters: Mapping[str, str], key: str) -> Any:
    """Deploy a spec by a golden path."""
    query = {f"param.{name}": value for name, value in parameters.items()}
    return await platform.post(expand_path("/api/workflows/golden-paths/{}/execute", path), spec, "application/yaml", key, query)


async def post_retry(platform: PlatformClient, number: int, key: str) -> Any:
    """Retry a failed workflow unchanged."""
    return await platform.post(f"/api/workflows/{number}/retry", "", "application/json", key)


async def post_spec(platform: PlatformClient, spec: str, key: str) -> Any:
    """Deploy a spec. A path that a version doesn't support has no effect there, so the older one may follow."""
    return await _try_paths(APPLICATIONS, lambda path: platform.post(path, spec, "application/yaml", key))


async def delete_application_by_name(platform: PlatformClient, name: str, key: str) -> Any:
    """Delete an application."""
    return await _try_paths(_application_paths(name), lambda path: platform.delete(path, key))


def _application_paths(name: str) -> tuple[str, ...]:
    return tuple([expand_path(path, name) for path in APPLICATION])


async def _try_paths(paths: Sequence[str], ask: Callable[[str], Awaitable[Any]]) -> Any:
    """Call the first path that this version supports."""
    for path in paths[:-1]:
        try:
            return await ask(path)
        except PlatformPathUnknown:
            continue
    return await ask(paths[-1])

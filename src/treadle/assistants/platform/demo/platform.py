"""The platform: who asks, may they, and what is said. Knows no HTTP library; `app` hands it requests, `runner` carries work on."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.platform.demo import applications, catalogue, executions, people, resources
from treadle.assistants.platform.demo.clock import Clock, stamp
from treadle.assistants.platform.demo.credentials import credentials_of
from treadle.assistants.platform.demo.once import once
from treadle.assistants.platform.demo.runner import Runner
from treadle.assistants.platform.demo.samples import fill
from treadle.assistants.platform.demo.store import Store, number
from treadle.assistants.platform.demo.values import Answer, Asked, Refused, Shape, User, Visit, plainly, said

Handler = Callable[[Visit, Asked], Answer]

NOBODY = User("", "", "developer")
DEPRECATED = {"Deprecation": "true", "X-API-Warn": "Deprecated: use /api/applications instead of /api/specs"}


class Endpoint(Struct, frozen=True):
    """What is at one path, by one method. `shapes` are those of the API it is part of; `public` is for those without a token."""

    method: str
    path: str
    handle: Handler
    shapes: tuple[Shape, ...] = ("new", "old")
    public: bool = False


_NEW: tuple[Shape, ...] = ("new",)
_OLD: tuple[Shape, ...] = ("old",)

ENDPOINTS = (
    Endpoint("POST", "/api/login", people.login, public=True),
    Endpoint("GET", "/api/profile", people.profile),
    Endpoint("GET", "/api/auth/whoami", people.profile, _NEW),
    Endpoint("GET", "/api/user-info", people.user_info),
    Endpoint("GET", "/api/applications", applications.list_applications, _NEW),
    Endpoint("POST", "/api/applications", applications.deploy, _NEW),
    Endpoint("POST", "/api/applications/{name}/deprovision", applications.deprovision, _OLD),
    Endpoint("GET", "/api/applications/{name}", applications.get_application, _NEW),
    Endpoint("DELETE", "/api/applications/{name}", applications.delete),
    Endpoint("GET", "/api/specs", applications.list_applications),
    Endpoint("POST", "/api/specs", applications.deploy),
    Endpoint("GET", "/api/specs/{name}", applications.get_application),
    Endpoint("DELETE", "/api/specs/{name}", applications.delete),
    Endpoint("POST", "/api/workflows/golden-paths/{path}/execute", applications.execute_golden_path),
    Endpoint("GET", "/api/workflows", executions.list_workflows),
    Endpoint("POST", "/api/workflows/{id}/retry", applications.retry, _NEW),
    Endpoint("GET", "/api/workflows/{id}", executions.get_workflow),
    Endpoint("GET", "/api/golden-paths", catalogue.list_golden_paths, _NEW),
    Endpoint("GET", "/api/golden-paths/{name}", catalogue.get_golden_path, _NEW),
    Endpoint("GET", "/api/resources", resources.list_resources),
    Endpoint("GET", "/api/resources/{id}", resources.get_resource),
    Endpoint("GET", "/api/stats", applications.stats),
    Endpoint("GET", "/api/environments", applications.list_environments),
    Endpoint("GET", "/api/providers", catalogue.list_providers, _NEW),
    Endpoint("GET", "/api/providers/stats", catalogue.provider_stats, _NEW),
)


class Platform:
    """One platform, with its store and its runner."""

    def __init__(self, path: Path | None, clock: Clock, shape: Shape, pace: float | None) -> None:
        self.shape: Shape = shape
        self._clock = clock
        self._began = clock.now()
        self._store = Store(path)
        self.runner = Runner(self._store, clock, pace)
        with self._store.transaction() as db:
            if not number(db, "SELECT count(*) FROM users"):
                fill(db, self._began)
            self.credentials = credentials_of(db, self._began, path.with_suffix(".keys.json") if path else None)

    def endpoints(self) -> list[Endpoint]:
        """Those of its shape, and those that are for everybody."""
        health = Endpoint("GET", "/health", self._health, public=True)
        ready = Endpoint("GET", "/ready", self._ready, public=True)
        return [each for each in (*ENDPOINTS, health, ready) if self.shape in each.shapes]

    def answer(self, endpoint: Endpoint | None, asked: Asked) -> Answer:
        """What is said to a request. None is a path that is there, but not for its method."""
        begun: list[int] = []
        try:
            with self._store.transaction() as db:
                visit = Visit(db, self._clock.now(), NOBODY, self.shape, begun)
                answer = self._within(visit, endpoint, asked)
        except Refused as refusal:
            begun.clear()
            answer = plainly(refusal.text, refusal.status)
        for execution in begun:
            self.runner.begin(execution)
        return replace(answer, headers={**answer.headers, **self._warning(asked)})

    def close(self) -> None:
        """Stop the work, and let go of the store."""
        self.runner.stop()
        self._store.close()

    def _within(self, visit: Visit, endpoint: Endpoint | None, asked: Asked) -> Answer:
        if endpoint is not None and endpoint.public:
            return endpoint.handle(visit, asked)
        who = people.identify(visit.db, visit.at, asked)
        if who is None:
            return _unknown(asked)
        if endpoint is None:
            raise Refused(405, "Method not allowed")
        known = replace(visit, who=who)
        return once(known, asked, lambda: endpoint.handle(known, asked))

    def _warning(self, asked: Asked) -> dict[str, str]:
        return DEPRECATED if self.shape == "new" and asked.path.startswith("/api/specs") else {}

    def _health(self, visit: Visit, _: Asked) -> Answer:
        now = stamp(visit.at)
        database = {"name": "database", "status": "healthy", "message": "it answers", "latency_ms": 0, "timestamp": now}
        uptime = (visit.at - self._began).total_seconds()
        return said({"status": "healthy", "timestamp": now, "uptime_seconds": uptime, "checks": {"database": database}})

    def _ready(self, visit: Visit, _: Asked) -> Answer:
        return said({"ready": True, "timestamp": stamp(visit.at), "message": "It takes requests"})


def _unknown(asked: Asked) -> Answer:
    """To whom isn't known: a browser is sent to the login, a program gets an error. Who says nothing is taken for a browser."""
    accept = asked.headers.get("accept", "")
    if not accept or "text/html" in accept:
        return replace(plainly("See /login", 303), headers={"Location": "/login"})
    return plainly("Unauthorized", 401)

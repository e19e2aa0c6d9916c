"""The demo platform: authenticates, authorizes and handles requests. `app` is its HTTP side, `runner` advances its workflows."""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.demo.platform import applications, auth, catalogue, executions, resources
from treadle.demo.platform.clock import Clock, format_timestamp
from treadle.demo.platform.credentials import load_credentials
from treadle.demo.platform.http_types import (
    PlatformRequest,
    PlatformResponse,
    PlatformUser,
    RequestContext,
    RequestRefused,
    Shape,
    json_reply,
    text_reply,
)
from treadle.demo.platform.runner import ExecutionRunner
from treadle.demo.platform.sample_data import fill_platform
from treadle.demo.platform.store import DemoStore, Row, fetch_number, fetch_row, insert_row

KEY_LIFETIME = timedelta(days=1)
MAX_KEY_CHARS = 255
HEADER = "idempotency-key"


def handle_idempotently(visit: RequestContext, asked: PlatformRequest, do: Callable[[], PlatformResponse]) -> PlatformResponse:
    """Handle a request unless it was handled under the same key. A refused request changed nothing, and is handled again."""
    key = asked.headers.get(HEADER, "")
    if not key or asked.method in ("GET", "HEAD"):
        return do()
    if len(key) > MAX_KEY_CHARS:
        raise RequestRefused(400, f"Idempotency-Key is too long; {MAX_KEY_CHARS} characters are the most")
    visit.db.execute("DELETE FROM answers WHERE at <= ?", (format_timestamp(visit.at - KEY_LIFETIME),))
    kept = fetch_row(visit.db, "SELECT * FROM answers WHERE username = ? AND key = ?", visit.who.username, key)
    if kept is None:
        return _store_response(visit, asked, key, do())
    if kept["request"] != _request_digest(asked):
        raise RequestRefused(422, "Idempotency-Key was used for another request")
    return _replay_response(kept)


def _store_response(visit: RequestContext, asked: PlatformRequest, key: str, answer: PlatformResponse) -> PlatformResponse:
    values = {"status": answer.status, "media": answer.media, "body": answer.body, "headers": msgspec.json.encode(answer.headers)}
    insert_row(
        visit.db,
        "answers",
        {"username": visit.who.username, "key": key, "request": _request_digest(asked), "at": format_timestamp(visit.at), **values},
    )
    return answer


def _replay_response(kept: Row) -> PlatformResponse:
    headers = msgspec.json.decode(kept["headers"], type=dict[str, str])
    return PlatformResponse(kept["status"], kept["media"], kept["body"], {**headers, "Idempotency-Replayed": "true"})


def _request_digest(asked: PlatformRequest) -> str:
    whole = msgspec.json.encode([asked.method, asked.path, sorted(asked.query.items()), hashlib.sha256(asked.body).hexdigest()])
    return hashlib.sha256(whole).hexdigest()


Handler = Callable[[RequestContext, PlatformRequest], PlatformResponse]

ANONYMOUS = PlatformUser("", "", "developer")
DEPRECATED = {"Deprecation": "true", "X-API-Warn": "Deprecated: use /api/applications instead of /api/specs"}


class DemoEndpoint(Struct, frozen=True):
    """A path with a method. `shapes` are the API versions it is part of; `public` needs no token."""

    method: str
    path: str
    handle: Handler
    shapes: tuple[Shape, ...] = ("new", "old")
    public: bool = False


_NEW: tuple[Shape, ...] = ("new",)
_OLD: tuple[Shape, ...] = ("old",)

ENDPOINTS = (
    DemoEndpoint("POST", "/api/login", auth.login, public=True),
    DemoEndpoint("GET", "/api/profile", auth.profile),
    DemoEndpoint("GET", "/api/auth/whoami", auth.profile, _NEW),
    DemoEndpoint("GET", "/api/user-info", auth.user_info),
    DemoEndpoint("GET", "/api/applications", applications.list_applications, _NEW),
    DemoEndpoint("POST", "/api/applications", applications.deploy_spec, _NEW),
    DemoEndpoint("POST", "/api/applications/{name}/deprovision", applications.deprovision_application, _OLD),
    DemoEndpoint("GET", "/api/applications/{name}", applications.get_application, _NEW),
    DemoEndpoint("DELETE", "/api/applications/{name}", applications.delete_application),
    DemoEndpoint("GET", "/api/specs", applications.list_applications),
    DemoEndpoint("POST", "/api/specs", applications.deploy_spec),
    DemoEndpoint("GET", "/api/specs/{name}", applications.get_application),
    DemoEndpoint("DELETE", "/api/specs/{name}", applications.delete_application),
    DemoEndpoint("POST", "/api/workflows/golden-paths/{path}/execute", applications.execute_golden_path),
    DemoEndpoint("GET", "/api/workflows", executions.list_workflows),
    DemoEndpoint("POST", "/api/workflows/{id}/retry", applications.retry_application, _NEW),
    DemoEndpoint("GET", "/api/workflows/{id}", executions.get_workflow),
    DemoEndpoint("GET", "/api/golden-paths", catalogue.list_golden_paths, _NEW),
    DemoEndpoint("GET", "/api/golden-paths/{name}", catalogue.get_golden_path, _NEW),
    DemoEndpoint("GET", "/api/resources", resources.list_resources),
    DemoEndpoint("GET", "/api/resources/{id}", resources.get_resource),
    DemoEndpoint("GET", "/api/stats", applications.dashboard_stats),
    DemoEndpoint("GET", "/api/environments", applications.list_environments),
    DemoEndpoint("GET", "/api/providers", catalogue.list_providers, _NEW),
    DemoEndpoint("GET", "/api/providers/stats", catalogue.provider_stats, _NEW),
)


class DemoPlatform:
    """One platform, with its store and its runner."""

    def __init__(self, path: Path | None, clock: Clock, shape: Shape, pace: float | None) -> None:
        self.shape: Shape = shape
        self._clock = clock
        self._began = clock.now()
        self._store = DemoStore(path)
        self.runner = ExecutionRunner(self._store, clock, pace)
        with self._store.transaction() as db:
            if not fetch_number(db, "SELECT count(*) FROM users"):
                fill_platform(db, self._began)
            self.credentials = load_credentials(db, self._began, path.with_suffix(".keys.json") if path else None)

    def endpoints(self) -> list[DemoEndpoint]:
        """Return the endpoints of its API version, and the public ones."""
        health = DemoEndpoint("GET", "/health", self._health, public=True)
        ready = DemoEndpoint("GET", "/ready", self._ready, public=True)
        return [each for each in (*ENDPOINTS, health, ready) if self.shape in each.shapes]

    def answer(self, endpoint: DemoEndpoint | None, asked: PlatformRequest) -> PlatformResponse:
        """Handle a request. A None endpoint is a path that exists, but not with this method."""
        begun: list[int] = []
        try:
            with self._store.transaction() as db:
                visit = RequestContext(db, self._clock.now(), ANONYMOUS, self.shape, begun)
                answer = self._handle_in_transaction(visit, endpoint, asked)
        except RequestRefused as refusal:
            begun.clear()
            answer = text_reply(refusal.text, refusal.status)
        for execution in begun:
            self.runner.begin(execution)
        return replace(answer, headers={**answer.headers, **self._deprecation_headers(asked)})

    def close(self) -> None:
        """Stop the runner, and close the store."""
        self.runner.stop()
        self._store.close()

    def _handle_in_transaction(
        self, visit: RequestContext, endpoint: DemoEndpoint | None, asked: PlatformRequest
    ) -> PlatformResponse:
        if endpoint is not None and endpoint.public:
            return endpoint.handle(visit, asked)
        who = auth.authenticate(visit.db, visit.at, asked)
        if who is None:
            return _unauthenticated_response(asked)
        if endpoint is None:
            raise RequestRefused(405, "Method not allowed")
        known = replace(visit, who=who)
        return handle_idempotently(known, asked, lambda: endpoint.handle(known, asked))

    def _deprecation_headers(self, asked: PlatformRequest) -> dict[str, str]:
        return DEPRECATED if self.shape == "new" and asked.path.startswith("/api/specs") else {}

    def _health(self, visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
        now = format_timestamp(visit.at)
        database = {"name": "database", "status": "healthy", "message": "it answers", "latency_ms": 0, "timestamp": now}
        uptime = (visit.at - self._began).total_seconds()
        return json_reply({"status": "healthy", "timestamp": now, "uptime_seconds": uptime, "checks": {"database": database}})

    def _ready(self, visit: RequestContext, _: PlatformRequest) -> PlatformResponse:
        return json_reply({"ready": True, "timestamp": format_timestamp(visit.at), "message": "It takes requests"})


def _unauthenticated_response(asked: PlatformRequest) -> PlatformResponse:
    """Respond to an unauthenticated request: redirect a browser to the login, return an error to a program.

    A client that states nothing is taken for a browser.
    """
    accept = asked.headers.get("accept", "")
    if not accept or "text/html" in accept:
        return replace(text_reply("See /login", 303), headers={"Location": "/login"})
    return text_reply("Unauthorized", 401)

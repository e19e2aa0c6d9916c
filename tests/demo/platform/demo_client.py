"""Asks a demo platform over real HTTP, one request at a time."""

import asyncio
from typing import Any

import aiohttp
from msgspec import Struct

from treadle.demo.platform import DemoServer

SPEC = """\
apiVersion: score.dev/v1b1
metadata: {name: my-app}
containers:
  web:
    image: registry.example/web:1.0
    variables: {DB: "${resources.db.host}"}
resources:
  db: {type: postgres, params: {version: "16"}}
  files: {type: s3-bucket}
"""


class Reply(Struct, frozen=True):
    """What came back."""

    status: int
    headers: Any
    text: str

    @property
    def json(self) -> Any:
        """The body, which has to be JSON."""
        import json

        assert self.headers["Content-Type"] == "application/json", self.text
        return json.loads(self.text)


def ask(demo: DemoServer, path: str, user: str = "alice", method: str = "GET", body: Any = None, **headers: str) -> Reply:
    """Ask as a user; as nobody where the name is empty. Underscores in names of headers are hyphens."""
    sent = {"Accept": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if user and "Authorization" not in sent:
        sent["Authorization"] = f"Bearer {demo.token(user)}"
    return asyncio.run(_ask(demo.url + path, method, body, sent))


def post(demo: DemoServer, path: str, body: Any = None, user: str = "alice", **headers: str) -> Reply:
    return ask(demo, path, user, "POST", body, **headers)


def delete(demo: DemoServer, path: str, user: str = "alice", **headers: str) -> Reply:
    return ask(demo, path, user, "DELETE", **headers)


def deploy(demo: DemoServer, spec: str = SPEC, user: str = "alice", **headers: str) -> Reply:
    return post(demo, "/api/applications", spec, user, **headers)


def workflows(demo: DemoServer, name: str, user: str = "admin") -> list[dict[str, Any]]:
    return ask(demo, f"/api/workflows?app={name}", user).json["data"] or []


def workflow(demo: DemoServer, name: str, user: str = "admin") -> dict[str, Any]:
    """The newest execution of an application, with its steps."""
    return ask(demo, f"/api/workflows/{workflows(demo, name, user)[0]['id']}", user).json


def states(demo: DemoServer, name: str, user: str = "admin") -> dict[str, str]:
    found = ask(demo, f"/api/resources?app={name}", user).json["resources"] or []
    return {each["resource_name"]: each["state"] for each in found}


async def _ask(url: str, method: str, body: Any, headers: dict[str, str]) -> Reply:
    sent: dict[str, Any] = {"json": body} if isinstance(body, dict) else {"data": body}
    async with (
        aiohttp.ClientSession(skip_auto_headers=("Accept", "Content-Type")) as session,
        session.request(method, url, headers=headers, allow_redirects=False, **sent) as answer,
    ):
        return Reply(answer.status, answer.headers, await answer.text())

"""The server's own pages: an HTML frame with placeholders, which scripts fill in from `/api/`. `static/shell.js` adds the sidebar.

Content of runs, jobs and the like is never rendered here, so that only error messages have to be escaped.
"""

from collections.abc import Callable, Coroutine
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from treadle.plugins.assistant import Assistant

BODIES = Path(__file__).with_name("bodies")
FRAME = """\
<!doctype html>
<html lang="en" data-shell="page">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title}</title>
  <link rel="icon" href="/static/treadle.svg" type="image/svg+xml">
  <script src="/static/theme.js"></script>
  <link rel="stylesheet" href="/static/treadle.css">
  <link rel="stylesheet" href="/static/shell.css">
  <link rel="stylesheet" href="/static/pages.css">
{head}  <script type="module" src="/static/shell.js"></script>
</head>
<body class="{name}">
  <a class="skip" href="#main">Skip to content</a>
  <header class="bar">
    <a class="brand" href="/"><img src="/static/treadle.svg" alt="" width="24" height="24">Treadle</a>
  </header>
  <main class="{main}" id="main" tabindex="-1">
{body}
  </main>
</body>
</html>
"""
SHEET = '  <link rel="stylesheet" href="/static/{name}.css">\n'
SCRIPT = '  <script type="module" src="/static/{name}.js"></script>\n'


class ServerPage(Struct, frozen=True):
    """A page: its title, and its additional style sheets. Its script has its name."""

    name: str
    title: str
    sheets: tuple[str, ...] = ()
    main: str = "page list"


CHAT = ("chat", "workbench")
PAGES = {
    "/": ServerPage("workbench", "New conversation", CHAT, "bench"),
    "/runs": ServerPage("runs", "Runs"),
    "/runs/{run_id}": ServerPage("run", "Run", ("chat", "run", "settings"), "page wide"),
    "/runs/{run_id}/compare": ServerPage("compare", "Compare runs", ("chat", "run"), "page wide"),
    "/shared/{owner}/{run_id}": ServerPage("run", "Shared run", ("chat", "run"), "page wide"),
    "/approvals": ServerPage("approvals", "Approvals", ("chat",)),
    "/jobs": ServerPage("jobs", "Jobs"),
    "/jobs/{job_id}": ServerPage("job", "Job", ("chat",)),
    "/audit": ServerPage("audit", "Audit", ("chat",)),
    "/stats": ServerPage("stats", "Statistics", ("stats",), "page wide"),
    "/settings": ServerPage("settings", "Settings", ("settings",)),
}


def page_routes() -> list[BaseRoute]:
    """Return the routes of all pages. They are the same for every user: `/api/` decides what a user may see."""
    return [Route(path, _make_endpoint(render_page(page)), name=page.name) for path, page in PAGES.items()]


def _make_endpoint(html: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def serve_page(request: Request) -> Response:
        return HTMLResponse(html)

    return serve_page


def render_page(page: ServerPage) -> str:
    """Return the HTML of a page."""
    head = "".join([SHEET.format(name=name) for name in page.sheets]) + SCRIPT.format(name=page.name)
    return _render_frame(page, _read_body(page.name), head)


def render_error_page(status: int, sentence: str) -> str:
    """Return an HTML page with an error message."""
    page = ServerPage("error", str(status), main="page")
    return _render_frame(page, _read_body("error").format(status=status, sentence=escape(sentence)))


def _render_frame(page: ServerPage, body: str, head: str = "") -> str:
    return FRAME.format(title=f"{page.title} · Treadle", name=page.name, main=page.main, head=head, body=body)


@cache
def _read_body(name: str) -> str:
    return (BODIES / f"{name}.html").read_text(encoding="utf-8")


def conversation_path(assistant: Assistant, conversation: str, run_id: str, *, is_job: bool) -> str:
    """Return the path of the page that shows a conversation: its assistant's panel, or the workbench."""
    panel = assistant.panel
    query = "" if panel is None else panel.job if is_job else panel.conversation
    if query:
        return f"/{assistant.name}/?{query.format(id=quote(conversation, safe=''), run_id=quote(run_id, safe=''))}"
    return f"/jobs/{quote(run_id, safe='')}" if is_job else f"/?run={quote(run_id, safe='')}"


def panel_path(assistant: Assistant) -> str | None:
    """Return the path of an assistant's panel; None where it has none."""
    return f"/{assistant.name}/" if assistant.panel else None

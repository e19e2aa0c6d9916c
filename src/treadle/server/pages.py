"""The server's own pages: an HTML frame with placeholders, which scripts fill in from `/api/`.

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
SHELL = """\
<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title}</title>
  <link rel="icon" href="/static/treadle.svg" type="image/svg+xml">
  <script src="/static/theme.js"></script>
  <link rel="stylesheet" href="/static/treadle.css">
  <link rel="stylesheet" href="/static/pages.css">
{head}  <script type="module" src="/static/bar.js"></script>
</head>
<body class="{name}">
  <a class="skip" href="#main">Skip to the page</a>
  <header class="bar">
    <a class="brand" href="/"><img src="/static/treadle.svg" alt="" width="28" height="28">Treadle</a>
    <button type="button" class="quiet" id="menu" aria-controls="places" aria-expanded="false">Menu</button>
    <nav id="places" aria-label="Pages">
      <ul>
{links}
      </ul>
      <details id="panels" hidden><summary>Assistants</summary><ul id="panels-list"></ul></details>
    </nav>
    <form id="person" class="person" method="post" action="/logout" hidden>
      <p class="small" id="who"></p><button class="quiet">Sign out</button>
    </form>
  </header>
  <main class="{main}" id="main" tabindex="-1">
{body}
  </main>
</body>
</html>
"""
LINK = '        <li><a href="{path}"{current}>{words}</a></li>'
SHEET = '  <link rel="stylesheet" href="/static/{name}.css">\n'
SCRIPT = '  <script type="module" src="/static/{name}.js"></script>\n'
NAVIGATION = {
    "/": "Workbench",
    "/runs": "Runs",
    "/approvals": 'Approvals <span class="count" id="waiting" hidden></span>',
    "/jobs": "Jobs",
    "/audit": "Audit",
    "/stats": "Statistics",
}


class ServerPage(Struct, frozen=True):
    """A page: its title, its place in the navigation, and its additional style sheets. Its script has its name."""

    name: str
    title: str
    place: str
    sheets: tuple[str, ...] = ()
    main: str = "page list"


CHAT = ("chat", "workbench")
PAGES = {
    "/": ServerPage("workbench", "Workbench", "/", CHAT, "bench"),
    "/runs": ServerPage("runs", "Runs", "/runs"),
    "/runs/{run_id}": ServerPage("run", "Run", "/runs", ("chat", "run"), "page wide"),
    "/approvals": ServerPage("approvals", "Approvals", "/approvals", ("chat",)),
    "/jobs": ServerPage("jobs", "Jobs", "/jobs"),
    "/jobs/{job_id}": ServerPage("job", "Job", "/jobs", ("chat",)),
    "/audit": ServerPage("audit", "Audit", "/audit", ("chat",)),
    "/stats": ServerPage("stats", "Statistics", "/stats", ("stats",), "page wide"),
}


def page_routes() -> list[BaseRoute]:
    """Return the routes of all pages. They are the same for every user: `/api/` decides what a user may see."""
    return [Route(path, _make_endpoint(render_page(page)), name=page.name) for path, page in PAGES.items()]


def _make_endpoint(html: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def shown(request: Request) -> Response:
        return HTMLResponse(html)

    return shown


def render_page(page: ServerPage) -> str:
    """Return the HTML of a page."""
    head = "".join([SHEET.format(name=name) for name in page.sheets]) + SCRIPT.format(name=page.name)
    return _render_frame(page, _read_body(page.name), head)


def render_error_page(status: int, sentence: str) -> str:
    """Return an HTML page with an error message."""
    page = ServerPage("error", str(status), "", main="page")
    return _render_frame(page, _read_body("error").format(status=status, sentence=escape(sentence)))


def _render_frame(page: ServerPage, body: str, head: str = "") -> str:
    links = [
        LINK.format(path=path, words=words, current=' aria-current="page"' if path == page.place else "")
        for path, words in NAVIGATION.items()
    ]
    return SHELL.format(
        title=f"{page.title} · Treadle", name=page.name, main=page.main, head=head, links="\n".join(links), body=body
    )


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

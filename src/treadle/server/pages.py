"""The pages of the server itself: a frame in HTML with the place of each thing, which scripts fill in from `/api/`.

What a page says of runs, jobs and the like is never written here, so that there is nothing to escape but what went wrong.
"""

from collections.abc import Callable, Coroutine
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from treadle.app.assistant import Assistant

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
      <details id="panels" hidden><summary>Panels</summary><ul id="panels-list"></ul></details>
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
PLACES = {
    "/": "Workbench",
    "/runs": "Runs",
    "/approvals": 'Approvals <span class="count" id="waiting" hidden></span>',
    "/jobs": "Jobs",
    "/audit": "Audit",
    "/stats": "Statistics",
}


class Page(Struct, frozen=True):
    """A page: what it is called, where it is in the bar, and its sheets besides those of all. Its script has its name."""

    name: str
    title: str
    place: str
    sheets: tuple[str, ...] = ()
    main: str = "page list"


CHAT = ("chat", "workbench")
PAGES = {
    "/": Page("workbench", "Workbench", "/", CHAT, "bench"),
    "/runs": Page("runs", "Runs", "/runs"),
    "/runs/{run_id}": Page("run", "Run", "/runs", ("chat", "run"), "page wide"),
    "/approvals": Page("approvals", "Approvals", "/approvals", ("chat",)),
    "/jobs": Page("jobs", "Jobs", "/jobs"),
    "/jobs/{job_id}": Page("job", "Job", "/jobs", ("chat",)),
    "/audit": Page("audit", "Audit", "/audit", ("chat",)),
    "/stats": Page("stats", "Statistics", "/stats", ("stats",), "page wide"),
}


def page_routes() -> list[BaseRoute]:
    """All pages. They are the same for everybody: what somebody may see is asked of `/api/`."""
    return [Route(path, _shows(drawn(page)), name=page.name) for path, page in PAGES.items()]


def _shows(html: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def shown(request: Request) -> Response:
        return HTMLResponse(html)

    return shown


def drawn(page: Page) -> str:
    """The HTML of a page."""
    head = "".join([SHEET.format(name=name) for name in page.sheets]) + SCRIPT.format(name=page.name)
    return _framed(page, _body(page.name), head)


def error_page(status: int, sentence: str) -> str:
    """A page that says what went wrong."""
    page = Page("error", str(status), "", main="page")
    return _framed(page, _body("error").format(status=status, sentence=escape(sentence)))


def _framed(page: Page, body: str, head: str = "") -> str:
    links = [
        LINK.format(path=path, words=words, current=' aria-current="page"' if path == page.place else "")
        for path, words in PLACES.items()
    ]
    return SHELL.format(
        title=f"{page.title} · Treadle", name=page.name, main=page.main, head=head, links="\n".join(links), body=body
    )


@cache
def _body(name: str) -> str:
    return (BODIES / f"{name}.html").read_text(encoding="utf-8")


def panel_path(assistant: Assistant) -> str | None:
    """Where an assistant's panel is served; None where it has none."""
    return f"/{assistant.name}/" if assistant.panel else None

"""The API documentation: `/openapi.json` for programs and a plain page at `/docs`."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Annotated, Any

from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute

from treadle.plugins.assistant import Assistant
from treadle.routes import HTML, JSON, Returns, get, routes_of
from treadle.server.openapi import build_openapi

PAGE = """\
<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Requests · Treadle</title>
  <link rel="icon" href="/static/treadle.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/static/treadle.css">
</head>
<body>
  <header class="bar">
    <a class="brand" href="/"><img src="/static/treadle.svg" alt="" width="28" height="28">Treadle</a>
    <span class="here">Requests</span>
  </header>
  <main class="page wide">
    <h1>Requests</h1>
    <p class="lead">What programs can ask of this server. <a href="/openapi.json">The same as an OpenAPI document</a>.</p>
    <nav aria-label="Whose requests"><ul>
{contents}
    </ul></nav>
{groups}
  </main>
</body>
</html>
"""
CONTENT = '      <li><a href="#{id}">{name}</a></li>'
GROUP = """\
    <h2 id="{id}">{name}</h2>
    <p>{words}</p>
{sections}"""
SECTION = """\
    <section class="card" id="{name}">
      <h3><code>{method} {path}</code></h3>
      <p>{summary}</p>
{asked}      <dl>
{answers}
      </dl>
    </section>"""
ASKED = "      <p>{words}: {names}</p>\n"
ANSWER = "        <dt>{status}</dt><dd>{words}</dd>"

QUESTION = "What can you do?"
COMPAT_SCHEMAS = ("ChatCompletionRequest", "MessagesRequest", "CountTokensRequest")  # what is asked of a model that is an assistant
MESSAGES = [{"role": "user", "content": QUESTION}]

RoutesGetter = Callable[[], Sequence[BaseRoute]]


def document_routes(routes: RoutesGetter, assistants: Sequence[Assistant] = ()) -> list[BaseRoute]:
    """Return the routes of the document and the page. `routes` returns all routes of the server, when called."""
    names = [assistant.name for assistant in assistants]

    def document() -> dict[str, Any]:
        made = build_openapi(routes(), assistants)
        schemas = made["components"]["schemas"]
        schemas["TurnRequest"]["properties"]["assistant"]["enum"] = ["", *names]
        schemas["TurnRequest"]["examples"] = [{"assistant": name, "message": QUESTION} for name in names]
        for wire in COMPAT_SCHEMAS:
            schemas[wire]["examples"] = [{"model": name, "max_tokens": 1000, "messages": MESSAGES} for name in names]
        return made

    @get("/openapi.json", returns="in the format of OpenAPI 3.1")
    async def get_document() -> dict[str, Any]:
        """Return this OpenAPI document."""
        return document()

    @get("/docs")
    async def get_page() -> Annotated[Response, Returns(200, "the page", HTML, str)]:
        """Return this document as a page."""
        return HTMLResponse(render_docs_page(document()))

    return routes_of(get_document, get_page)


def render_docs_page(document: dict[str, Any]) -> str:
    """Render the page that lists all operations, by owner."""
    groups = [(f"of-{number}", escape(tag["name"]), tag) for number, tag in enumerate(document["tags"], 1)]
    contents = [CONTENT.format(id=place, name=name) for place, name, _ in groups]
    shown = [_render_group(place, name, tag, document["paths"]) for place, name, tag in groups]
    return PAGE.format(contents="\n".join(contents), groups="\n".join(shown))


def _render_group(place: str, name: str, tag: dict[str, str], paths: dict[str, dict[str, Any]]) -> str:
    sections = [
        _render_section(method, path, operation)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if tag["name"] in operation["tags"]
    ]
    return GROUP.format(id=place, name=name, words=escape(tag["description"]), sections="\n".join(sections))


def _render_section(method: str, path: str, operation: dict[str, Any]) -> str:
    answers = [ANSWER.format(status=status, words=escape(said["description"])) for status, said in operation["responses"].items()]
    return SECTION.format(
        name=operation["operationId"],
        method=method.upper(),
        path=escape(path),
        summary=escape(operation["summary"]),
        asked=_render_parameters(operation),
        answers="\n".join(answers),
    )


def _render_parameters(operation: dict[str, Any]) -> str:
    names = [f"<code>{escape(each['name'])}</code>" for each in operation["parameters"] if each["in"] == "query"]
    asked = ASKED.format(words="Behind the question mark", names=", ".join(names)) if names else ""
    if "requestBody" not in operation:
        return asked
    name = operation["requestBody"]["content"][JSON]["schema"]["$ref"].rpartition("/")[2]
    return asked + ASKED.format(words="In its body", names=f"<code>{escape(name)}</code>")

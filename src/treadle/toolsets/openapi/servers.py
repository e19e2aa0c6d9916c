"""Server URLs of a document, with variables filled in and relative ones resolved."""

import re
from urllib.parse import urljoin

from treadle.core.errors import SettingsError
from treadle.http_guard.origins import parse_target
from treadle.http_guard.problems import TargetNotAllowed
from treadle.toolsets.openapi.document import JsonObject, OpenApiDocument, list_or_empty, object_or_empty, text_or_empty

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def find_server_url(document: OpenApiDocument, item: JsonObject, operation: JsonObject, base_url: str) -> str:
    """Return the base URL of an operation's path. The servers named closest to it apply, and of those the first."""
    if base_url:
        return _check_address(base_url)
    told = [server for part in (operation, item, document.root) for server in list_or_empty(part.get("servers"))]
    return _check_address(urljoin(document.address, _fill_variables(object_or_empty(told[0] if told else None)) or "/"))


def _fill_variables(server: JsonObject) -> str:
    variables = object_or_empty(server.get("variables"))
    return _VARIABLE.sub(
        lambda found: str(object_or_empty(variables.get(found[1])).get("default", "")), text_or_empty(server.get("url"))
    )


def _check_address(address: str) -> str:
    try:
        return str(parse_target(address)).partition("?")[0].rstrip("/")
    except TargetNotAllowed:
        named = f"names the server {address!r}" if address.strip("/") else "doesn't say where its server is"
        raise SettingsError(
            f"The OpenAPI document {named}: give a whole address, as base_url='https://…' or --openapi-server https://…."
        ) from None

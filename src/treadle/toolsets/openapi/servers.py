"""Where the operations of a document are: the address of its server, with variables filled in and relative ones made whole."""

import re
from urllib.parse import urljoin

from treadle.core.errors import SettingsError
from treadle.toolsets.openapi.document import Document, Object, as_list, as_object, as_text
from treadle.toolsets.outbound.origins import target
from treadle.toolsets.outbound.problems import NotAllowed

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def server_of(document: Document, item: Object, operation: Object, base_url: str) -> str:
    """The address that the path of an operation is added to. The servers named nearest to it count, and of those the first."""
    if base_url:
        return _checked(base_url)
    told = [server for part in (operation, item, document.root) for server in as_list(part.get("servers"))]
    return _checked(urljoin(document.address, _filled(as_object(told[0] if told else None)) or "/"))


def _filled(server: Object) -> str:
    variables = as_object(server.get("variables"))
    return _VARIABLE.sub(lambda found: str(as_object(variables.get(found[1])).get("default", "")), as_text(server.get("url")))


def _checked(address: str) -> str:
    try:
        return str(target(address)).partition("?")[0].rstrip("/")
    except NotAllowed:
        named = f"names the server {address!r}" if address.strip("/") else "doesn't say where its server is"
        raise SettingsError(f"The OpenAPI document {named}: give a whole address as base_url='https://…'.") from None

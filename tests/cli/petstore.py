"""A pet store on loopback that checks credentials, with its OpenAPI document, and an MCP server that shows its environment."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

KEY = "s3cr3t-key-of-the-pet-store"
TOKEN = "t0ken-of-the-pet-store-1234"
PASSWORD = "ann:pa55word-of-the-pet-store"

PETS = {
    "type": "array",
    "items": {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}},
}


def _operation(name: str, summary: str, security: list[Any], **more: Any) -> dict[str, Any]:
    listed = {"200": {"description": "found", "content": {"application/json": {"schema": PETS}}}}
    return {"operationId": name, "summary": summary, "security": security, "responses": listed, **more}


STATUS = {"name": "status", "in": "query", "required": True, "schema": {"type": "string", "enum": ["available", "sold"]}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.4",
    "info": {"title": "Swagger Petstore", "version": "1"},
    "servers": [{"url": "/api/v3"}],
    "components": {
        "securitySchemes": {
            "petstore_auth": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://x.example/", "scopes": {}}}},
            "api_key": {"type": "apiKey", "name": "api_key", "in": "header"},
            "login": {"type": "http", "scheme": "basic"},
            "session": {"type": "http", "scheme": "bearer"},
        }
    },
    "paths": {
        "/pet/findByStatus": {
            "get": _operation("findPetsByStatus", "Find pets by status", [{"petstore_auth": []}], parameters=[STATUS])
        },
        "/store/inventory": {"get": _operation("getInventory", "Return the inventory", [{"api_key": []}])},
        "/user": {"get": _operation("getUsers", "List the users", [{"login": []}])},
        "/session": {"get": _operation("getSession", "Show the session", [{"session": []}])},
        "/pet": {"post": _operation("addPet", "Add a pet", [{"api_key": []}])},
    },
}
WANTED = {
    "/api/v3/pet/findByStatus": ("authorization", f"Bearer {TOKEN}"),
    "/api/v3/session": ("authorization", f"Bearer {TOKEN}"),
    "/api/v3/store/inventory": ("api_key", KEY),
    "/api/v3/pet": ("api_key", KEY),
    "/api/v3/user": ("authorization", f"Basic {base64.b64encode(PASSWORD.encode()).decode()}"),
}


class Petstore:
    """A running store: its URL, and the requests it got."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, str, dict[str, str]]] = []


@contextmanager
def petstore() -> Iterator[Petstore]:
    """Serve the store."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            path = self.path.partition("?")[0]
            self.rfile.read(int(headers.get("content-length", 0)))
            store.requests.append((self.command, path, headers))
            if path == "/openapi.json":
                self._send(200, DOCUMENT)
                return
            name, value = WANTED[path]
            known = headers.get(name) == value
            self._send(200 if known else 401, [{"id": 7, "name": f"Rex knows {value}"}] if known else {"error": "who are you?"})

        def do_POST(self) -> None:
            self.do_GET()

        def _send(self, status: int, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    store = Petstore(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()


MCP_SERVER = '''
import os
from mcp.server import MCPServer

server = MCPServer("who")


@server.tool()
def whoami() -> str:
    """Say who calls."""
    return "known" if os.environ.get("WHO_TOKEN") == "t0ken-of-the-pet-store-1234" else "unknown"


@server.tool()
def repeat() -> str:
    """Repeat the token."""
    return "The token is " + os.environ.get("WHO_TOKEN", "nothing")


server.run()
'''

"""The server: pages, and the assistants over HTTP. Built on Starlette and uvicorn, from the extra `treadle[server]`.

Public names: the ASGI application with its users, and tools offered over MCP. Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.server.app import create_app
    from treadle.server.host import make_host
    from treadle.server.mcp.offering import Offering
    from treadle.server.mcp.server import mcp_app, serve_mcp
    from treadle.server.mcp.stdio import claim_stdio
    from treadle.stores.users import Users

_HOMES = {
    "Offering": "treadle.server.mcp.offering",
    "Users": "treadle.stores.users",
    "claim_stdio": "treadle.server.mcp.stdio",
    "create_app": "treadle.server.app",
    "make_host": "treadle.server.host",
    "mcp_app": "treadle.server.mcp.server",
    "serve_mcp": "treadle.server.mcp.server",
}

__all__ = ["Offering", "Users", "claim_stdio", "create_app", "make_host", "mcp_app", "serve_mcp"]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)

"""A server with an assistant for the suite: `python -m bench.conformance.serving FOLDER`. Prints its address and serves."""

import asyncio
import sys
from pathlib import Path

from bench.conformance.tools import toolsets
from treadle.core.seams import Model
from treadle.home import open_home
from treadle.models.scripted import Scripted
from treadle.plugins.assistant import Assistant, Host
from treadle.server.app import create_app
from treadle.server.uvicorn_server import TreadleServer, allowed_hosts, listen


async def main(folder: Path) -> None:
    """Serve."""
    offered = Assistant("suite", "Suite", "What the suite wants.", toolsets=lambda host: toolsets())
    with listen(port=0) as listening:
        app = create_app([offered], Host(home=open_home(folder), model=_model), hosts=allowed_hosts(listening))
        server = TreadleServer(app, listening, lambda url: print(f"{url.rstrip('/')}/mcp/suite", flush=True))
        await server.serve(sockets=[listening])


async def _model() -> Model:
    return Scripted("nobody asks it")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

"""A server of files on loopback, which misbehaves as told: breaks off, stalls, leads elsewhere, knows no ranges."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class FileServer:
    """Gives `files` by their paths. `asked` has each request's path and the byte it wants to begin at."""

    def __init__(
        self,
        files: dict[str, bytes],
        *,
        breaks: tuple[int, ...] = (),  # bytes after which the first answers break off
        ranges: bool = True,
        sized: bool = True,
        status: dict[str, int] | None = None,
        leads: dict[str, str] | None = None,
        stalls: str = "",  # paths that end like this get no answer until the server ends
    ) -> None:
        self.files = files
        self.breaks = list(breaks)
        self.ranges = ranges
        self.sized = sized
        self.status = status or {}
        self.leads = leads or {}
        self.stalls = stalls
        self.stalled = threading.Event()
        self.over = threading.Event()
        self.asked: list[tuple[str, int]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
            begin = int(wanted[1]) if wanted and server.ranges else 0
            server.asked.append((self.path, begin))
            if server.stalls and self.path.endswith(server.stalls):
                server.stalled.set()
                server.over.wait()
            elif self.path in server.leads:
                self._head(302, location=server.leads[self.path])
            elif self.path not in server.files or self.path in server.status:
                self._head(server.status.get(self.path, 404), content_length=0)
            else:
                self._give(server.files[self.path], begin)

        def _give(self, content: bytes, begin: int) -> None:
            if begin:
                fields: dict[str, Any] = {"content_range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
            else:
                fields = {"content_type": "text/html" if self.path.endswith("/") else "application/octet-stream"}
            if server.sized:
                fields["content_length"] = len(content) - begin
            self._head(206 if begin else 200, **fields)
            most = server.breaks.pop(0) if server.breaks else len(content)
            self.wfile.write(content[begin : begin + most])

        def _head(self, status: int, **fields: Any) -> None:
            self.close_connection = True
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name.replace("_", "-"), str(value))
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    return Handler

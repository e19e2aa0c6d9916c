"""A language server in this process, for tests of edits that are checked by one."""

import asyncio
import json
import os
from typing import Any

from treadle.core.errors import TreadleError
from treadle.toolsets.diagnostics.client import LanguageServer

SERVER = LanguageServer("checker", {".py": "python"}, ("checker",))


class FakeServer:
    """A language server in this process: every line with `bad` in it is an error."""

    def __init__(self, *, versions=True, answers=True, dies=False):
        self.versions = versions
        self.answers = answers
        self.dies = dies
        self.methods = []
        self.starts = 0

    def launch(self, server):
        async def run(stdin, on_data):
            self.starts += 1
            if self.dies:
                raise TreadleError("no such program")
            reader = asyncio.StreamReader()
            with os.fdopen(os.dup(stdin), "rb") as pipe:
                transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                    lambda: asyncio.StreamReaderProtocol(reader), pipe
                )
                try:
                    while True:
                        head = await reader.readuntil(b"\r\n\r\n")
                        self.receive(json.loads(await reader.readexactly(int(head.split(b":")[1]))), on_data)
                finally:
                    transport.close()
                    await asyncio.sleep(0)

        return run

    def receive(self, message, on_data):
        self.methods.append(message.get("method", "reply"))
        match message:
            case {"method": "initialize", "id": number}:
                self.send(on_data, {"id": 77, "method": "workspace/configuration", "params": {"items": [{}]}})
                self.send(on_data, {"id": number, "result": {"capabilities": {}}})
            case {"method": "textDocument/didOpen", "params": {"textDocument": document}} if self.answers:
                self.publish(on_data, document, document["text"])
            case {"method": "textDocument/didChange", "params": {"textDocument": document, "contentChanges": [change]}}:
                self.publish(on_data, document, change["text"])

    def publish(self, on_data, document, text):
        found = [
            {"range": {"start": {"line": line}}, "message": text_line.strip(), "severity": 1}
            for line, text_line in enumerate(text.split("\n"))
            if "bad" in text_line
        ]
        warning = {"range": {"start": {"line": 0}}, "message": "only a warning", "severity": 2}
        params = {"uri": document["uri"], "diagnostics": [*found, warning]}
        if self.versions:
            params["version"] = document["version"]
        else:
            self.send(on_data, {"method": "textDocument/publishDiagnostics", "params": {**params, "diagnostics": []}})
        self.send(on_data, {"method": "textDocument/publishDiagnostics", "params": params})

    def send(self, on_data, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        frame = b"Content-Length: %d\r\n\r\n" % len(data) + data
        on_data(frame[:10])
        on_data(frame[10:])


def install_server(monkeypatch: Any, server: FakeServer) -> None:
    """Have every workspace's edits checked by a server, as if it were installed."""
    place = "treadle.toolsets.diagnostics.toolset"
    monkeypatch.setattr(f"{place}.find_language_servers", lambda _: {".py": SERVER})
    monkeypatch.setattr(f"{place}.Diagnostics._launch_sandboxed", lambda self, found: server.launch(found))
    monkeypatch.setenv("TREADLE_CODING_DIAGNOSTICS", "true")

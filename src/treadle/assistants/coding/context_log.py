"""Log of a model's requests and replies as numbered files in a folder, for inspecting a job's context.

Secrets in them are masked.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from treadle import Model, Result
from treadle.models import CallDone, Delta, Request, TextDelta
from treadle.routes import redacted


class ContextLoggingModel:
    """A model whose requests and replies are logged: prompt, response, tool calls, and the results that came back."""

    def __init__(self, model: Model, folder: Path) -> None:
        self.name, self.traits = model.name, model.traits
        self._model = model
        self._folder = folder

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the model's reply."""
        self._results(request)
        self._write("prompt.txt", _format_request(request))
        said: list[str] = []
        asked: list[dict[str, Any]] = []
        async for delta in self._model.reply(request):
            if isinstance(delta, CallDone):
                asked.append({"name": delta.call.name, "args": delta.call.text})
            elif isinstance(delta, TextDelta):
                said.append(delta.text)
            yield delta
        self._write("response.txt", "".join(said))
        if asked:
            self._write("tool-calls.json", _to_json(asked))

    def _results(self, request: Request) -> None:
        if request.history and request.history[-1].role == "tools":
            results = [msgspec.to_builtins(part) for part in request.history[-1].parts]
            self._write("tool-results.json", _to_json(results))

    def _write(self, name: str, text: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = sum(1 for _ in self._folder.iterdir()) + 1
        (self._folder / f"{number:03}-{name}").write_text(redacted(text), "utf-8", errors="replace")


def _to_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _format_request(request: Request) -> str:
    parts = [f"# Instructions\n{request.instructions}", f"# Tools\n{', '.join([tool.name for tool in request.tools]) or 'none'}"]
    parts += [f"# {message.role}\n" + "\n".join([_format_part(part) for part in message.parts]) for message in request.history]
    return "\n\n".join([*parts, *([f"# Note\n{request.note}"] if request.note else [])]) + "\n"


def _format_part(part: Any) -> str:
    if isinstance(part, Result):
        part = replace(part, data=None)  # which is for code: the model doesn't read it
    return part.text if hasattr(part, "text") else _to_json(part)

"""The model behind `llamacpp:NAME`: a GGUF from the catalogue or by its path, loaded when it is first asked."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.core.errors import SettingsError, UnknownModel
from treadle.core.requests import Delta, Options, Request, Traits
from treadle.models import catalogue
from treadle.models.exchange import Timeouts
from treadle.models.known import traits_of
from treadle.models.llamacpp.calling import Caller
from treadle.models.llamacpp.child import Progress, Running, Settings, running
from treadle.models.llamacpp.prefix import Prefixes
from treadle.models.local import models_folder, path_of
from treadle.models.openai import OpenAI

CONTEXT = 8192  # tokens, unless told otherwise: a window takes memory, read or not
SLOTS = 2  # prompts kept in memory: an agent's own, and the one that asks whether a tool fits
_MAGIC = b"GGUF"
_NO_HURRY = Timeouts(first_byte=3600.0, idle=3600.0)  # reading a long prompt takes its time, and a child that dies is noticed


def from_name(name: str, **settings: Any) -> "LlamaCpp":
    """The model behind `llamacpp:NAME`."""
    return LlamaCpp(name, **settings)


class LlamaCpp:
    """A GGUF file, run here. `name` is a path or an entry of the catalogue; `on_load` hears how far loading is, from 0 to 1.

    `threads` 0 means as many as there are cores with nothing to do when it is loaded.
    """

    def __init__(self, name: str, *, context: int = CONTEXT, threads: int = 0, on_load: Progress | None = None) -> None:
        self.name = f"llamacpp:{name}"
        self.on_load = on_load
        self._path = _found(name)
        known = traits_of(self._path.name)
        self.traits: Traits = replace(known, native_calls=False, context=context, holds=True)
        kept = models_folder() / "prefixes"
        self._settings = Settings(str(self._path), context, threads, SLOTS, str(kept))
        self._prefixes = Prefixes(kept, f"{_identity(self._path)} {context}", SLOTS)
        self._running: Running | None = None
        self._caller: Caller | None = None
        self._model: OpenAI | None = None

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """The reply, piece by piece."""
        caller, model = await self._ready()
        slot = await self._prefixes.ready(caller, request)
        extra = {"cache_prompt": True, "id_slot": slot, **request.options.extra}
        async for delta in model.reply(replace(request, options=_with(request.options, extra))):
            yield delta

    async def _ready(self) -> tuple[Caller, OpenAI]:
        """The child, started if need be; again if it died."""
        found = await asyncio.to_thread(running, self._settings, self.on_load)
        if found is not self._running or self._caller is None or self._model is None:
            self._running = found
            self._caller = Caller(self.name, found.address, found.key)
            name = self.name.partition(":")[2]
            self._model = OpenAI(name, base_url=f"{found.address}/v1", api_key=found.key, timeouts=_NO_HURRY, kind="llamacpp")
        return self._caller, self._model


def _with(options: Options, extra: dict[str, Any]) -> Options:
    return replace(options, extra=extra)


def _found(name: str) -> Path:
    """The file by this name; a sentence that says what to do where there is none."""
    looks_like_a_path = name.endswith(".gguf") or "/" in name or "\\" in name
    if not looks_like_a_path:
        entry = catalogue.entry(name)
        path = path_of(entry)
        if path is None:
            raise UnknownModel(f"{entry.title} isn't here yet: `treadle models pull {entry.name}` fetches it.")
        return path
    path = Path(name).expanduser()
    if not path.is_file():
        raise UnknownModel(f"There is no file {name}; a model here is a GGUF file, or one of: {_names()}.")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise SettingsError(f"{name} is no GGUF file, so it can't be run as a model.")
    return path.absolute()


def _names() -> str:
    return ", ".join(entry.name for entry in catalogue.ENTRIES)


def _identity(path: Path) -> str:
    """What tells one file from another without reading all of it."""
    about = path.stat()
    return f"{path.name} {about.st_size} {about.st_mtime_ns}"

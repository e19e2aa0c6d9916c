"""The model behind `llamacpp:NAME`: a GGUF from the catalogue or by its path, loaded on first use."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from treadle.core.errors import SettingsError, UnknownModel
from treadle.core.requests import Delta, Options, Progress, ReplyEnded, Request, Traits
from treadle.models.connections import Timeouts
from treadle.models.downloads import catalogue
from treadle.models.downloads.storage import find_model_file, models_folder
from treadle.models.families import traits_of
from treadle.models.llamacpp.child import LlamaSettings, RunningChild, start_child
from treadle.models.llamacpp.client import ChildClient
from treadle.models.llamacpp.prompt_cache import PromptCache
from treadle.models.wires.openai import OpenAI, encode_message

DEFAULT_CONTEXT = 8192  # tokens, unless told otherwise: a window takes memory, read or not
SLOTS = 4  # prompts kept in memory: an agent's own, and those that ask whether a tool fits and whether an answer was found
BYTES_PER_TOKEN = 3  # at least: English has four to five, code three to four
REPLY_TOKENS = 512  # of a reply without a limit
_MAGIC = b"GGUF"
_LONG_TIMEOUTS = Timeouts(first_byte=3600.0, idle=3600.0)  # reading a long prompt takes its time, and a child that dies is noticed


def from_name(name: str, **settings: Any) -> "LlamaCpp":
    """Return the model behind `llamacpp:NAME`."""
    return LlamaCpp(name, **settings)


class LlamaCpp:
    """A GGUF file, run in a child process. `name` is a path or a catalogue entry.

    `threads` 0 means as many as there are idle cores when it is loaded.
    """

    def __init__(self, name: str, *, context: int = DEFAULT_CONTEXT, threads: int = 0) -> None:
        self.name = f"llamacpp:{name}"
        self._path = _find_file(name)
        known = traits_of(self._path.name)
        self.traits: Traits = replace(known, native_calls=False, context=context, holds=True, warms=True)
        kept = models_folder() / "prefixes"
        self._settings = LlamaSettings(str(self._path), context, threads, SLOTS, str(kept))
        self._prefixes = PromptCache(kept, f"{_file_identity(self._path)} {context}", SLOTS)
        self._running: RunningChild | None = None
        self._caller: ChildClient | None = None
        self._model: OpenAI | None = None

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        child, caller, model = await self._ready(request.progress)
        slot, prefix = self._prefixes.choose(caller, request)
        extra = {"cache_prompt": True, "id_slot": slot, **request.options.extra}
        if request.progress is not None:
            extra["return_progress"] = True
        async with child.requests.place(slot, _estimate_tokens(request), request.progress) as leave:
            await self._prefixes.load(caller, slot, prefix, request.progress)
            async for delta in model.reply(replace(request, options=_with_extra(request.options, extra))):
                if isinstance(delta, ReplyEnded):
                    leave()  # its reader may ask for the next reply before this generator is closed
                yield delta

    async def warm(self, request: Request) -> None:
        """Load the model, and have it read the prefix of requests like this one."""
        child, caller, _ = await self._ready(None)
        slot, prefix = self._prefixes.choose(caller, request)
        if prefix:
            async with child.requests.place(slot, _estimate_tokens(request)):
                await self._prefixes.load(caller, slot, prefix, None)

    async def _ready(self, report: Callable[[Progress], None] | None) -> tuple[RunningChild, ChildClient, OpenAI]:
        """Return the child, started if necessary; again if it died; and what calls it."""
        loop = asyncio.get_running_loop()

        def on_load(share: float) -> None:
            assert report is not None  # otherwise this isn't called
            loop.call_soon_threadsafe(report, Progress("loading", share, 1))

        found = await asyncio.to_thread(start_child, self._settings, None if report is None else on_load)
        if found is not self._running or self._caller is None or self._model is None:
            self._running = found
            self._caller = ChildClient(self.name, found.address, found.key)
            name = self.name.partition(":")[2]
            self._model = OpenAI(name, base_url=f"{found.address}/v1", api_key=found.key, timeouts=_LONG_TIMEOUTS, kind="llamacpp")
        return found, self._caller, self._model


def _estimate_tokens(request: Request) -> int:
    """Return about how many tokens of the window a request takes at most: its text, and the reply."""
    size = len(request.instructions) + len(request.note) + sum(len(encode_message(message)) for message in request.history)
    return size // BYTES_PER_TOKEN + (request.options.max_tokens or REPLY_TOKENS)


def _with_extra(options: Options, extra: dict[str, Any]) -> Options:
    return replace(options, extra=extra)


def _find_file(name: str) -> Path:
    """Return the file by this name; raise an error that says what to do if there is none."""
    looks_like_a_path = name.endswith(".gguf") or "/" in name or "\\" in name
    if not looks_like_a_path:
        entry = catalogue.find_local_model(name)
        path = find_model_file(entry)
        if path is None:
            raise UnknownModel(f"{entry.title} isn't here yet: `treadle models pull {entry.name}` fetches it.")
        return path
    path = Path(name).expanduser()
    if not path.is_file():
        raise UnknownModel(f"There is no file {name}; a model here is a GGUF file, or one of: {_list_names()}.")
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise SettingsError(f"{name} is no GGUF file, so it can't be run as a model.")
    return path.absolute()


def _list_names() -> str:
    return ", ".join(entry.name for entry in catalogue.LOCAL_MODELS)


def _file_identity(path: Path) -> str:
    """Return what identifies a file without reading all of it."""
    about = path.stat()
    return f"{path.name} {about.st_size} {about.st_mtime_ns}"

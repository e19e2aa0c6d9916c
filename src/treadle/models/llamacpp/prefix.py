"""What a model has read once, kept on disk: the instructions and tools at the beginning of every prompt of an agent.

Reading them takes a small machine many seconds, fetching them from disk some milliseconds. Kept files are named after the model and
the text, so neither another model nor a changed prompt can be mistaken; the oldest go when there are too many.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from treadle.core.errors import ModelError
from treadle.core.requests import Request
from treadle.models.llamacpp.calling import Caller
from treadle.models.openai import encode_message

SHORTEST = 600  # characters; what is shorter is read faster than it is worth keeping
MOST = 24  # files kept
_MARK = "\u2402mark\u2403"


class Prefixes:
    """Keeps what a model has read of one beginning after the other. Each slot of the server holds one in memory."""

    def __init__(self, folder: Path, identity: str, slots: int) -> None:
        self._folder = folder
        self._identity = identity
        self._slots = slots
        self._address = ""
        self._held: dict[bytes, int] = {}  # beginnings and the slots they are in, the one used longest ago first

    async def ready(self, caller: Caller, request: Request) -> int:
        """The slot for a request, with its beginning read there: from disk, or now, and then to disk."""
        if self._address != caller.address:
            self._address, self._held = caller.address, {}
        beginning = _beginning(request)
        slot = self._held.pop(beginning, None)
        if slot is not None:
            self._held[beginning] = slot
            return slot
        slot = self._held.pop(next(iter(self._held))) if len(self._held) == self._slots else len(self._held)
        self._held[beginning] = slot
        if len(beginning) >= SHORTEST:
            with suppress(ModelError, OSError):  # it only saves time: without it, the prompt is read as any other
                await self._fill(caller, slot, beginning)
        return slot

    async def _fill(self, caller: Caller, slot: int, beginning: bytes) -> None:
        name = sha256(self._identity.encode() + beginning).hexdigest()[:32] + ".prefix"
        if not await self._fetched(caller, slot, name):
            await self._read(caller, slot, beginning, name)

    async def _fetched(self, caller: Caller, slot: int, name: str) -> bool:
        path = self._folder / name
        if not path.exists():
            return False
        try:
            await caller.post(f"/slots/{slot}?action=restore", {"filename": name})
        except ModelError:  # of another version, or damaged
            path.unlink(missing_ok=True)
            return False
        os.utime(path)
        return True

    async def _read(self, caller: Caller, slot: int, beginning: bytes, name: str) -> None:
        prompt = await self._prompt(caller, beginning)
        if not prompt:
            return
        await caller.post("/completion", {"prompt": prompt, "n_predict": 0, "cache_prompt": True, "id_slot": slot})
        fresh = f"{name}.{os.getpid()}"
        await caller.post(f"/slots/{slot}?action=save", {"filename": fresh})
        (self._folder / fresh).replace(self._folder / name)
        self._drop_oldest()

    async def _prompt(self, caller: Caller, beginning: bytes) -> str:
        """The prompt up to where a person's words begin, as the model's own template writes it."""
        messages = [*msgspec.json.decode(b"[%b]" % beginning), {"role": "user", "content": _MARK}]
        told: dict[str, Any] = await caller.post("/apply-template", {"messages": messages})
        before, mark, _ = str(told.get("prompt", "")).partition(_MARK)
        return before if mark else ""

    def _drop_oldest(self) -> None:
        kept = sorted(self._folder.glob("*.prefix*"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-MOST]:
            path.unlink(missing_ok=True)


def _beginning(request: Request) -> bytes:
    """What a request has in common with others of its kind: the instructions, and the first messages if they never change."""
    system = msgspec.json.encode({"role": "system", "content": request.instructions})
    return b",".join([system, *map(encode_message, request.history[: request.fixed])])

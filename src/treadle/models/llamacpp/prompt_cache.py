"""On-disk cache of evaluated prompt prefixes: the instructions and tools at the beginning of every prompt of an agent.

Evaluating them takes a small machine many seconds, loading them from disk some milliseconds. Files are named after the model
and the text, so neither another model nor a changed prompt can be confused; the oldest are removed when there are too many.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from treadle.core.errors import ModelError
from treadle.core.requests import Request
from treadle.models.llamacpp.client import ChildClient, Report
from treadle.models.wires.openai import encode_message

MIN_PREFIX = 600  # characters; what is shorter is read faster than it is worth keeping
MAX_FILES = 24  # files kept
_MARK = "\u2402mark\u2403"


class PromptCache:
    """Caches evaluated prompt prefixes. Each slot of the server holds one in memory."""

    def __init__(self, folder: Path, identity: str, slots: int) -> None:
        self._folder = folder
        self._identity = identity
        self._slots = slots
        self._address = ""
        self._slot_of: dict[bytes, int] = {}  # beginnings and the slots they are for, the one used longest ago first
        self._read: set[bytes] = set()  # those that have been evaluated in their slots

    def choose(self, caller: ChildClient, request: Request) -> tuple[int, bytes]:
        """Return the slot for a request, and the prefix that is to be loaded there; empty where the slot has it."""
        if self._address != caller.address:
            self._address, self._slot_of, self._read = caller.address, {}, set()
        beginning = _prompt_prefix(request)
        slot = self._slot_of.pop(beginning, None)
        if slot is None:
            slot = self._free_slot()
        self._slot_of[beginning] = slot
        return slot, b"" if beginning in self._read or len(beginning) < MIN_PREFIX else beginning

    def _free_slot(self) -> int:
        if len(self._slot_of) < self._slots:
            return len(self._slot_of)
        oldest = next(iter(self._slot_of))
        self._read.discard(oldest)
        return self._slot_of.pop(oldest)

    async def load(self, caller: ChildClient, slot: int, prefix: bytes, report: Report | None) -> None:
        """Have a prefix evaluated in a slot: from disk, or now, and then saved to disk. Does nothing without one."""
        if not prefix or prefix in self._read:  # by a request that was before this one
            return
        name = sha256(self._identity.encode() + prefix).hexdigest()[:32] + ".prefix"
        with suppress(ModelError, OSError):  # it only saves time: without it, the prompt is read as any other
            if not await self._restore(caller, slot, name):
                await self._evaluate(caller, slot, prefix, name, report)
        if self._slot_of.get(prefix) == slot:
            self._read.add(prefix)

    async def _restore(self, caller: ChildClient, slot: int, name: str) -> bool:
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

    async def _evaluate(self, caller: ChildClient, slot: int, beginning: bytes, name: str, report: Report | None) -> None:
        prompt = await self._render_prefix(caller, beginning)
        if not prompt:
            return
        body = {"prompt": prompt, "n_predict": 0, "cache_prompt": True, "id_slot": slot}
        await caller.read_prompt("/completion", body, report)
        fresh = f"{name}.{os.getpid()}"
        await caller.post(f"/slots/{slot}?action=save", {"filename": fresh})
        (self._folder / fresh).replace(self._folder / name)
        self._drop_oldest()

    async def _render_prefix(self, caller: ChildClient, beginning: bytes) -> str:
        """Return the prompt up to where the user's text begins, as the model's own template writes it."""
        messages = [*msgspec.json.decode(b"[%b]" % beginning), {"role": "user", "content": _MARK}]
        told: dict[str, Any] = await caller.post("/apply-template", {"messages": messages})
        before, mark, _ = str(told.get("prompt", "")).partition(_MARK)
        return before if mark else ""

    def _drop_oldest(self) -> None:
        kept = sorted(self._folder.glob("*.prefix*"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-MAX_FILES]:
            path.unlink(missing_ok=True)


def _prompt_prefix(request: Request) -> bytes:
    """Return what a request has in common with others of its kind.

    The instructions, and the first messages if they never change.
    """
    system = msgspec.json.encode({"role": "system", "content": request.instructions})
    return b",".join([system, *map(encode_message, request.history[: request.fixed])])

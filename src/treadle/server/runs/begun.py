"""How a run was begun here, as it is kept with the run (`Opened.origin`), so that the same assistant goes on with it.

Runs of other faces are theirs to go on with: they may have been begun with tools, rules and folders that nobody here knows of.
"""

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.core.entries import Opened

FACE = "server"
WIRE = "wire"  # the face of those who come by OpenAI's wire or Anthropic's: what they wait for can be approved here


class CallWanted(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that a person wants to have made, as by a button: judged, shown and approved like one of a model's."""

    name: str
    arguments: dict[str, Any] = {}


class Begun(Struct, frozen=True):
    """What a run goes by. Without a model it is whichever is the default; `about` is the context of the conversation."""

    assistant: str
    model: str = ""
    instructions: str = ""
    about: dict[str, Any] = {}
    call: CallWanted | None = None

    @property
    def origin(self) -> dict[str, Any]:
        """What is kept with the run."""
        kept: dict[str, Any] = {"face": FACE, "assistant": self.assistant, "model": self.model, "instructions": self.instructions}
        if self.call is not None:
            kept["call"] = msgspec.to_builtins(self.call)
        return {**kept, "about": self.about} if self.about else kept

    @property
    def asked(self) -> dict[str, Any]:
        """What a person asked for besides what the assistant is."""
        return {"instructions": self.instructions, "priced": True}


def is_ours(opened: Opened) -> bool:
    """Whether a run was begun here."""
    return opened.origin.get("face") == FACE


def begun_of(run_id: str, opened: Opened, assistants: Collection[str], *, is_job: bool = False) -> Begun:
    """How a run was begun; 409 with a sentence where it isn't for us to go on with it."""
    if opened.parent:
        raise HTTPException(409, f"Run {run_id} is inside of another; go on with that: {opened.parent}.")
    if is_job:
        raise HTTPException(409, f"Run {run_id} is that of a job: POST /api/jobs/{run_id}/resume goes on with it.")
    if is_ours(opened) or opened.origin.get("face") == WIRE:
        begun = _read(run_id, opened)
    elif "face" in opened.origin or opened.agent not in assistants:
        raise HTTPException(409, f"Run {run_id} wasn't begun here: go on with it where it was, as with `treadle resume {run_id}`.")
    else:
        begun = Begun(opened.agent, about=opened.origin.get("about") or {})
    if begun.assistant not in assistants:
        raise HTTPException(409, f"Run {run_id} was begun with the assistant {begun.assistant}, which isn't installed any more.")
    return begun


def _read(run_id: str, opened: Opened) -> Begun:
    try:
        return msgspec.convert(opened.origin, Begun)
    except msgspec.ValidationError as error:
        raise HTTPException(409, f"How run {run_id} was begun can't be read: {error}.") from error

"""The origin of a run that was started here, journaled with it (`Opened.origin`) so that the same assistant continues it.

Runs of other hosts are theirs to continue: they may have been started with tools, rules and folders that aren't
known here.
"""

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.core.entries import Opened

FACE = "server"
WIRE = "wire"  # the face of those who come by OpenAI's wire or Anthropic's: what they wait for can be approved here


class RequestedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that a user requests directly, as by a button: judged, shown and approved like one of a model's."""

    name: str
    arguments: dict[str, Any] = {}


class RunOrigin(Struct, frozen=True):
    """What a run was started with. Without a model it is the default one; `about` is the context of the conversation.

    `request` is the digest of a request with an idempotency key.
    """

    assistant: str
    model: str = ""
    instructions: str = ""
    about: dict[str, Any] = {}
    call: RequestedCall | None = None
    request: str = ""

    @property
    def origin(self) -> dict[str, Any]:
        """The origin that is journaled with the run."""
        kept: dict[str, Any] = {"face": FACE, "assistant": self.assistant, "model": self.model, "instructions": self.instructions}
        if self.call is not None:
            kept["call"] = msgspec.to_builtins(self.call)
        if self.request:
            kept["request"] = self.request
        return {**kept, "about": self.about} if self.about else kept

    @property
    def asked(self) -> dict[str, Any]:
        """The user's own arguments for the agent."""
        return {"instructions": self.instructions, "priced": True}


def is_server_run(opened: Opened) -> bool:
    """Whether a run was started by the server."""
    return opened.origin.get("face") == FACE


def load_run_origin(run_id: str, opened: Opened, assistants: Collection[str], *, is_job: bool = False) -> RunOrigin:
    """Return a run's origin; raise 409 with a sentence where the run can't be continued here."""
    if opened.parent:
        raise HTTPException(409, f"Run {run_id} is inside of another; go on with that: {opened.parent}.")
    if is_job:
        raise HTTPException(409, f"Run {run_id} is that of a job: POST /api/jobs/{run_id}/resume goes on with it.")
    if is_server_run(opened) or opened.origin.get("face") == WIRE:
        begun = _parse_origin(run_id, opened)
    elif "face" in opened.origin or opened.agent not in assistants:
        raise HTTPException(409, f"Run {run_id} wasn't begun here: go on with it where it was, as with `treadle resume {run_id}`.")
    else:
        begun = RunOrigin(opened.agent, about=opened.origin.get("about") or {})
    if begun.assistant not in assistants:
        raise HTTPException(409, f"Run {run_id} was begun with the assistant {begun.assistant}, which isn't installed any more.")
    return begun


def _parse_origin(run_id: str, opened: Opened) -> RunOrigin:
    try:
        return msgspec.convert(opened.origin, RunOrigin)
    except msgspec.ValidationError as error:
        raise HTTPException(409, f"The options that run {run_id} was started with can't be read: {error}.") from error

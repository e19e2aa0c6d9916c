"""How a run was begun here, as it is kept with the run (`Opened.origin`), so that the same assistant goes on with it.

Runs of other faces are theirs to go on with: they may have been begun with tools, rules and folders that nobody here knows of.
"""

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException

from treadle.app.agent import Agent
from treadle.app.assistant import Assistant, Host
from treadle.app.assistants import agent_of, instructed, instructions_of
from treadle.core.entries import Opened
from treadle.core.seams import Model

FACE = "server"
WIRE = "wire"  # the face of those who come by OpenAI's wire or Anthropic's: what they wait for can be approved here


class Begun(Struct, frozen=True):
    """What a run goes by. Without a model it is whichever is the default; `about` is what the assistant kept with it."""

    assistant: str
    model: str = ""
    instructions: str = ""
    about: dict[str, Any] = {}

    @property
    def origin(self) -> dict[str, Any]:
        """What is kept with the run."""
        kept = {"face": FACE, "assistant": self.assistant, "model": self.model, "instructions": self.instructions}
        return {**kept, "about": self.about} if self.about else kept


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


def make_agent(assistant: Assistant, host: Host, model: Model, begun: Begun) -> Agent[Any]:
    """The assistant as an agent, told what the person wants it to keep to besides."""

    async def same() -> Model:
        return model

    lent = msgspec.structs.replace(host, model=same, about=begun.about)
    told = instructed(instructions_of(assistant, lent), begun.instructions)
    return agent_of(assistant, lent, model, instructions=told, priced=True)

"""What is asked of workers: which assistant, by which model. Kept with the run (`Opened.origin`), and with schedules.

Any worker makes the same agent of it. No keys are in it: those are in the environment of each worker.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from pathlib import Path
from time import time
from typing import Any

import msgspec
from msgspec import Struct

from treadle.app.agent import Agent
from treadle.app.assistant import Host
from treadle.app.assistants import agent_of, assistant
from treadle.app.home import Home
from treadle.app.models import model_at, names_in
from treadle.core.entries import Entry, Opened, Said
from treadle.core.errors import BadPrompt, SettingsError
from treadle.core.log import log
from treadle.core.seams import Model
from treadle.tools.text import sound

FACE = "worker"


class Order(Struct, frozen=True):
    """What a run goes by. `workspace` is the folder it works in, which has to be there on every machine that it may matter on.

    Where it isn't `attended`, nobody is asked: what would need a person is denied.
    """

    assistant: str
    model: str
    base_url: str = ""
    instructions: str = ""
    workspace: str = ""
    attended: bool = True

    @property
    def first_model(self) -> str:
        """The name of the model that is asked first."""
        return names_in(self.model)[0]

    @property
    def origin(self) -> dict[str, Any]:
        """What is kept with the run."""
        return {"face": FACE, **msgspec.to_builtins(self)}


def opening(order: Order, message: str, user: str) -> list[Entry]:
    """The first entries of a run: whose it is, and what was said."""
    if not message.strip():
        raise BadPrompt("The message is empty; say what you want.")
    now = time()
    opened = Opened(agent=order.assistant, model=order.first_model, user=user, origin=order.origin, at=now)
    return [opened, Said(text=sound(message), at=now)]


def is_workers(opened: Opened | None) -> bool:
    """Whether a run is for workers to carry out."""
    return opened is not None and opened.origin.get("face") == FACE


def order_of(run_id: str, opened: Opened | None) -> Order:
    """What was asked when a run began; a sentence where that isn't for workers."""
    if opened is None or not is_workers(opened):
        raise SettingsError(
            f"Run {run_id} wasn't submitted to workers: go on with it where it was begun, as with `treadle resume`."
        )
    try:
        return msgspec.convert(opened.origin, Order)
    except msgspec.ValidationError as error:
        raise SettingsError(f"How run {run_id} was submitted can't be read: {error}.") from error


class Models:
    """The models that a worker uses, each made once: one may be large."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Model] = {}

    def named(self, order: Order) -> Model:
        """The one that an order names."""
        key = order.model, order.base_url
        if key not in self._made:
            self._made[key] = model_at(*key)
        return self._made[key]


@asynccontextmanager
async def agent_for(order: Order, home: Home, user: str, models: Models) -> AsyncGenerator[Agent[Any]]:
    """The assistant as an agent. What it has opened is closed at the end. Nobody answers approvals here: a run waits for them."""
    made, model, opened = assistant(order.assistant), models.named(order), list[Callable[[], object]]()

    async def same() -> Model:
        return model

    host = Host(home, same, user, at_end=opened.append, folder=Path(order.workspace) if order.workspace else None)
    try:
        yield agent_of(made, host, model, instructions=order.instructions, priced=True, attended=order.attended)
    finally:
        for close in reversed(opened):
            await _closed(close)


async def _closed(close: Callable[[], object]) -> None:
    try:
        closing = close()
        if isawaitable(closing):
            await closing
    except Exception:  # noqa: BLE001 - a stranger's, when the run is over already
        log.exception("Something that an assistant had opened couldn't be closed")

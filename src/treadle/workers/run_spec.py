"""The specification of a run for workers: which assistant with which model, or which agent of a program.

Stored with the run (`Opened.origin`) and in schedules.

Any worker makes the same agent of it. It contains no keys: those are in the environment of each worker.
"""

import re
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, nullcontext
from importlib import import_module
from inspect import isawaitable
from operator import attrgetter
from pathlib import Path
from time import time
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.budget import wrap_in_budgets
from treadle.agent.quotas import Quotas
from treadle.core.entries import Entry, Opened, Said
from treadle.core.errors import BadPrompt, SettingsError
from treadle.core.log import log
from treadle.core.seams import Model
from treadle.home import Home
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import assistant_agent, get_assistant
from treadle.plugins.models import model_at, split_model_names
from treadle.stores.accounts import User
from treadle.stores.queue import DEFAULT_QUEUE, QueuePosition
from treadle.stores.users import Users
from treadle.tools.text import repair_surrogates

FACE = "worker"
MAX_PRIORITY = 1000
_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,50}")


class RunSpec(Struct, frozen=True):
    """A run's specification. `workspace` is its working folder, which has to exist on every machine where it is used.

    Where it isn't `attended`, no approvals are requested: calls that need approval are denied. `agent` is an agent of a program,
    "module:name", instead of an assistant; it has its own model and rules. `queue` names the queue that it waits in, and
    `priority` how urgent it is there: higher ones begin first. With `any_version`, a worker of any version of the application
    continues it, and not only one of the version that began it.
    """

    assistant: str = ""
    model: str = ""
    base_url: str = ""
    instructions: str = ""
    workspace: str = ""
    attended: bool = True
    agent: str = ""
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    any_version: bool = False

    @property
    def name(self) -> str:
        """The name of the assistant or the agent."""
        return self.assistant or self.agent

    @property
    def first_model(self) -> str:
        """The name of the first model of the fallback; empty for an agent, which has its own."""
        return split_model_names(self.model)[0] if self.model else ""

    def check(self) -> None:
        """Raise with a sentence where there is no such assistant, or an agent is combined with options that it has itself."""
        check_queue_name(self.queue)
        if not -MAX_PRIORITY <= self.priority <= MAX_PRIORITY:
            raise SettingsError(f"A priority is a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}, not {self.priority}.")
        if not self.agent:
            get_assistant(self.assistant)
            return
        module, _, name = self.agent.partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise SettingsError(f"{self.agent!r} names no agent; write module:name, such as mypkg.app:agent.")
        if replace(self, agent="") != RunSpec(queue=self.queue, priority=self.priority, any_version=self.any_version):
            raise SettingsError("An agent of a program has its own model, instructions and rules: leave other options out.")

    @property
    def origin(self) -> dict[str, Any]:
        """The origin that is journaled with the run."""
        kept: dict[str, Any] = {"face": FACE, **msgspec.to_builtins(self)}
        added = {
            "agent": "",
            "queue": DEFAULT_QUEUE,
            "priority": 0,
            "any_version": False,
        }  # what runs of earlier versions don't have
        return {name: value for name, value in kept.items() if name not in added or value != added[name]}

    def position(self, run_id: str, user: str, at: float = 0.0) -> QueuePosition:
        """Return the run's position in its queue."""
        return QueuePosition(run_id, user, self.first_model, at, self.queue, self.priority)


def check_queue_name(name: str) -> None:
    """Raise with a sentence where a queue can't have this name."""
    if not _QUEUE_NAME.fullmatch(name):
        raise SettingsError(f"{name[:50]!r} can't be a queue's name: up to 50 letters, digits, - and _ can.")


def opening_entries(order: RunSpec, message: str, user: str) -> list[Entry]:
    """Return the first entries of a run: its user and the message."""
    if not message.strip():
        raise BadPrompt("The message is empty; say what you want.")
    now = time()
    opened = Opened(agent=order.name, model=order.first_model, user=user, origin=order.origin, at=now)
    return [opened, Said(text=repair_surrogates(message), at=now)]


def is_worker_run(opened: Opened | None) -> bool:
    """Whether a run is to be executed by workers."""
    return opened is not None and opened.origin.get("face") == FACE


def run_spec_of(run_id: str, opened: Opened | None) -> RunSpec:
    """Return a run's specification; raise with a sentence where it isn't for workers."""
    if opened is None or not is_worker_run(opened):
        raise SettingsError(
            f"Run {run_id} wasn't submitted to workers: go on with it where it was begun, as with `treadle resume`."
        )
    try:
        order = msgspec.convert(opened.origin, RunSpec)
    except msgspec.ValidationError as error:
        raise SettingsError(f"How run {run_id} was submitted can't be read: {error}.") from error
    if not order.agent and not (order.assistant and order.model):
        raise SettingsError(
            f"How run {run_id} was submitted can't be read: it names neither an assistant with a model nor an agent."
        )
    return order


class WorkerModels:
    """The models of a worker, each created once: one may be large. `modules` are those whose agents it may import."""

    def __init__(self, modules: Collection[str] = (), quotas: Quotas | None = None, users: Users | None = None) -> None:
        self._modules = modules
        self._quotas = quotas
        self._users = users
        self._made: dict[tuple[str, str], Model] = {}

    def get_model(self, order: RunSpec) -> Model:
        """Return the model that a specification names."""
        key = order.model, order.base_url
        if key not in self._made:
            self._made[key] = model_at(*key)
        return self._made[key]

    def within_quotas(self, model: Model, name: str) -> Model:
        """Return a model that is asked only within the quotas of a user, by name."""
        if not name or self._quotas is None or self._users is None:
            return model
        known = next((person for person in self._users.all() if person.name == name), User(name))
        return wrap_in_budgets(model, self._quotas.budgets_for(known))

    def agent(self, name: str) -> Agent[Any, Any]:
        """Return an agent of a program, "module:name". Raises with a sentence where this worker can't or may not import it."""
        module, _, attribute = name.partition(":")
        if module not in self._modules:
            raise SettingsError(
                f"this worker doesn't import {module!r}; its administrator allows that with"
                f' `agents = ["{module}"]` in [worker], or with `treadle worker --agents {module}`'
            )
        try:
            found = attrgetter(attribute)(import_module(module))
        except Exception as error:
            raise SettingsError(f"this worker can't import the agent {name} ({type(error).__name__}: {error})") from error
        if not isinstance(found, Agent):
            raise SettingsError(f"{name} isn't an agent")
        return found  # pyright: ignore[reportUnknownVariableType]  # of any types


@asynccontextmanager
async def open_agent(order: RunSpec, home: Home, user: str, models: WorkerModels) -> AsyncGenerator[Agent[Any, Any]]:
    """Yield the assistant as an agent, and close its resources at the end. Approvals aren't answered here: a run waits for them."""
    if order.agent:
        agent = models.agent(order.agent)
        limited = models.within_quotas(agent.setup.model, user)
        with nullcontext() if limited is agent.setup.model else agent.override(model=limited):
            yield agent
        return
    model = models.within_quotas(models.get_model(order), user)
    made, opened = get_assistant(order.assistant), list[Callable[[], object]]()

    async def same() -> Model:
        return model

    host = Host(home, same, user, on_close=opened.append, folder=Path(order.workspace) if order.workspace else None)
    try:
        yield assistant_agent(made, host, model, instructions=order.instructions, priced=True, attended=order.attended)
    finally:
        for close in reversed(opened):
            await _close(close)


async def _close(close: Callable[[], object]) -> None:
    try:
        closing = close()
        if isawaitable(closing):
            await closing
    except Exception:  # noqa: BLE001 - a stranger's, when the run is over already
        log.exception("Something that an assistant had opened couldn't be closed")

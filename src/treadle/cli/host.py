"""The `Host` that the command line gives to assistants, and agents made from an assistant and the typed options."""

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession, caller_arguments
from treadle.agent.talk import ChatExtension, SlashCommand
from treadle.cli.agent_options import AgentOptions, TypedCall, options_from_args
from treadle.cli.agents import ensure_model, model_from_options
from treadle.cli.conversation import Conversation
from treadle.cli.turn import TurnInterrupted, take_turn
from treadle.cli.ui.display import Display
from treadle.cli.ui.event_printer import EventPrinter
from treadle.cli.ui.pager import open_pager
from treadle.cli.ui.repl import AfterTurn, run_repl
from treadle.cli.ui.report import call_exit_code
from treadle.cli.ui.run_status import RunStatus
from treadle.core.errors import SettingsError
from treadle.core.events import Event
from treadle.core.seams import Model
from treadle.engine.engine import new_run_id
from treadle.engine.result import RunResult
from treadle.guard.policy import parse_policy
from treadle.home import open_home
from treadle.loop.state import replay
from treadle.plugins.assistant import Assistant, Host
from treadle.plugins.assistants import get_assistant

COMMON_OPTIONS = ("model", "base_url", "dialect", "user", "yes", "quiet", "verbose")


def run_with_host(
    args: Namespace, work: "Callable[[Host], int | Awaitable[int]]", assistant: str = "", *, pages: bool = False
) -> int | Awaitable[int]:
    """Run a command of an assistant. While it is awaited, the status line says what it and its runs wait for."""
    typed = {name: getattr(args, name, None) for name in COMMON_OPTIONS} | {"json": getattr(args, "json", False)}
    face, status = Display(Namespace(**typed)), RunStatus()
    with ExitStack() as stack:
        stack.enter_context(open_pager(face.screen, wanted=pages))
        begun = work(_make_host(typed, face, status, assistant))
        if isinstance(begun, Awaitable):
            return _await_with_status(begun, face, status, stack.pop_all())
        return begun


async def _await_with_status(work: Awaitable[int], face: Display, status: RunStatus, stack: ExitStack) -> int:
    with stack, face.screen.status.showing(status.describe):
        return await work


def _make_host(typed: dict[str, Any], face: Display, status: RunStatus, assistant: str) -> Host:
    """Return the host for a command of an assistant. Of the arguments, only the common options are read, as far as it has them."""
    chosen = options_from_args(Namespace(**typed, assistant=assistant))
    printer = EventPrinter(face.screen, says=False, verbose=face.verbose, asks=face.asks)

    def watch(event: Event) -> None:
        status(event)
        printer(event)

    found: list[Model] = []

    async def model() -> Model:
        nonlocal chosen
        if not found:  # the same one each time: it may be large, or remember what it has said
            chosen = await ensure_model(chosen, face)
            found.append(model_from_options(chosen))
        return found[0]

    return Host(
        open_home(),
        model,
        typed["user"] or "",
        face.screen,
        face.approver,
        watcher=None if face.quiet else watch,
        origin={name: typed[name] for name in ("base_url", "dialect") if typed[name]},
        detach=start_detached,
        remember=lambda about: replace(chosen, about=about).origin,
        talk=lambda session, agent: AssistantConversation(session, agent, chosen, face),
        dialect=chosen.dialect,
    )


class AssistantConversation(Conversation):
    """A conversation held by an assistant's command. Its run can be resumed like any other run of the assistant."""

    def __init__(self, session: AssistantSession, agent: Agent[Any, Any], chosen: AgentOptions, face: Display) -> None:
        about = dict(session.host.about)
        super().__init__(agent, replace(chosen, about=about), face, run_id=new_run_id(), kept=True, session=session)
        self.session = session

    async def call(self, name: str, arguments: Mapping[str, Any], message: str) -> int:
        """Make one call; resuming the run makes the same call."""
        self._chosen = replace(self._chosen, call=TypedCall(name, dict(arguments)))
        self.face.form = "data" if self.face.form == "json" else "result"
        return call_exit_code(await self.ask(message))

    @property
    def is_interactive(self) -> bool:
        """Whether a person is at a terminal."""
        return self.face.is_interactive

    async def go_on(self, run_id: str) -> RunResult[Any] | None:
        """Continue a stored run. A turn that a process left unfinished, or that waits, is resumed."""
        self.start_afresh()
        self.run_id, self.turns = run_id, 1
        state = replay(await self.entries())
        self.usage = state.spent.usage
        if state.finished is not None and state.finished.stopped != "waiting":
            return None
        how = {"journal": True, **caller_arguments(await self.session.caller())}
        with suppress(TurnInterrupted):
            work = partial(self.agent.resume, run_id, **how)
            self.face.goes_on = self.face.is_interactive
            result = await take_turn(self.agent, run_id, self.face, lambda watchers: work(watchers=watchers), steer=self.steer)
            self.is_interrupted = result.interrupted
            return result
        return None

    async def converse(
        self,
        slashes: Mapping[str, SlashCommand] = {},
        after: AfterTurn | None = None,
        extension: ChatExtension = ChatExtension(),  # noqa: B008 - frozen
    ) -> int:
        """Answer lines until there are no more."""
        with self.face.screen.status.hidden():  # except for each answer
            return await run_repl(self, self.face, slashes=slashes, after=after, extension=extension)


def start_detached(words: Sequence[str]) -> None:
    """Start a command in its own session, so that closing this terminal doesn't end it."""
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123 - a device
        subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-P", "-m", "treadle.cli.main", *words],  # nothing in this folder is imported: it may be a stranger's
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )


def agent_from_options(chosen: AgentOptions, face: Display, user: str, model: Model | None = None, **how: Any) -> Agent[Any, str]:
    """Build the chosen assistant's agent.

    Typed tools, rules and instructions are added to its own; typed limits replace its own. `model` is used in place of the one
    that the options name, where it is given.
    """
    model = model or model_from_options(chosen)
    opened = session_from_options(chosen, face, user, model)
    session = AssistantSession(opened.assistant.for_host(opened.host), opened.host)  # once: policy and tools may share a state
    return session.agent(
        model,
        instructions=chosen.instructions,
        policy=merge_policy(session.assistant, chosen),
        limits=chosen.limits,
        dialect=chosen.dialect,
        sources=chosen.sources,
        **how,
    )


def session_from_options(chosen: AgentOptions, face: Display, user: str, model: Model) -> AssistantSession:
    """Return a session of the chosen assistant for this user."""

    async def same() -> Model:
        return model

    made = get_assistant(chosen.assistant)
    if chosen.call is not None:
        made = replace(made, lead=None)  # no plan decides about a typed call
    return AssistantSession(made, Host(open_home(), same, user, approver=face.approver, about=chosen.about))


def merge_policy(made: Assistant, chosen: AgentOptions) -> Any:
    """Merge the assistant's rules with the typed ones: deny beats ask beats allow, wherever a rule comes from."""
    if not chosen.policy:
        return made.policy
    own = () if made.policy is None else made.policy
    if not isinstance(own, Sequence):
        raise SettingsError(
            f"The assistant {made.name} judges by a policy of its own, to which no rules can be added; "
            "leave --allow, --ask, --deny and --policy out."
        )
    return parse_policy(chosen.policy, own)

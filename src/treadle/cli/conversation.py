"""A conversation over one run, shared by `ask` and `chat`."""

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession, caller_arguments
from treadle.cli.agent_options import AgentOptions, options_from_args, options_of_run
from treadle.cli.agents import build_agent, caller_of, ensure_model
from treadle.cli.turn import TurnResult, take_turn
from treadle.cli.ui.display import Display
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.media import Attachment, attachment_from_path
from treadle.core.messages import Message
from treadle.core.requests import Usage
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Caller
from treadle.home import open_home
from treadle.loop.state import replay
from treadle.stores.journal import MemoryJournal

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


class Conversation:
    """An agent, the run it talks in, and the journal of that run."""

    def __init__(
        self,
        agent: Agent[str],
        chosen: AgentOptions,
        face: Display,
        *,
        run_id: str,
        caller: Caller = Caller(),  # noqa: B008 - frozen
        kept: bool,
        session: AssistantSession | None = None,
        attached: Sequence[Attachment] = (),
    ) -> None:
        self.agent = agent
        self.run_id = run_id
        self.usage = Usage()
        self.turns = 0
        self._chosen = chosen
        self.face = face
        self._caller = caller
        self._session = session
        self._attached = attached  # what goes with the first message
        self._journal = True if kept else MemoryJournal()

    async def ask(self, prompt: str) -> TurnResult:
        """Send a prompt, and show the result."""
        caller, history = await self._begin_turn(prompt)
        asked = [prompt, *self._attached] if self._attached else prompt
        result = await take_turn(
            self.agent,
            self.run_id,
            self.face,
            lambda watchers: self.agent.run(
                asked,
                run_id=self.run_id,
                journal=self._journal,
                history=history,
                watchers=watchers,
                origin=self._chosen.origin,
                **caller_arguments(caller),
            ),
        )
        self._attached = ()
        self.usage = self.usage + result.usage
        self.turns += 1
        return result

    async def _begin_turn(self, prompt: str) -> tuple[Caller, Sequence[Message]]:
        """Return the caller and the earlier messages. If the assistant stores conversations itself, each turn starts a new run."""
        if self._session is None:
            return self._caller, ()
        if self._session.has_own_history and self.turns:
            self.run_id = new_run_id()
        begins = self._session.has_own_history or not self.turns
        return await self._session.caller(), await self._session.begin(self.run_id, prompt) if begins else ()

    def start_afresh(self, context: Mapping[str, Any] | None = None) -> None:
        """Continue in a new run; in another context, if one is given."""
        self.run_id, self.usage, self.turns = new_run_id(), Usage(), 0
        if context is not None and self._session is not None:
            self._session = AssistantSession(self._session.assistant, self._session.host, context)
            self._chosen = replace(self._chosen, about=dict(context))


async def open_conversation(args: argparse.Namespace, face: Display, name: str) -> Conversation:
    """Open the conversation that the options describe.

    A continued one has the agent it started with, where the options don't say otherwise.
    """
    kept = not args.no_journal
    if args.run_id and not kept:
        raise SettingsError("--run-id names a run that is kept, and --no-journal keeps none; leave one of them out.")
    attached = [attachment_from_path(file) for file in args.attach or ()]
    chosen = options_from_args(args, await _options_of_run(args.run_id) if args.run_id else None)
    if not kept and face.approver is None:  # nobody could answer later
        chosen = replace(chosen, attended=False)
    chosen = await ensure_model(chosen, face)
    user = args.user or ""
    agent, caller = build_agent(chosen, face, name, user), await caller_of(chosen, face, user)
    return Conversation(agent, chosen, face, run_id=args.run_id or new_run_id(), caller=caller, kept=kept, attached=attached)


async def _options_of_run(run_id: str) -> AgentOptions | None:
    """Return the options that the run was started with, if there is such a run and the CLI started it."""
    home = open_home()
    try:
        entries = await home.journal.read(run_id) if home.database.exists() else []
    except RunNotFound:
        entries = []
    if not entries and _RUN_ID.fullmatch(run_id) is None:
        raise SettingsError(f"{run_id!r} can't be the name of a run: use up to 100 letters, digits, `_` and `-`.")
    return options_of_run(run_id, replay(entries).opened)

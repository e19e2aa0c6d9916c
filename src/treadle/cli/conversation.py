"""A conversation over one run, shared by `ask` and `chat`."""

import argparse
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession, caller_arguments
from treadle.cli.agent_options import AgentOptions, options_from_args, options_of_run
from treadle.cli.agents import build_agent, caller_of, ensure_model, model_from_options
from treadle.cli.run_store import existing_home
from treadle.cli.turn import TurnResult, take_turn
from treadle.cli.ui.display import Display
from treadle.cli.ui.run_status import RunStatus
from treadle.core.entries import Entry, Finished, Said
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.media import Attachment, attachment_from_path
from treadle.core.messages import Message, Quote
from treadle.core.requests import Usage
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Caller
from treadle.home import open_home
from treadle.loop.state import replay
from treadle.plugins.prompts import TypedPrompt, expand_mentions
from treadle.stores.memory import MemoryJournal

MOST_RECENT = 50  # runs among which the last conversation is looked for
_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


class Conversation:
    """An agent, the run it talks in, and the journal of that run."""

    def __init__(
        self,
        agent: Agent[Any, str],
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
        self.is_interrupted = False  # the last turn is
        self._chosen = chosen
        self.face = face
        self._caller = caller
        self._session = session
        self._attached = attached  # what goes with the first message
        self._memory = None if kept else MemoryJournal()
        self._journal = self._memory or True
        self._earlier: list[str] = []  # runs of this conversation before the present one

    async def ask(self, prompt: str, attached: Sequence[Attachment | Quote] = ()) -> TurnResult:
        """Send a prompt, and show the result."""
        caller, history = await self._begin_turn(prompt)
        attached = (*attached, *self._attached)
        asked = [prompt, *attached] if attached else prompt
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
            self._memory,
            self.steer,
        )
        self._attached = ()
        self.is_interrupted = result.interrupted
        self.usage = self.usage + result.usage
        self.turns += 1
        return result

    async def _begin_turn(self, prompt: str) -> tuple[Caller, Sequence[Message]]:
        """Return the caller and the earlier messages. If the assistant stores conversations itself, each turn starts a new run."""
        if self._session is None:
            return self._caller, ()
        if self._session.has_own_history and self.turns:
            self._earlier.append(self.run_id)
            self.run_id = new_run_id()
        begins = self._session.has_own_history or not self.turns
        return await self._session.caller(), await self._session.begin(self.run_id, prompt) if begins else ()

    async def steer(self, message: str) -> bool:
        """Send a message during a turn: the model reads it with its next request. Return False where no turn is running."""
        typed = expand_mentions(message) if self.face.is_interactive else TypedPrompt(message)
        prompt = [typed.text, *typed.attachments] if typed.attachments else typed.text
        try:
            return await self.agent.steer(self.run_id, prompt, journal=self._journal)
        except RunNotFound:
            return False

    async def compact(self) -> bool:
        """Compact the conversation, so that the model reads a summary of it. Return False where there is too little."""
        with self.face.screen.status.showing(RunStatus(idle="Writing a summary").describe):
            return bool(self.turns) and await self.agent.compact(self.run_id, journal=self._journal)

    def leave(self) -> None:
        """Say how to go on with a turn that was interrupted, where its person leaves."""
        if self.face.goes_on and self.is_kept and self.is_interrupted:
            self.face.screen.note(f"To go on: treadle resume {shlex.quote(self.run_id)}", "yellow")

    @property
    def is_kept(self) -> bool:
        """Whether the conversation is stored."""
        return self._journal is True

    async def entries(self) -> list[Entry]:
        """Return the journal entries of the conversation so far."""
        journal = open_home().journal if isinstance(self._journal, bool) else self._journal
        found: list[Entry] = []
        for run_id in (*self._earlier, self.run_id):
            with suppress(RunNotFound):  # nothing was said in it yet
                found += await journal.read(run_id)
        return found

    async def undo(self) -> bool:
        """Drop the last turn by going on in a fork of the run before it. Return False where there is none."""
        if self._session is not None and self._session.has_own_history:
            raise SettingsError("This assistant stores its conversations itself, so a turn of it can't be dropped.")
        entries = await self.entries()
        ends = [number for number, entry in enumerate(entries, 1) if isinstance(entry, Finished)]
        if not ends:
            return False
        if len(ends) == 1:
            self.run_id = new_run_id()
        else:
            begins = next(number for number, entry in enumerate(entries[ends[-2] :], ends[-2]) if isinstance(entry, Said))
            self.run_id = await self.agent.fork(self.run_id, begins, journal=self._journal)
        self.turns, self.is_interrupted = max(self.turns - 1, 0), False
        return True

    def use_model(self, name: str) -> None:
        """Go on with another model. Its server stays the same where its kind does."""
        same_kind = name.partition(":")[0] == self._chosen.model.partition(":")[0]
        chosen = replace(self._chosen, model=name, base_url=self._chosen.base_url if same_kind else "")
        if chosen.demo:
            raise SettingsError("The demonstration brings its own model.")
        self.agent, self._chosen = self._build_agent(chosen), chosen

    def _build_agent(self, chosen: AgentOptions) -> Agent[Any, Any]:
        if self._session is None:
            return build_agent(chosen, self.face, self.agent.name, self._caller.user)
        return self._session.agent(model_from_options(chosen))

    def start_afresh(self, context: Mapping[str, Any] | None = None) -> None:
        """Continue in a new run; in another context, if one is given."""
        self.run_id, self.usage, self.turns, self._earlier = new_run_id(), Usage(), 0, []
        self.is_interrupted = False
        if context is not None and self._session is not None:
            self._session = AssistantSession(self._session.assistant, self._session.host, context)
            self._chosen = replace(self._chosen, about=dict(context))


async def open_conversation(args: argparse.Namespace, face: Display, name: str) -> Conversation:
    """Open the conversation that the options describe.

    A continued one has the agent it started with, where the options don't say otherwise.
    """
    kept = not args.no_journal
    if (args.run_id or args.continue_last) and not kept:
        raise SettingsError("--run-id and --continue need a stored run, and --no-journal stores none; leave one of them out.")
    if args.continue_last:
        args.run_id = await _last_conversation(face)
    attached = [attachment_from_path(file) for file in args.attach or ()]
    chosen = options_from_args(args, await _options_of_run(args.run_id) if args.run_id else None)
    if not kept and face.approver is None:  # nobody could answer later
        chosen = replace(chosen, attended=False)
    chosen = await ensure_model(chosen, face)
    user = args.user or ""
    agent, caller = build_agent(chosen, face, name, user), await caller_of(chosen, face, user)
    return Conversation(agent, chosen, face, run_id=args.run_id or new_run_id(), caller=caller, kept=kept, attached=attached)


async def _last_conversation(face: Display) -> str:
    """Return the run of the last `ask` or `chat`."""
    from treadle.stores.journal import JournalQuery

    home = existing_home()
    for run in [] if home is None else await home.journal.list_runs(JournalQuery(limit=MOST_RECENT)):
        chosen = await _options_of_run(run.run_id)
        if chosen is not None and chosen.call is None and not chosen.about:
            face.screen.note(f"Continuing run {run.run_id}: {run.title}")
            return run.run_id
    raise RunNotFound("There is no conversation to continue yet.")


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

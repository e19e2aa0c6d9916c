"""What a case is run with: the options of an evaluation, its agent or assistant, the host of it, and the approver."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from inspect import isawaitable, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession, result_from_journal
from treadle.core.entries import Entry, Finished
from treadle.core.errors import RunNotFound, SettingsError
from treadle.core.messages import Message
from treadle.core.seams import Journal, Model
from treadle.engine.result import RunResult
from treadle.engine.setup import Answer, Approval, Approver, Services
from treadle.evals.dataset import Case
from treadle.evals.results import Attempt
from treadle.guard.globs import compile_glob
from treadle.home import Home, close_home, open_home
from treadle.plugins.assistant import Host
from treadle.plugins.assistants import get_assistant
from treadle.plugins.tool_loader import load_object
from treadle.stores.memory import PROCESS_BLOBS, MemoryJournal, MemoryResults

PARALLEL = 4
DENIAL = "No user is there to approve this call."
AgentFactory = Callable[..., Agent[Any, Any]]
OnAttempt = Callable[[Case, Attempt], None]


class EvalOptions(Struct, frozen=True):
    """How cases are run.

    agent         the agent of all cases, or a function that returns it, of the workspace's path if it takes it
    assistant     the assistant of cases that name neither an agent nor an assistant
    user          the user on whose behalf they act
    model         the model in place of the agents' own; assistants need one
    instructions  the instructions in place of an agent's own; for an assistant they are added to its own
    policy        the policy in place of the agent's or the assistant's own
    judge         the model that judges where a rubric names none, and plays simulated users
    repeat        how often each case is run
    parallel      how many runs there are at once
    home          where runs are kept; None keeps them in memory
    evaluation    an id that the runs share; runs of this id that exist are continued, and not repeated
    folder        where workspaces are made; a temporary one by default
    on_attempt    callback for each attempt as it ends
    """

    agent: Agent[Any, Any] | AgentFactory | None = None
    assistant: str = ""
    user: str = ""
    model: Model | None = None
    instructions: str = ""
    policy: Any = None
    judge: Model | None = None
    repeat: int = 1
    parallel: int = PARALLEL
    home: Home | None = None
    evaluation: str = ""
    folder: Path | None = None
    on_attempt: OnAttempt | None = None


class TaskContext(Struct, frozen=True):
    """What a function gets that runs a case in place of an agent (`Case.task`).

    run_id     the id that its run has to have, in the journal of the host's home
    workspace  the folder to work in
    host       the model, the approver and the stores, as an assistant gets them
    origin     what is journaled with the run
    """

    case: Case
    run_id: str
    workspace: Path
    host: Host
    origin: dict[str, Any] = {}

    async def entries(self) -> list[Entry] | None:
        """Return the entries of the run of the case; None before it has begun."""
        home = self.host.home
        return await read_entries(home.journal, self.run_id) if home.database.exists() else None

    async def run(self, agent: Agent[Any, Any], prompt: str, history: Sequence[Message] = ()) -> RunResult[Any]:
        """Run an agent as the run of the case: resumed if it was killed, returned as it was if it has ended."""
        entries = await self.entries()
        how: dict[str, Any] = {"journal": make_services(self.host.home), "user": self.host.user}
        if entries and has_ended(entries):
            return result_from_journal(self.run_id, entries)
        with agent.override(approver=self.host.approver):
            if entries:
                return await agent.resume(self.run_id, **how)
            return await agent.run(prompt, run_id=self.run_id, history=history, origin=self.origin, **how)


async def read_entries(journal: Journal, run_id: str) -> list[Entry] | None:
    """Return the entries of a run; None where there is none."""
    try:
        return await journal.read(run_id)
    except RunNotFound:
        return None


def has_ended(entries: Sequence[Entry]) -> bool:
    """Return whether a run has ended, and not only stopped for now."""
    finished = entries[-1] if entries else None
    return isinstance(finished, Finished) and not finished.interrupted


def make_services(home: Home | None) -> Services:
    """Return the stores. What a user has allowed for always, and results from a cache, would make evaluations differ."""
    if home is not None:
        return replace(home.services(), grants=None, cache=None)
    return Services(MemoryJournal(), results=MemoryResults(), blobs=PROCESS_BLOBS)


def approve_tools(patterns: Sequence[str]) -> Approver:
    """Return an approver that approves the tools of these globs, and denies all others: no user is there."""
    globs = [compile_glob(pattern) for pattern in patterns]

    def answer(approval: Approval) -> Answer:
        if any(glob(approval.name) for glob in globs):
            return Answer(approved=True, by="eval")
        return Answer(approved=False, by="eval", reason=DENIAL)

    return answer


def load_agent(case: Case, options: EvalOptions, folder: Path, workspace: Path) -> Agent[Any, Any]:
    """Return the agent of a case, which is one in code."""
    if options.agent is not None:
        return make_agent(options.agent, f"The agent of the case {case.name!r}", workspace)
    if not case.agent:
        raise SettingsError(f"The case {case.name!r} names no agent: write `agent: FILE.py:NAME` or `assistant: NAME`.")
    return make_agent(load_object(case.agent, str(folder)), case.agent, workspace)


def make_agent(found: object, name: str, workspace: Path) -> Agent[Any, Any]:
    """Return an agent, or the one that a function returns, which may take the path of the workspace. `name` is for messages."""
    if callable(found) and not isinstance(found, Agent):
        found = found(workspace) if signature(found).parameters else found()
    if not isinstance(found, Agent):
        raise SettingsError(f"{name} is of type {type(found).__name__}; it has to be an Agent, or a function that returns one.")
    return cast("Agent[Any, Any]", found)


def agent_changes(case: Case, options: EvalOptions, approver: Approver) -> Any:
    """Return what an evaluation overrides of an agent."""
    changes: dict[str, Any] = {"approver": approver}
    if options.model is not None:
        changes["model"] = options.model
    if options.instructions or case.instructions:
        changes["instructions"] = options.instructions or case.instructions
    if options.policy is not None:
        changes["policy"] = options.policy
    return changes


@asynccontextmanager
async def open_host(options: EvalOptions, workspace: Path, approver: Approver) -> AsyncGenerator[Host]:
    """Yield the host of an assistant's session or of a task, and close its resources at the end."""

    async def same() -> Model:
        if options.model is None:
            raise SettingsError("An assistant needs a model: name one with -m, or `model=`.")
        return options.model

    async with AsyncExitStack() as stack:
        home = options.home
        if home is None:
            home = open_home(stack.enter_context(TemporaryDirectory(prefix="treadle-evals-")))
            stack.callback(close_home, home)
        yield Host(home, same, options.user, approver=approver, on_close=lambda close: _push(stack, close), folder=workspace)


@asynccontextmanager
async def open_assistant(
    case: Case, options: EvalOptions, workspace: Path, approver: Approver
) -> AsyncGenerator[tuple[AssistantSession, Agent[Any, Any]]]:
    """Yield a session with an assistant and its agent."""
    assistant = get_assistant(case.assistant or options.assistant)
    async with open_host(options, workspace, approver) as host:
        session = AssistantSession(assistant, host, case.context)
        more = {} if options.policy is None else {"policy": options.policy}
        model, instructions = await host.model(), options.instructions or case.instructions
        yield (
            session,
            session.agent(model, instructions=instructions, approver=approver, priced=True, **more),
        )


def _push(stack: AsyncExitStack, close: Callable[[], object]) -> None:
    async def closed(*_: object) -> None:
        closing = close()
        if isawaitable(closing):
            await closing

    stack.push_async_exit(closed)

"""Runs the cases of a dataset: each attempt is a durable run, then checked. Attempts run concurrently, and resume after a kill."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from hashlib import sha256
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import Any, TypedDict, Unpack, cast

import msgspec
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.agent.session import AssistantSession, caller_arguments, result_from_journal
from treadle.core.entries import Entry, Finished, Said
from treadle.core.errors import SettingsError, TreadleError
from treadle.core.seams import Model
from treadle.engine.engine import new_run_id
from treadle.engine.setup import Services
from treadle.evals.agents import (
    PARALLEL,
    AgentFactory,
    EvalOptions,
    OnAttempt,
    TaskContext,
    agent_changes,
    approve_tools,
    has_ended,
    load_agent,
    make_services,
    open_assistant,
    open_host,
    read_entries,
)
from treadle.evals.attacks import InjectedToolset, check_attack
from treadle.evals.checks import CaseRun, check_by_code, check_run, make_attempt
from treadle.evals.dataset import Case, Dataset, load_dataset
from treadle.evals.results import Attempt, CaseResult, CheckResult, EvalReport
from treadle.home import open_home
from treadle.plugins.models import resolve_model
from treadle.plugins.tool_loader import load_object
from treadle.stores.memory import MemoryCache


class EvaluateOptions(TypedDict, total=False):
    """The options of `evaluate`; see there."""

    model: str | Model | None
    judge: str | Model | None
    repeat: int
    parallel: int
    journal: bool
    on_attempt: OnAttempt | None


async def evaluate(
    dataset: Dataset | Path | str,
    agent: Agent[Any, Any] | AgentFactory | None = None,
    **how: Unpack[EvaluateOptions],
) -> EvalReport:
    """Run the cases of a dataset, or of its file, and return the report.

    `agent` is the agent of all cases, or a function that returns one; without it, each case names its own. `model` replaces the
    agents' own, `judge` judges where a rubric names no model. Each case is run `repeat` times, `parallel` at once. With
    `journal=True` the runs are kept in the data folder.
    """
    model, judge = how.get("model"), how.get("judge")
    options = EvalOptions(
        agent=agent,
        model=None if model is None else resolve_model(model),
        judge=None if judge is None else resolve_model(judge),
        repeat=how.get("repeat", 1),
        parallel=how.get("parallel", PARALLEL),
        home=open_home() if how.get("journal") else None,
        on_attempt=how.get("on_attempt"),
    )
    return await run_dataset(dataset if isinstance(dataset, Dataset) else load_dataset(dataset), options)


def evaluate_sync(
    dataset: Dataset | Path | str,
    agent: Agent[Any, Any] | AgentFactory | None = None,
    **how: Unpack[EvaluateOptions],
) -> EvalReport:
    """Call `evaluate` from synchronous code."""
    return asyncio.run(_evaluate_and_close(dataset, agent, how))


async def _evaluate_and_close(
    dataset: Dataset | Path | str, agent: Agent[Any, Any] | AgentFactory | None, how: EvaluateOptions
) -> EvalReport:
    try:
        return await evaluate(dataset, agent, **how)
    finally:
        from treadle.models.http import close_model_connections

        await close_model_connections()


async def run_dataset(dataset: Dataset, options: EvalOptions) -> EvalReport:
    """Run all cases of a dataset. What ends it early cancels the runs that are under way; they can be resumed."""
    started = time()
    evaluation = options.evaluation or f"{digest_cases([dataset], '')}-{new_run_id()}"
    places = asyncio.Semaphore(max(1, options.parallel))
    services = make_services(options.home)
    numbers = range(1, options.repeat + 1)
    with TemporaryDirectory(prefix="treadle-evals-") as temporary:
        async with _set_up(dataset, options.user) as context:
            folder = options.folder or Path(temporary)
            runner = _CaseRunner(dataset, options, evaluation, services, folder, context)
            attempts = await _run_together([_in_turn(places, runner, case, number) for case in dataset.cases for number in numbers])
    cases = [
        CaseResult(case.name, tuple(attempts[start * options.repeat : (start + 1) * options.repeat]))
        for start, case in enumerate(dataset.cases)
    ]
    name = "" if options.model is None else options.model.name
    return EvalReport(dataset.name, name, tuple(cases), evaluation, started, round(time() - started, 3))


@asynccontextmanager
async def _set_up(dataset: Dataset, user: str) -> AsyncGenerator[dict[str, Any]]:
    """Enter the dataset's setup, and yield what it adds to the context of each case."""
    setup = load_object(dataset.setup, str(dataset.folder)) if isinstance(dataset.setup, str) else dataset.setup
    made = nullcontext() if setup is None else setup
    if callable(setup):
        made = setup(user) if signature(setup).parameters else setup()
    async with AsyncExitStack() as stack:
        if isinstance(made, AbstractAsyncContextManager):
            context = await stack.enter_async_context(cast("AbstractAsyncContextManager[Any]", made))
        elif isinstance(made, AbstractContextManager):
            context = stack.enter_context(cast("AbstractContextManager[Any]", made))
        else:
            raise SettingsError(f"The setup of the dataset {dataset.name} has to be a function that returns a context manager.")
        yield context if isinstance(context, dict) else {}


async def _run_together(work: Sequence[Coroutine[Any, Any, Attempt]]) -> list[Attempt]:
    """Await all of it. The first error is raised by itself, and cancels the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in tasks]


async def _in_turn(places: asyncio.Semaphore, runner: "_CaseRunner", case: Case, number: int) -> Attempt:
    async with places:
        attempt = await runner.attempt(case, number)
    if runner.options.on_attempt is not None:
        runner.options.on_attempt(case, attempt)
    return attempt


def digest_cases(datasets: Sequence[Dataset], model: str) -> str:
    """Return what an evaluation is recognized by when it is resumed: its cases and its model."""
    content = msgspec.json.encode([(dataset.name, dataset.cases) for dataset in datasets], enc_hook=_name_of)
    return sha256(content + model.encode()).hexdigest()[:8]


def _name_of(value: Any) -> str:
    """Return a name of a check that is the same in each process."""
    return f"{value.__module__}:{value.__qualname__}" if hasattr(value, "__qualname__") else type(value).__qualname__


class _CaseRunner:
    """Runs and checks the attempts of one dataset."""

    def __init__(
        self,
        dataset: Dataset,
        options: EvalOptions,
        evaluation: str,
        services: Services,
        folder: Path,
        context: dict[str, Any],
    ) -> None:
        self.options = options
        self._dataset = dataset
        self._evaluation = evaluation
        self._services = services
        self._folder = folder
        self._context = context

    async def attempt(self, case: Case, number: int) -> Attempt:
        """Run a case once, or continue the run of an earlier process, and check it."""
        place = f"{sha256(f'{self._dataset.name}/{case.name}'.encode()).hexdigest()[:10]}-{number}"
        run_id, workspace = f"eval-{self._evaluation}-{place}", self._folder / place
        services = replace(self._services, cache=MemoryCache())
        entries = await self._read(run_id)
        if entries is None:
            await asyncio.to_thread(self._make_workspace, case, workspace)
        try:
            run = await self._run(case, run_id, workspace, services, entries)
            checks = [
                *check_run(run),
                *check_attack(run),
                *await check_by_code(run, self._dataset.folder),
                *await self._judge(run, services),
            ]
        except SettingsError:
            raise  # of the dataset, the agent or the machine: no case would go on
        except Exception as error:  # noqa: BLE001 - an agent's own code may raise anything, and the other cases go on
            reason = f"{type(error).__name__}: {error}"
            return Attempt(
                run_id,
                passed=False,
                stopped="failed",
                reason=reason,
                checks=(CheckResult("stopped", "the run ends", passed=False, detail=reason),),
            )
        return make_attempt(run, checks)

    async def _read(self, run_id: str) -> list[Entry] | None:
        journal = self._services.journal
        home = self.options.home
        if journal is None or (home is not None and not home.database.exists()):
            return None
        return await read_entries(journal, run_id)

    def _make_workspace(self, case: Case, workspace: Path) -> None:
        shutil.rmtree(workspace, ignore_errors=True)  # of a process that was killed before its run began
        if case.workspace:
            shutil.copytree(self._dataset.folder / case.workspace, workspace, symlinks=True)
        else:
            workspace.mkdir(parents=True, mode=0o700)

    async def _run(self, case: Case, run_id: str, workspace: Path, services: Services, entries: list[Entry] | None) -> CaseRun:
        case = replace(case, context={**case.context, **self._context})
        if case.task is not None:
            return await self._run_task(case, run_id, workspace)
        async with self._open_agent(case, workspace) as (agent, how, session), AsyncExitStack() as stack:
            if case.attack is not None:
                stack.enter_context(agent.override(tools=(), toolsets=[InjectedToolset(agent.setup.toolset, case)]))
            if entries and not has_ended(entries):
                await agent.resume(run_id, journal=services, **how)
                entries = await self._read(run_id)
            while (message := await self._next_message(case, run_id, entries or [], services)) is not None:
                first: dict[str, Any] = {} if entries else await self._begin(case, run_id, message, session)
                await agent.run(message, run_id=run_id, journal=services, **first, **how)
                entries = await self._read(run_id)
            if not entries:
                raise TreadleError("The simulated user has said nothing.")
            result = result_from_journal(run_id, entries)
            return CaseRun(case, result, workspace, None if session is None else await session.reply(result))

    async def _run_task(self, case: Case, run_id: str, workspace: Path) -> CaseRun:
        """Let a function run a case. It is called again when the case is resumed, and continues the run itself."""
        task = load_object(case.task, str(self._dataset.folder)) if isinstance(case.task, str) else case.task
        async with open_host(self.options, workspace, approve_tools(case.approve)) as host:
            data = await task(TaskContext(case, run_id, workspace, host, self._origin(case)))
            entries = await host.home.journal.read(run_id)
        return CaseRun(case, result_from_journal(run_id, entries), workspace, data)

    async def _begin(self, case: Case, run_id: str, message: str, session: AssistantSession | None) -> dict[str, Any]:
        """Return what the first turn of a run gets besides."""
        before = () if session is None else await session.begin(run_id, message)
        return {"history": (*before, *case.history), "origin": self._origin(case)}

    def _origin(self, case: Case) -> dict[str, Any]:
        return {"face": "eval", "evaluation": self._evaluation, "dataset": self._dataset.name, "case": case.name}

    async def _next_message(self, case: Case, run_id: str, entries: list[Entry], services: Services) -> str | None:
        """Return the user's next message in the run of a case; None if the conversation is over."""
        turns = sum(isinstance(entry, Said) for entry in entries)
        if not entries and case.prompt:
            return case.prompt
        finished = entries[-1] if entries else None
        if case.user is None or turns >= case.user.turns or (isinstance(finished, Finished) and finished.resumable):
            return None
        from treadle.evals.simulated_user import conversation_of, simulated_run_id, write_message  # few cases have one

        message_id, model = simulated_run_id(run_id, turns + 1), self.options.judge or self.options.model
        kept = await self._read(message_id)
        return await write_message(case.user, conversation_of(entries), message_id, model, services, kept)

    @asynccontextmanager
    async def _open_agent(
        self, case: Case, workspace: Path
    ) -> AsyncGenerator[tuple[Agent[Any, Any], dict[str, Any], AssistantSession | None]]:
        """Yield the agent of a case, the caller as arguments of `run`, and the session where it is that of an assistant."""
        approver = approve_tools(case.approve)
        if self.options.agent is None and (case.assistant or (self.options.assistant and not case.agent)):
            async with open_assistant(case, self.options, workspace, approver) as (session, agent):
                yield agent, caller_arguments(await session.caller()), session
            return
        agent = load_agent(case, self.options, self._dataset.folder, workspace)
        with agent.override(**agent_changes(case, self.options, approver)):
            yield agent, {"user": self.options.user}, None

    async def _judge(self, run: CaseRun, services: Services) -> list[CheckResult]:
        if run.case.judge is None:
            return []
        from treadle.evals.judge_model import judge_answer, judge_run_id  # few cases have one

        kept = await self._read(judge_run_id(run.result.run_id))
        return [await judge_answer(run, run.case.judge, self.options.judge, services, kept)]

"""The bugs of HumanEvalFix as datasets: `debug`, `longer` and `held_out` by `treadle debug`, `once` by one request to a model.

treadle eval bench/coding/dataset.py:debug -m MODEL

Hidden tests decide. The tasks are fetched once, as a package; see `tasks`.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import time
from typing import Any

from bench.coding.judge import solved
from bench.coding.once import INSTRUCTIONS, MOST_TOKENS, code_in, completed, prompt_for
from bench.coding.tasks import MODULE, TESTS, Task, tasks
from treadle import Agent, Options, TreadleError
from treadle.assistants.coding.job_kinds import find_coding_job_kind
from treadle.evals import Case, CaseRun, Dataset, Expectations, TaskContext
from treadle.jobs.execution import execute_job
from treadle.jobs.store import Job, Jobs

MOST, LONGEST = 32, 660  # tasks, and characters of a module: a small model on two cores writes ten a second
MOST_LONGER, LONGEST_LONGER = 16, 900  # longer ones, which were held out until their failures were looked at
MOST_HELD_OUT = 16  # of all these lengths, with which no plan or prompt was made
FOLDER = Path(tempfile.gettempdir()) / "treadle-bench-coding-tasks"
ANY_END = Expectations(stopped=("answered", "limit", "waiting", "cancelled", "failed"))  # the module counts, however it ended


def debug() -> Dataset:
    """Return the tasks as jobs of `treadle debug`."""
    return make_debug(tasks(most=MOST, longest=LONGEST), FOLDER)


def longer() -> Dataset:
    """Return longer tasks, as jobs of `treadle debug`."""
    return make_debug(_longer_tasks(), FOLDER)


def held_out() -> Dataset:
    """Return tasks that nobody has looked at, as jobs of `treadle debug`: those that come next in the seeded order."""
    known = {task.name for task in (*tasks(most=MOST, longest=LONGEST), *_longer_tasks())}
    unseen = [task for task in tasks(longest=LONGEST_LONGER) if task.name not in known]
    return make_debug(unseen[:MOST_HELD_OUT], FOLDER)


def _longer_tasks() -> list[Task]:
    return tasks(most=MOST_LONGER, longest=LONGEST_LONGER, shortest=LONGEST + 1)


def once() -> Dataset:
    """Return the tasks as one request each."""
    return make_once(tasks(most=MOST, longest=LONGEST))


def make_debug(chosen: Sequence[Task], folder: Path) -> Dataset:
    """Return a dataset of tasks; their workspaces, each with the module and its tests, are made in `folder`."""
    for task in chosen:
        workspace = folder / task.name
        workspace.mkdir(parents=True, exist_ok=True)
        (workspace / MODULE).write_text(task.buggy, "utf-8")
        (workspace / TESTS).write_text(task.tests, "utf-8")
    cases = [
        Case(
            name=task.name,
            input="failing tests",
            task=run_debug,
            workspace=task.name,
            expected=ANY_END,
            checks=(_check_module(task),),
        )
        for task in chosen
    ]
    return Dataset("coding-debug", tuple(cases), folder)


def make_once(chosen: Sequence[Task]) -> Dataset:
    """Return a dataset of the same tasks without tools."""
    cases = [
        Case(name=task.name, input=prompt_for(task), task=ask_once, expected=ANY_END, checks=(_check_reply(task),))
        for task in chosen
    ]
    return Dataset("coding-once", tuple(cases))


async def run_debug(context: TaskContext) -> dict[str, Any]:
    """Run a debug job as the run of a case, and return its output. One that has ended isn't tried again."""
    jobs, host = Jobs(context.host.home.folder), context.host
    if not jobs.has(context.run_id):
        more = {"workspace": str(context.workspace), "user": host.user, "created_at": time()}
        jobs.save(Job(context.run_id, "coding", "debug", context.case.input, **more))
    job = jobs.get(context.run_id)
    if not job.is_over:
        job = await execute_job(job.id, find_coding_job_kind("debug").work, host)
    if not job.output:
        raise TreadleError(job.why)
    return job.output


async def ask_once(context: TaskContext) -> None:
    """Ask the model once, without tools."""
    options = Options(temperature=0, max_tokens=MOST_TOKENS)
    await context.run(Agent(await context.host.model(), instructions=INSTRUCTIONS, options=options), context.case.input)


def _check_module(task: Task) -> Callable[[CaseRun], bool]:
    def hidden_tests_pass(run: CaseRun) -> bool:
        assert run.workspace is not None
        return solved(task, (run.workspace / MODULE).read_text("utf-8"))

    return hidden_tests_pass


def _check_reply(task: Task) -> Callable[[CaseRun], bool]:
    def hidden_tests_pass(run: CaseRun) -> bool:
        return solved(task, completed(code_in(run.result.text, task.entry), task))

    return hidden_tests_pass

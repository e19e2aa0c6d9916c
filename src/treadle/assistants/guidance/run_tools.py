"""Tools about runs: lookups of their results, and actions that a person approves first.

The actions are starting a run, and adding candidates and issues. All tools of the assistant are combined here.
"""

from collections.abc import Callable
from secrets import token_hex
from typing import Any

import msgspec

from treadle import FunctionToolset, Preview, RunContext, ToolProblem, ToolResult, TreadleError, tool
from treadle.assistants.guidance.comparison import Comparison, build_comparison, format_comparison
from treadle.assistants.guidance.project_runs import (
    EvaluationInput,
    check_run_ready,
    create_draft_run,
    create_project_run,
    start_in_background,
)
from treadle.assistants.guidance.store.errors import ItemNotFound, StoreError
from treadle.assistants.guidance.store.values import Candidate, IssueType, Mode, ProjectIssue, Provenance, Run, Severity
from treadle.assistants.guidance.tools import ProjectScope, call_key, check_editable, project_tools, read_tool


class RunTools:
    """The implementation of the tools. Their docstrings are the descriptions that a model gets."""

    def __init__(self, scope: ProjectScope) -> None:
        self._scope = scope
        self._store = scope.store
        self._user = scope.user

    async def compare_candidates(self, run_id: str = "", project_id: str = "") -> Any:
        """The candidates of a run side by side: their scores from 0 to 100 by constraint, totals by weight, the best first.

        :param run_id: which run; the last one that evaluated something, if it is left out
        :param project_id: its id or title; may be left out
        """
        project = await self._scope.project(project_id)
        found = await load_comparison(self._scope, project.id, run_id)
        return "Nothing has been evaluated yet." if found is None else ToolResult("\n".join(format_comparison(found)), found)

    async def list_issues(self, project_id: str = "") -> Any:
        """The open issues of the project: what runs and people found wrong.

        :param project_id: its id or title; may be left out
        """
        found = await self._store.list_issues(self._user, (await self._scope.project(project_id)).id, "open")
        return [{"id": each.id, "severity": each.severity, "type": each.type, "description": each.description} for each in found]

    async def start_run(
        self,
        ctx: RunContext[Any],
        mode: Mode = "full_search",
        num_candidates: int = 5,
        num_scenarios: int = 8,
        seed_candidate_ids: tuple[str, ...] = (),
        project_id: str = "",
    ) -> str:
        """Start a run, which proposes candidate solutions and scores them against the constraints. The person is asked first.

        :param mode: full_search proposes candidates, seeded improves on some, eval_only scores those that are there
        :param num_candidates: how many solutions it looks at
        :param num_scenarios: in how many situations
        :param seed_candidate_ids: the candidates that a seeded run begins with
        :param project_id: its id or title; may be left out
        """
        wanted = await self._build_input(project_id, mode, num_candidates, num_scenarios, seed_candidate_ids)
        wanted = msgspec.structs.replace(wanted, ui_trigger_id=call_key(ctx), ui_trigger_source="conversation")
        try:
            run = await create_project_run(self._scope.host, self._store, wanted)
            if run.status == "created":
                start_in_background(self._scope.host, run.id)
        except TreadleError as error:
            raise ToolProblem(str(error)) from error
        return f"Run {run.id} has started. It goes on in the background; list_runs says how it stands."

    async def to_start_run(
        self,
        ctx: RunContext[Any],
        mode: Mode = "full_search",
        num_candidates: int = 5,
        num_scenarios: int = 8,
        seed_candidate_ids: tuple[str, ...] = (),
        project_id: str = "",
    ) -> Preview:
        """Preview the settings that the run would start with."""
        wanted = await self._build_input(project_id, mode, num_candidates, num_scenarios, seed_candidate_ids)
        try:
            found = await check_run_ready(self._store, self._user, wanted)
            model = await self._scope.host.model()
        except TreadleError as error:
            raise ToolProblem(str(error)) from error
        project = await self._store.get_project(self._user, wanted.project_id)
        config = found.normalized_config
        counts = f"{config['num_candidates']} candidates, {config['num_scenarios']} situations"
        lines = [
            f"A run of {project.title!r} would start: {mode.replace('_', ' ')}, {counts}, with {model.name}.",
            *[each.message for each in found.warnings],
            *found.notes,
        ]
        return Preview("\n".join(lines))

    async def _build_input(
        self, project_id: str, mode: Mode, candidates: int, scenarios: int, seeds: tuple[str, ...]
    ) -> EvaluationInput:
        parameters = {"num_candidates": candidates, "num_scenarios": scenarios, "seed_candidate_ids": list(seeds)}
        project = await self._scope.project(project_id)
        check_editable(project)
        return EvaluationInput(project.id, mode, parameters, self._scope.session_id or None)

    async def create_candidate(self, ctx: RunContext[Any], description: str, run_id: str = "", project_id: str = "") -> str:
        """Add a candidate solution that the person proposes. It is scored when its run is started. The person is asked first.

        :param description: what is done, and how that works
        :param run_id: the run that it belongs to; a new one, if it is left out
        :param project_id: its id or title; may be left out
        """
        project = await self._scope.project(project_id)
        try:
            candidate = await propose_candidate(self._scope, project.id, description, run_id)
        except StoreError as error:
            raise ToolProblem(str(error)) from error
        return f"Candidate {candidate.id} is kept with run {candidate.run_id}."

    async def create_issue(
        self,
        ctx: RunContext[Any],
        description: str,
        type: IssueType = "model",  # noqa: A002 - as the original names it
        severity: Severity = "important",
        project_id: str = "",
    ) -> str:
        """Record that something is wrong with the project. The person is asked first.

        :param description: what is wrong
        :param type: what it is wrong with
        :param severity: how bad that is
        :param project_id: its id or title; may be left out
        """
        project = await self._scope.project(project_id)
        try:
            issue = await self._store.create_issue(self._user, ProjectIssue(project.id, type, severity, description))
        except StoreError as error:
            raise ToolProblem(str(error)) from error
        return f"Issue {issue.id} is kept."


async def load_comparison(scope: ProjectScope, project_id: str, run_id: str = "") -> Comparison | None:
    """Compare the candidates of a run; of the last one that has some, unless one is named. None if there are none."""
    run = await _find_run(scope, project_id, run_id) if run_id else await _find_last_run(scope, project_id)
    return None if run is None else build_comparison(run, await scope.store.list_candidates(scope.user, run.id))


async def _find_run(scope: ProjectScope, project_id: str, run_id: str) -> Run:
    run = await scope.store.get_run(scope.user, run_id)
    if run.project_id != project_id:
        raise ItemNotFound(f"There is no run {run_id!r} in this project.")
    return run


async def _find_last_run(scope: ProjectScope, project_id: str) -> Run | None:
    runs = await scope.store.list_runs(scope.user, project_id)
    return next((each for each in reversed(runs) if each.candidate_count), None)


async def propose_candidate(scope: ProjectScope, project_id: str, description: str, run_id: str = "") -> Candidate:
    """Store a candidate that a person proposes, with the named run or a new one."""
    run = await _find_run(scope, project_id, run_id) if run_id else await create_draft_run(scope.host, scope.store, project_id)
    why = Provenance("candidate_proposed", "proposed by hand")
    return await scope.store.create_candidate(scope.user, Candidate(run.id, description, "user"), why)


def guidance_tools(scope: ProjectScope) -> FunctionToolset:
    """Return all tools of the assistant."""
    able = RunTools(scope)
    start: Callable[..., Any] = tool(able.start_run, preview=able.to_start_run, retry="idempotent", sequential=True)
    more = [
        read_tool(able.compare_candidates),
        read_tool(able.list_issues),
        start,
        tool(able.create_candidate),
        tool(able.create_issue),
    ]
    return FunctionToolset([*project_tools(scope), *more], name=f"guidance-{token_hex(6)}")

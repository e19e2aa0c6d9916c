"""The tools of a run: each records one step of it in the project store, exactly once, however often it is called.

Ids derive from the run's id and a number, so that a step which was interrupted and runs again finds what it had written.
"""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from treadle import FunctionToolset, RunContext, Toolset, tool
from treadle.assistants.guidance.evaluation import Proposal, RunSnapshot, Scenario, format_candidates
from treadle.assistants.guidance.scoring import (
    Judgement,
    ResourceUse,
    candidate_label,
    evaluate_candidate,
    find_issues,
    find_unmet_musts,
    load_evaluation,
    rank_candidates,
)
from treadle.assistants.guidance.store.values import Candidate, ProblemSpec, Provenance, Run, WorldModel

if TYPE_CHECKING:
    from treadle.assistants.guidance.store.store import Store

SNAPSHOT_FIELDS = ("problem_spec", "world_model")  # of a run's config: what it evaluates against


def without_snapshot(run: Run) -> Run:
    """Return a run without its copies of the spec and world model, for lists."""
    return msgspec.structs.replace(run, config={name: value for name, value in run.config.items() if name not in SNAPSHOT_FIELDS})


def spec_of_run(run: Run) -> ProblemSpec:
    """Return the problem spec that a run evaluates against."""
    return msgspec.convert(run.config.get("problem_spec") or {}, ProblemSpec)


async def load_snapshot(store: "Store", user: str, run_id: str) -> RunSnapshot:
    """Load a run with what is recorded of it so far."""
    run = await store.get_run(user, run_id)
    candidates = await store.list_candidates(user, run_id)
    every = {each.id: each for each in await store.list_project_candidates(user, run.project_id)}
    said: Any = run.metrics.get("scenarios")
    return RunSnapshot(
        run,
        spec_of_run(run),
        msgspec.convert(run.config.get("world_model") or {}, WorldModel),
        None if said is None else msgspec.convert(said, tuple[Scenario, ...]),
        tuple(candidates),
        tuple([every[one] for one in run.config.get("seed_candidate_ids", ()) if one in every]),
    )


class RunRecorder:
    """The implementation of the tools, for one run."""

    def __init__(self, store: "Store", user: str, run_id: str) -> None:
        self._store = store
        self._user = user
        self._run_id = run_id

    async def begin_run(self) -> str:
        """Keep what the run evaluates against; a run that evaluates only takes over the candidates there are."""
        run = await self._store.get_run(self._user, self._run_id)
        if run.status == "created":
            spec, world = await asyncio.gather(
                self._store.get_problem_spec(self._user, run.project_id), self._store.get_world_model(self._user, run.project_id)
            )
            if run.mode == "eval_only":
                await self._adopt_candidates(run)
            against = {"problem_spec": msgspec.to_builtins(spec), "world_model": msgspec.to_builtins(world)}
            await self._store.update_run(self._user, run.id, "running", config={**run.config, **against})
        return "The run has begun."

    async def _adopt_candidates(self, run: Run) -> None:
        """Adopt the candidates that were proposed for this run; without any, copies of the seeds or of the latest ones."""
        if await self._store.list_candidates(self._user, run.id):
            return
        every = await self._store.list_project_candidates(self._user, run.project_id)
        seeds = set(run.config.get("seed_candidate_ids", ()))
        taken = [each for each in every if each.id in seeds] or every[-int(run.config.get("num_candidates", 5)) :]
        for number, each in enumerate(taken):
            copy = Candidate(run.id, each.mechanism_description, each.origin, each.predicted_effects, parent_ids=(each.id,))
            await self._store.create_candidate(
                self._user, copy, _make_provenance("candidate_copied", "to be evaluated"), candidate_id=self._id(number)
            )

    async def record_scenarios(self, scenarios: tuple[Scenario, ...]) -> str:
        """Keep the situations that candidates are judged in."""
        run = await self._store.get_run(self._user, self._run_id)
        metrics = {**run.metrics, "scenarios": msgspec.to_builtins(scenarios)}
        await self._store.update_run(self._user, run.id, run.status, metrics=metrics, scenario_count=len(scenarios))
        return f"{len(scenarios)} situations are recorded."

    async def record_candidates(self, ctx: RunContext[Any], candidates: tuple[Proposal, ...]) -> str:
        """Keep the solutions that were proposed."""
        run = await self._store.get_run(self._user, self._run_id)
        seeds = tuple(run.config.get("seed_candidate_ids", ())) if run.mode == "seeded" else ()
        for number, each in enumerate(candidates):
            candidate = Candidate(run.id, each.description.strip(), "system", {"effects": list(each.effects)}, parent_ids=seeds)
            why = _make_provenance("candidate_proposed", f"by {ctx.run_id}", run.id)
            await self._store.create_candidate(self._user, candidate, why, candidate_id=self._id(number))
        return f"{len(candidates)} candidates are recorded."

    async def record_evaluation(
        self, candidate_id: str, judgements: tuple[Judgement, ...], uses: tuple[ResourceUse, ...] = ()
    ) -> str:
        """Score a candidate by what was judged, and keep that with the issues it shows."""
        snapshot = await load_snapshot(self._store, self._user, self._run_id)
        candidate = next(each for each in snapshot.candidates if each.id == candidate_id)
        evaluation = evaluate_candidate(snapshot.spec, snapshot.world, judgements, uses)
        for number, issue in enumerate(find_issues(candidate_label(candidate), evaluation)):
            kept = issue.of(snapshot.run.project_id, self._run_id, candidate_id)
            await self._store.create_issue(self._user, kept, issue_id=_stable_id(candidate_id, "issue", number))
        total = "none" if evaluation.total is None else f"{evaluation.total:g}"
        why = _make_provenance("candidate_evaluated", f"total {total} of 100: {evaluation.status}", self._run_id)
        if load_evaluation(candidate) is None:  # else the process ended right after this
            scores = msgspec.to_builtins(evaluation)
            await self._store.update_candidate(self._user, candidate_id, why, scores=scores, status=evaluation.status)
        judged = sum([load_evaluation(each) is not None for each in snapshot.candidates if each.id != candidate_id]) + 1
        count = judged * len(snapshot.spec.constraints)
        await self._store.update_run(self._user, self._run_id, "running", evaluation_count=count)
        return f"Candidate {candidate_id} has a total of {total} and is {evaluation.status}."

    async def finish_run(self) -> str:
        """Rank the candidates, and end the run."""
        snapshot = await load_snapshot(self._store, self._user, self._run_id)
        run, order = snapshot.run, rank_candidates(snapshot.candidates)
        evaluations = [found for each in order if (found := load_evaluation(each)) is not None]
        for number, issue in enumerate(find_unmet_musts(snapshot.spec, evaluations)):
            await self._store.create_issue(
                self._user, issue.of(run.project_id, run.id), issue_id=_stable_id(self._run_id, "unmet", number)
            )
        metrics = {**run.metrics, "ranking": [each.id for each in order]}
        words, message_id = format_candidates(order), run.run_summary_message_id
        if run.chat_session_id is not None and message_id is None:  # before the run is completed: then its summary is there
            told = {"agent_name": "Architect", "project_run_id": run.id, "run_summary": True}
            said = await self._store.add_message(
                self._user, run.chat_session_id, "agent", words, told, message_id=_stable_id(self._run_id, "summary")
            )
            message_id = said.id
        await self._store.update_run(self._user, run.id, "completed", metrics=metrics, run_summary_message_id=message_id)
        return words

    def _id(self, number: int) -> str:
        return _stable_id(self._run_id, "candidate", number)


def recording_tools(store: "Store", user: str, run_id: str) -> Toolset:
    """Return the tools that record the steps of a run."""
    recorder = RunRecorder(store, user, run_id)
    steps = [
        recorder.begin_run,
        recorder.record_scenarios,
        recorder.record_candidates,
        recorder.record_evaluation,
        recorder.finish_run,
    ]
    return FunctionToolset([_recording_tool(each) for each in steps], name="guidance-run")


def _recording_tool(function: Callable[..., Any]) -> Callable[..., Any]:
    return tool(function, retry="idempotent", sequential=True)


def _stable_id(*parts: object) -> str:
    return sha256(" ".join([str(part) for part in parts]).encode()).hexdigest()[:32]


def _make_provenance(kind: str, words: str, *references: str) -> Provenance:
    return Provenance(kind, words, actor="system", source="run", reference_ids=references)

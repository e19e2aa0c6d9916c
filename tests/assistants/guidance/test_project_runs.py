"""Runs of a project: candidates are proposed, judged and recorded, and a run that was killed goes on."""

import asyncio
import json

import pytest
from msgspec.structs import replace

from assistants.guidance.table import on_both_stores
from treadle import Runs, Usage
from treadle.assistant import Jobs, execute_job
from treadle.assistants.guidance.comparison import build_comparison, format_decision_record
from treadle.assistants.guidance.evaluation import AGAIN
from treadle.assistants.guidance.project_runs import (
    EvaluationInput,
    RunNotReady,
    cancel_project_run,
    create_draft_run,
    create_project_run,
    find_run_job,
    is_run_interrupted,
    reconcile_runs,
    start_draft_run,
    work,
)
from treadle.assistants.guidance.projects import delete_project
from treadle.assistants.guidance.recording import without_snapshot
from treadle.assistants.guidance.scoring import load_evaluation
from treadle.assistants.guidance.store import Candidate
from treadle.errors import ModelError
from treadle.models.scripted import ScriptedReply
from treadle.testing import Scripted

NAMES = ("Budget", "Fares", "Drivers' hours", "Depot")
SITUATIONS = json.dumps({"scenarios": [{"name": "Snow", "description": "Two weeks of it"}]})


def proposals(*descriptions):
    return json.dumps({"candidates": [{"description": each, "effects": ["Fewer delays"]} for each in descriptions]})


def judged(score=80, predicted=None, uses=(), names=NAMES):
    said = [{"constraint": name, "reason": f"{name} is kept", "score": score, "scenario": "Snow"} for name in names]
    said[0]["predicted"] = predicted
    return json.dumps({"judgements": said, "uses": [{"resource": name, "amount": amount} for name, amount in uses]})


REPLIES = (
    SITUATIONS,
    proposals("Signals first", "More drivers"),
    judged(90, 100_000),
    judged(80, 900_000, [("Drivers on duty", 500)]),
)


def wanted(session, mode="full_search", **parameters):
    parameters = {"num_candidates": 2, "num_scenarios": 1, **parameters}
    return EvaluationInput(session.host.about["project_id"], mode, parameters, session.host.about["session_id"])


async def carried(session, run):
    return await execute_job(run.id, work()[0], session.host)


async def evaluated(session, store, *given, **parameters):
    run = await create_project_run(session.host, store, wanted(session, *given, **parameters))
    return await carried(session, run), await store.get_run("ann", run.id)


@on_both_stores
def test_a_run_proposes_candidates_scores_them_and_records_how(table):
    async def job(session, store):
        done, run = await evaluated(session, store)
        assert (done.state, run.status, run.candidate_count, run.scenario_count, run.evaluation_count) == (
            "completed",
            "completed",
            2,
            1,
            8,
        )
        best, worst = [await store.get_candidate("ann", one) for one in run.metrics["ranking"]]
        assert (best.mechanism_description, best.status, best.origin) == ("Signals first", "promising", "system")
        assert (best.scores["total"], best.predicted_effects) == (90.0, {"effects": ["Fewer delays"]})
        found = load_evaluation(worst)
        assert (worst.status, found.violations) == ("rejected", ("Drivers on duty",))
        assert (found.constraints[0].score, found.constraints[0].judged, found.constraints[0].reason) == (0, 80, "Budget is kept")
        assert sorted(each.type for each in await store.list_issues("ann", run.project_id)) == ["constraint", "model"]
        kinds = [each.type for each in await store.list_provenance("ann", run.project_id, subject="candidate")]
        assert (kinds.count("candidate_proposed"), kinds.count("candidate_evaluated")) == (2, 2)
        said = (await store.list_messages("ann", run.chat_session_id))[-1]
        assert (said.id, "1. Signals first (90 of 100" in said.content) == (run.run_summary_message_id, True)
        assert run.llm_usage["requests"] == 4
        assert "problem_spec" in run.config
        assert "problem_spec" not in without_snapshot(run).config

    _, model = table(job, *REPLIES)
    assert "Nobody drives longer" in model.requests[0].history[-1].text
    assert "at most 400,000" in model.requests[2].history[-1].text
    assert "Drivers on duty: 128" in model.requests[2].history[-1].text


def test_a_reply_that_isnt_what_was_asked_for_is_asked_for_once_more(table):
    async def job(session, store):
        _, run = await evaluated(session, store, num_candidates=1)
        (candidate,) = await store.list_candidates("ann", run.id)
        assert (run.status, run.scenario_count, candidate.status) == ("completed", 0, "under_test")
        (issue,) = [each for each in await store.list_issues("ann", run.project_id) if each.type == "evaluator"]
        assert "no judgement of Budget, Fares" in issue.description

    _, model = table(job, "Sorry?", "Sorry!", "Hm.", proposals("Signals first"), "Good.", "Very good.")
    assert [AGAIN in request.history[-1].text for request in model.requests] == [False, True] * 3


def test_a_run_without_readable_candidates_fails_and_says_so_and_can_go_on(table):
    async def job(session, store):
        done, run = await evaluated(session, store, num_candidates=1)
        assert (done.state, run.status) == ("failed", "failed")
        assert "proposed no candidates" in run.error_summary
        await carried(session, run)
        run = await store.get_run("ann", run.id)
        assert (run.status, run.error_summary) == ("completed", "")

    table(job, SITUATIONS, "No.", "No!", proposals("Signals first"), judged())


def test_without_a_model_no_run_is_begun(table):
    async def job(session, store):
        with pytest.raises(ModelError, match="There is no model here"):
            await create_project_run(session.host, store, wanted(session))
        assert await store.list_runs("ann", session.host.about["project_id"]) == []

    table(job)


def test_a_run_that_isnt_ready_says_what_is_missing(table):
    async def job(session, store):
        project = await store.create_project("ann", "Empty")
        with pytest.raises(RunNotReady, match=r"no problem spec yet.*no world model yet"):
            await create_project_run(session.host, store, EvaluationInput(project.id))

    table(job, "Never said.")


@on_both_stores
def test_one_trigger_starts_one_run(table):
    async def job(session, store):
        asked = replace(wanted(session), ui_trigger_id="click-1")
        one, other = await create_project_run(session.host, store, asked), await create_project_run(session.host, store, asked)
        assert one.id == other.id

    table(job, "Never said.")


@on_both_stores
@pytest.mark.parametrize("at", range(4))
def test_a_run_that_was_killed_goes_on_with_what_isnt_recorded(table, at):
    """The model's server holds a reply back for ever, and the process ends meanwhile."""

    async def job(session, store):
        run = await create_project_run(session.host, store, wanted(session))
        reached = asyncio.Event()

        class Stuck(Scripted):
            async def reply(self, request):
                if len(self.requests) == at:
                    reached.set()
                    await asyncio.Event().wait()
                async for delta in super().reply(request):
                    yield delta

        dying = asyncio.create_task(execute_job(run.id, work()[0], replace(session.host, model=once(Stuck(*REPLIES)))))
        await reached.wait()
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        run = await store.get_run("ann", run.id)
        assert is_run_interrupted(session.host, run)
        done = await execute_job(run.id, work()[0], replace(session.host, model=once(Scripted(*REPLIES[at:]))))
        assert (done.state, (await store.get_run("ann", run.id)).status) == ("completed", "completed")
        assert [each.mechanism_description for each in await store.list_candidates("ann", run.id)] == [
            "Signals first",
            "More drivers",
        ]
        kinds = [each.type for each in await store.list_provenance("ann", run.project_id, subject="candidate")]
        assert kinds.count("candidate_evaluated") == 2

    table(job, "Never said.")


def once(model):
    async def chosen():
        return model

    return chosen


def test_a_run_evaluates_what_a_person_proposed(table):
    async def job(session, store):
        project_id = session.host.about["project_id"]
        run = await create_draft_run(session.host, store, project_id)
        with pytest.raises(RunNotReady, match="nothing to start"):
            await start_draft_run(session.host, store, run)
        mine = await store.create_candidate("ann", Candidate(run.id, "A ferry", "user"))
        await start_draft_run(session.host, store, run)
        await carried(session, run)
        assert (await store.get_candidate("ann", mine.id)).scores["total"] == 75.0
        again = await create_project_run(session.host, store, wanted(session, "eval_only"))
        await carried(session, again)
        (copy,) = await store.list_candidates("ann", again.id)
        assert (copy.mechanism_description, copy.parent_ids, copy.scores["total"]) == ("A ferry", (mine.id,), 60.0)

    table(job, SITUATIONS, judged(75), SITUATIONS, judged(60))


def test_a_seeded_run_improves_on_what_there_is(table):
    async def job(session, store):
        _, first = await evaluated(session, store)
        seed = first.metrics["ranking"][0]
        _, run = await evaluated(session, store, "seeded", num_candidates=1, seed_candidate_ids=[seed])
        (child,) = await store.list_candidates("ann", run.id)
        assert (child.parent_ids, child.mechanism_description) == ((seed,), "Signals and lanes")

    _, model = table(job, *REPLIES, SITUATIONS, proposals("Signals and lanes"), judged())
    assert "- Signals first" in model.requests[5].history[-1].text


def test_a_run_is_cancelled_and_what_it_recorded_stays(table):
    async def job(session, store):
        run = await create_project_run(session.host, store, wanted(session))
        assert (await cancel_project_run(session.host, store, run)).status == "cancelled"
        assert (await carried(session, run)).state == "cancelled"
        draft = await create_draft_run(session.host, store, run.project_id)
        assert (await cancel_project_run(session.host, store, draft)).status == "cancelled"
        other = await create_project_run(session.host, store, wanted(session))
        Jobs(session.host.home.folder).cancel(other.id)
        assert [each.status for each in await reconcile_runs(session.host, store, [other, draft])] == ["cancelled", "created"]

    table(job, "Never said.")


def test_a_budget_ends_a_run(table):
    async def job(session, store):
        _, run = await evaluated(session, store, budget_tokens=1)
        assert (run.status, "token" in run.error_summary.lower()) == ("failed", True), run.error_summary

    table(job, ScriptedReply(SITUATIONS, usage=Usage(requests=1, input_tokens=900)), *REPLIES[1:])


def test_candidates_are_compared_by_constraint_and_a_decision_is_written_down(table):
    async def job(session, store):
        _, run = await evaluated(session, store)
        candidates = await store.list_candidates("ann", run.id)
        found = build_comparison(run, candidates)
        assert [(each.label, each.total) for each in found.candidates] == [("Signals first", 90.0), ("More drivers", 59.4)]
        assert [(each.name, each.scores) for each in found.constraints][:2] == [("Budget", (90, 0)), ("Fares", (90, 80))]
        project = await store.get_project("ann", run.project_id)
        issues = await store.list_issues("ann", run.project_id)
        record = format_decision_record(project, run, candidates[1], candidates, issues, run.created_at.date())
        for words in (
            "# Buses on time: More drivers",
            "| Budget | 90 | At most 400,000 a year more than today |",
            "| Budget | 0 | Budget is kept | Budget: 900,000 predicted, at most 400,000 allowed |",
            "- Drivers on duty: 500 predicted, at most 128 allowed",
            "## Alternatives considered\n\n- Signals first (90 of 100, promising)",
        ):
            assert words in record, record

    table(job, *REPLIES)


def test_a_deleted_project_takes_its_runs_along(table):
    async def job(session, store):
        await session.run("Hello")
        _, run = await evaluated(session, store)
        await delete_project(session.host, store, run.project_id)
        assert find_run_job(session.host, run.id) is None
        assert await Runs(session.host.home).list() == []

    table(job, "Hello!", *REPLIES)

"""Runs and their candidates: a status goes forward only, and what they refer to is in the same project."""

import pytest
from msgspec.structs import replace

from assistants.guidance.store.stage import WHY, bridge, keeping
from treadle.assistants.guidance.store import Candidate, InvalidValue, ItemNotFound, Run


def test_a_run_is_created_as_it_was_asked_for_and_in_status_created(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        asked = Run(
            project.id, "eval_only", {"num_candidates": 3}, "completed", ui_trigger_id="click-1", ui_trigger_metadata={"x": 1}
        )
        run = await store.create_run("ada", asked)
        assert run == replace(asked, id=run.id, status="created")
        assert run.id != asked.id
        assert await store.get_run("ada", run.id) == run
        other = await store.create_run("ada", asked)
        assert await store.list_runs("ada", project.id) == [run, other]
        assert await store.list_runs("ada", project.id, 1) == [other]

    keeping(address, job)


def test_a_run_refers_to_its_own_project(address):
    async def job(store):
        mine, other = await bridge(store), await bridge(store)
        (run,) = await store.list_runs("ada", other.id)
        with pytest.raises(ItemNotFound, match="chat session"):
            await store.create_run("ada", Run(mine.id, chat_session_id=run.chat_session_id))
        with pytest.raises(ItemNotFound, match="message"):
            await store.create_run("ada", Run(mine.id, recommended_message_id=run.recommended_message_id))
        (ours,) = await store.list_runs("ada", mine.id)
        with pytest.raises(ItemNotFound, match="message"):
            await store.update_run("ada", ours.id, "running", run_summary_message_id=run.recommended_message_id)
        assert await store.get_run("ada", ours.id) == ours

    keeping(address, job)


def test_a_status_goes_forward_with_what_is_known(address):
    async def job(store):
        project = await bridge(store)
        (run,) = await store.list_runs("ada", project.id)
        running = await store.update_run("ada", run.id, "running", scenario_count=8)
        assert (running.status, running.scenario_count, running.completed_at) == ("running", 8, None)
        assert running.started_at >= run.created_at
        assert await store.update_run("ada", run.id, "running", metrics={"best": 1.5}) == replace(running, metrics={"best": 1.5})
        summary = run.recommended_message_id
        told = {"llm_usage": {"tokens": 9}, "evaluation_count": 2, "run_summary_message_id": summary, "error_summary": "slow"}
        done = await store.update_run("ada", run.id, "completed", **told)
        assert done == replace(running, status="completed", metrics={"best": 1.5}, completed_at=done.completed_at, **told)
        assert done.duration_seconds >= 0
        assert await store.get_run("ada", run.id) == done

    keeping(address, job)


def test_a_status_does_not_go_back(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        for *ways, refused in (["completed", "running"], ["running", "created"], ["running", "cancelled", "completed"], ["lost"]):
            run = await store.create_run("ada", Run(project.id))
            for status in ways:
                run = await store.update_run("ada", run.id, status)
            with pytest.raises(InvalidValue, match=f"A run that is {run.status} can't become '{refused}'"):
                await store.update_run("ada", run.id, refused)
            assert await store.get_run("ada", run.id) == run

    keeping(address, job)


def test_candidates_are_kept_with_their_run_which_counts_them(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        run, other = [await store.create_run("ada", Run(project.id)) for _ in range(2)]
        arch = await store.create_candidate("ada", Candidate(run.id, "an arch", scores={"P": 0.5, "R": 2}))
        beam = await store.create_candidate("ada", Candidate(other.id, "a beam", "user", parent_ids=(arch.id,)), WHY)
        assert await store.list_candidates("ada", run.id) == [arch]
        assert await store.list_project_candidates("ada", project.id) == [arch, beam]
        assert await store.get_candidate("ada", beam.id) == beam
        assert beam.project_id == project.id
        assert [each.candidate_count for each in await store.list_runs("ada", project.id)] == [1, 1]
        (why,) = await store.list_provenance("ada", project.id)
        assert (why.subject, why.reference_ids) == ("candidate", ("m1", beam.id))

    keeping(address, job)


def test_a_candidate_comes_of_candidates_of_its_own_project(address):
    async def job(store):
        mine, other = await bridge(store), await bridge(store)
        (run,), (elsewhere,) = await store.list_runs("ada", mine.id), await store.list_runs("ada", other.id)
        (stranger, _) = await store.list_candidates("ada", elsewhere.id)
        with pytest.raises(ItemNotFound, match=f"There is no candidate '{stranger.id}' in this project"):
            await store.create_candidate("ada", Candidate(run.id, "copied", parent_ids=(stranger.id,)))
        assert (await store.get_run("ada", run.id)).candidate_count == 2

    keeping(address, job)

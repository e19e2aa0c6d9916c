"""Issues, and provenance that is added by hand."""

import pytest
from msgspec.structs import replace

from assistants.guidance.store.stage import WHY, bridge, keeping
from treadle.assistants.guidance.store import InvalidValue, ItemNotFound, ProjectIssue


def test_an_issue_is_open_until_it_is_resolved_and_can_be_opened_again(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        first = await store.create_issue("ada", ProjectIssue(project.id, "model", "important", "no wind", "resolved", "already"))
        second = await store.create_issue("ada", ProjectIssue(project.id, "scenario", "minor", "no flood"))
        assert (first.resolution_status, first.resolution_note) == ("open", "")
        assert await store.list_issues("ada", project.id) == [first, second]
        resolved = await store.resolve_issue("ada", first.id, note="wind added")
        assert resolved == replace(
            first, resolution_status="resolved", resolution_note="wind added", resolved_at=resolved.resolved_at
        )
        assert resolved.resolved_at >= first.created_at
        assert await store.get_issue("ada", first.id) == resolved
        assert await store.list_issues("ada", project.id, "open") == [second]
        assert (await store.resolve_issue("ada", second.id, "invalidated")).resolution_status == "invalidated"
        assert await store.resolve_issue("ada", first.id, "open") == first
        with pytest.raises(InvalidValue, match="status of an issue"):
            await store.resolve_issue("ada", first.id, "forgotten")

    keeping(address, job)


def test_an_issue_is_about_something_of_its_own_project(address):
    async def job(store):
        mine, other = await bridge(store), await bridge(store)
        (run,) = await store.list_runs("ada", other.id)
        (candidate, _) = await store.list_candidates("ada", run.id)
        with pytest.raises(ItemNotFound, match="There is no run"):
            await store.create_issue("ada", ProjectIssue(mine.id, "model", "minor", "odd", run_id=run.id))
        with pytest.raises(ItemNotFound, match="There is no candidate"):
            await store.create_issue("ada", ProjectIssue(mine.id, "model", "minor", "odd", candidate_id=candidate.id))
        assert len(await store.list_issues("ada", mine.id)) == 1

    keeping(address, job)


def test_provenance_is_read_in_order_by_subject_and_the_last_few_alone(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        kept = []
        for number in range(4):
            why = replace(WHY, type=f"{number}", subject=("run", "recommendation")[number % 2], version=number)
            kept.append(await store.add_provenance("ada", project.id, why))
        assert await store.list_provenance("ada", project.id) == kept
        assert await store.list_provenance("ada", project.id, 3) == kept[1:]
        assert await store.list_provenance("ada", project.id, 1, subject="run") == [kept[2]]
        assert kept[3].user == "ada"

    keeping(address, job)

"""Projects: whose they are, who sees them, what they are called, and that nothing is left of one that was deleted."""

import pytest
from sqlalchemy import func, select

from assistants.guidance.store.stage import SPEC, WHY, WORLD, bridge, keeping
from treadle.assistants.guidance.store import (
    Candidate,
    InvalidValue,
    ItemNotFound,
    NotProjectOwner,
    ProjectIssue,
    ProjectNotFound,
    Provenance,
    Run,
    VersionConflict,
)
from treadle.assistants.guidance.store.tables import metadata


def test_projects_are_listed_by_what_was_changed_last(address):
    async def job(store):
        bridge, tunnel = await store.create_project("ada", "Bridge"), await store.create_project("ada", "Tunnel")
        assert await store.list_projects("ada") == [tunnel, bridge]
        await store.create_chat_session("ada", bridge.id)
        return [each.title for each in await store.list_projects("ada")]

    assert keeping(address, job) == ["Bridge", "Tunnel"]


def test_everything_of_a_project_is_not_there_for_somebody_else(address):
    async def job(store):
        project = await bridge(store)
        (talk, _), (run,) = await store.list_chat_sessions("ada", project.id), await store.list_runs("ada", project.id)
        (said, _), (issue,) = await store.list_messages("ada", talk.id), await store.list_issues("ada", project.id)
        candidate = (await store.list_candidates("ada", run.id))[0]
        assert await store.list_projects("eve") == []
        for user in ("eve", "", "Ada", "ada\0", "\ud800"):
            for attempt in (
                store.get_project(user, project.id),
                store.update_project(user, project.id, expected=1, title="Mine"),
                store.share_project(user, project.id, "eve"),
                store.unshare_project(user, project.id, "ada"),
                store.delete_project(user, project.id),
                store.export_project(user, project.id),
                store.create_chat_session(user, project.id),
                store.list_chat_sessions(user, project.id),
                store.get_problem_spec(user, project.id),
                store.put_problem_spec(user, project.id, SPEC, expected=1, why=WHY),
                store.get_world_model(user, project.id),
                store.put_world_model(user, project.id, WORLD, expected=1, why=WHY),
                store.create_run(user, Run(project.id)),
                store.list_runs(user, project.id),
                store.list_project_candidates(user, project.id),
                store.create_issue(user, ProjectIssue(project.id, "model", "minor", "none")),
                store.list_issues(user, project.id),
                store.list_provenance(user, project.id),
                store.add_provenance(user, project.id, WHY),
            ):
                with pytest.raises(ProjectNotFound, match=f"There is no project '{project.id}' among yours"):
                    await attempt
            for attempt in (
                store.get_chat_session(user, talk.id),
                store.update_chat_session(user, talk.id, title="Mine"),
                store.add_message(user, talk.id, "user", "hello"),
                store.list_messages(user, talk.id),
                store.get_message(user, said.id),
                store.update_message_metadata(user, said.id, {"mine": True}),
                store.get_run(user, run.id),
                store.update_run(user, run.id, "running"),
                store.create_candidate(user, Candidate(run.id, "mine")),
                store.list_candidates(user, run.id),
                store.get_candidate(user, candidate.id),
                store.get_issue(user, issue.id),
                store.resolve_issue(user, issue.id),
            ):
                with pytest.raises(ItemNotFound, match="in your projects"):
                    await attempt
        assert await store.get_project("ada", project.id) == project

    keeping(address, job)


def test_an_id_of_nothing_is_not_there_whatever_it_says(address):
    async def job(store):
        for wrong in ("", "nowhere", "\0", "\udfff", "'; DROP TABLE guidance_projects; --"):
            with pytest.raises(ProjectNotFound):
                await store.get_project("ada", wrong)
            with pytest.raises(ItemNotFound):
                await store.get_run("ada", wrong)

    keeping(address, job)


def test_a_member_sees_and_changes_a_project_until_they_are_one_no_longer(address):
    async def job(store):
        project = await bridge(store)
        shared = await store.share_project("ada", project.id, "bob", "cy", "bob", "ada")
        assert shared.members == ("bob", "cy")
        assert await store.share_project("ada", project.id) == await store.get_project("bob", project.id)
        assert [each.id for each in await store.list_projects("bob")] == [project.id]
        renamed = await store.update_project("bob", project.id, expected=1, title="Our bridge")
        assert (renamed.title, renamed.members) == ("Our bridge", ("bob", "cy"))
        assert (await store.unshare_project("ada", project.id, "bob")).members == ("cy",)
        with pytest.raises(ProjectNotFound):
            await store.get_project("bob", project.id)

    keeping(address, job)


def test_only_the_owner_says_who_else_may_and_deletes(address):
    async def job(store):
        project = await bridge(store)
        await store.share_project("ada", project.id, "bob")
        for attempt in (
            store.share_project("bob", project.id, "eve"),
            store.unshare_project("bob", project.id, "bob"),
            store.delete_project("bob", project.id),
        ):
            with pytest.raises(NotProjectOwner, match="Only ada, who owns this project, can do that"):
                await attempt
        assert (await store.get_project("ada", project.id)).members == ("bob",)

    keeping(address, job)


def test_a_title_is_changed_by_whoever_saw_the_last_one(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge", "Old.")
        renamed = await store.update_project(
            "ada", project.id, expected=1, title="Tunnel", why=Provenance("renamed", actor="agent")
        )
        assert (renamed.title, renamed.description, renamed.version) == ("Tunnel", "Old.", 2)
        assert await store.get_project("ada", project.id) == renamed
        with pytest.raises(VersionConflict, match="look at it again") as raised:
            await store.update_project("ada", project.id, expected=1, description="New.")
        assert raised.value.current == renamed
        described = await store.update_project("ada", project.id, expected=2, description="New.")
        assert (described.title, described.description, described.version) == ("Tunnel", "New.", 3)
        kept = await store.list_provenance("ada", project.id, subject="project")
        assert [(each.type, each.actor, each.version) for each in kept] == [("renamed", "agent", 2), ("updated", "user", 3)]
        with pytest.raises(InvalidValue, match="title of a project is empty"):
            await store.update_project("ada", project.id, expected=3, title=" ")

    keeping(address, job)


def test_a_project_belongs_to_somebody(address):
    async def job(store):
        with pytest.raises(InvalidValue, match="name of a user is empty"):
            await store.create_project("", "Bridge")
        with pytest.raises(InvalidValue, match="name of a user is empty"):
            await store.import_project(" ", {})

    keeping(address, job)


def test_nothing_is_left_of_a_deleted_project_and_all_of_the_others(address):
    async def count(store):
        async with store._database.reading() as connection:
            return {
                table.name: (await connection.execute(select(func.count()).select_from(table))).scalar()
                for table in metadata.tables.values()
            }

    async def job(store):
        other = await bridge(store, "bob")
        await store.share_project("bob", other.id, "cy")
        before = await count(store)
        assert all(before.values())
        project = await bridge(store)
        await store.share_project("ada", project.id, "bob")
        await store.delete_project("ada", project.id)
        assert await count(store) == before
        with pytest.raises(ProjectNotFound):
            await store.delete_project("ada", project.id)

    keeping(address, job)

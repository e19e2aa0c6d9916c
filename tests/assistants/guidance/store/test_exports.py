"""A project as one JSON value: all of it comes back, as a project of its own."""

import json

import pytest
from msgspec.structs import replace

from assistants.guidance.store.stage import SPEC, WHY, WORLD, bridge, keeping
from treadle.assistants.guidance.store import InvalidValue, ProjectNotFound, WorldEntry


def test_an_imported_project_is_the_same_under_ids_of_its_own(address):
    async def job(store):
        project = await bridge(store)
        await store.share_project("ada", project.id, "cy")
        exported = await store.export_project("ada", project.id)
        assert json.loads(json.dumps(exported)) == exported
        assert (exported["project"]["owner"], exported["project"]["members"]) == ("", [])
        copy = await store.import_project("bob", exported)
        assert (copy.owner, copy.members) == ("bob", ())
        assert await store.get_project("bob", copy.id) == copy
        with pytest.raises(ProjectNotFound):
            await store.get_project("ada", copy.id)
        assert await store.export_project("ada", project.id) == exported
        return exported, await store.export_project("bob", copy.id)

    old, new = keeping(address, job)
    renamed = _names(old, new)
    old["project"]["updated_at"] = new["project"]["updated_at"]
    text = json.dumps(old)
    for before, after in renamed.items():
        assert before != after
        text = text.replace(before, after)
    assert json.loads(text) == new


def _names(old, new):
    """Which id became which."""
    lists = [key for key, value in old.items() if isinstance(value, list)]
    pairs = [(one["id"], other["id"]) for key in lists for one, other in zip(old[key], new[key], strict=True)]
    assert len(pairs) == 11
    return {old["project"]["id"]: new["project"]["id"], **dict(pairs)}


def test_an_imported_project_goes_on_like_any_other(address):
    async def job(store):
        project = await bridge(store)
        copy = await store.import_project("bob", await store.export_project("ada", project.id))
        (talk, _) = await store.list_chat_sessions("bob", copy.id)
        await store.add_message("bob", talk.id, "user", "and now?")
        spec = await store.get_problem_spec("bob", copy.id)
        assert (await store.put_problem_spec("bob", copy.id, SPEC, expected=spec.version, why=WHY)).version == 2
        return [each.content for each in await store.list_messages("bob", talk.id)]

    assert keeping(address, job) == ["What next?", "Run it.", "and now?"]


def test_a_project_can_be_written_by_hand(address):
    written = {
        "project": {"title": "Sample", "id": "sample"},
        "problem_spec": {"constraints": [{"name": "Budget", "weight": 80}], "goals": ["sample"]},
        "world_model": {"actors": [{"name": "Council"}]},
        "chat_sessions": [{"project_id": "sample", "id": "main", "title": "main"}],
        "messages": [{"chat_session_id": "main", "role": "user", "content": "main", "metadata": {"in": ["main", 7]}}],
    }

    async def job(store):
        project = await store.import_project("ada", written)
        (talk,) = await store.list_chat_sessions("ada", project.id)
        (said,) = await store.list_messages("ada", talk.id)
        assert (talk.title, said.content, said.metadata) == ("main", "main", {"in": [talk.id, 7]})
        spec, world = await store.get_problem_spec("ada", project.id), await store.get_world_model("ada", project.id)
        assert (spec.version, spec.goals, world.version, world.actors[0].name) == (1, ("sample",), 1, "Council")
        await store.put_world_model("ada", project.id, replace(WORLD, actors=(WorldEntry("Mayor"),)), expected=1, why=WHY)
        assert (await store.import_project("ada", {"project": {"title": "Bare"}})).title == "Bare"

    keeping(address, job)


NO_PROJECTS = [
    ({"project": {"title": ""}}, "The title of a project is empty"),
    ({"format": "something else"}, "This is no project bundle"),
    ({"runs": [{"project_id": "p", "id": "one"}] * 2}, "Two things of this project have the id 'one'"),
    ({"messages": [{"chat_session_id": "x", "role": "user", "content": ""}]}, "The chat message .* has the chat_session_id 'x'"),
    ({"candidates": [{"run_id": "x", "mechanism_description": ""}]}, "The candidate .* has the run_id 'x', which isn't in"),
    ({"problem_spec": {"constraints": [{"name": "Budget", "weight": 101}]}}, "The weight of 'Budget' is 101"),
]


def test_what_is_no_project_is_refused_and_nothing_of_it_is_kept(address):
    async def job(store):
        for change, sentence in NO_PROJECTS:
            with pytest.raises(InvalidValue, match=sentence):
                await store.import_project("ada", {"project": {"title": "Sample"}, **change})
        return await store.list_projects("ada")

    assert keeping(address, job) == []

"""Problem spec and world model: one per project, by version, with how each change came about."""

import pytest
from msgspec.structs import replace

from assistants.guidance.store.stage import SPEC, WHY, WORLD, keeping
from treadle.assistants.guidance.store import Constraint, InvalidValue, ProblemSpec, VersionConflict, WorldEntry, WorldModel

KINDS = pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("problem_spec", SPEC, replace(SPEC, constraints=(*SPEC.constraints, Constraint("Time", weight=100)))),
        ("world_model", WORLD, replace(WORLD, assumptions=(WorldEntry("No wind"),))),
    ],
)


def bare(model):
    return replace(model, version=0, updated_at=None)


@KINDS
def test_a_project_has_none_then_one_then_its_next_version(address, name, first, second):
    async def job(store):
        get, put = getattr(store, f"get_{name}"), getattr(store, f"put_{name}")
        project = await store.create_project("ada", "Bridge")
        assert await get("ada", project.id) is None
        kept = await put("ada", project.id, first, expected=0, why=WHY)
        assert (kept.version, bare(kept)) == (1, first)
        assert await get("ada", project.id) == kept
        kept = await put("ada", project.id, second, expected=1, why=WHY)
        assert (kept.version, bare(kept)) == (2, second)
        assert await get("ada", project.id) == kept
        assert (await store.get_project("ada", project.id)).updated_at == kept.updated_at

    keeping(address, job)


@KINDS
def test_another_version_than_was_seen_is_not_overwritten(address, name, first, second):
    async def job(store):
        put = getattr(store, f"put_{name}")
        project = await store.create_project("ada", "Bridge")
        with pytest.raises(VersionConflict) as raised:
            await put("ada", project.id, first, expected=1, why=WHY)
        assert raised.value.current == type(first)()
        kept = await put("ada", project.id, first, expected=0, why=WHY)
        for wrong in (0, 2):
            with pytest.raises(VersionConflict, match=f"changed the {name.replace('_', ' ')} meanwhile") as raised:
                await put("ada", project.id, second, expected=wrong, why=WHY)
            assert raised.value.current == kept
        return await store.list_provenance("ada", project.id)

    assert len(keeping(address, job)) == 1


@KINDS
def test_every_change_is_kept_with_how_it_came_about(address, name, first, second):
    async def job(store):
        put = getattr(store, f"put_{name}")
        project = await store.create_project("ada", "Bridge")
        await store.share_project("ada", project.id, "bob")
        await put("ada", project.id, first, expected=0, why=WHY)
        await put("bob", project.id, second, expected=1, why=WHY)
        return await store.list_provenance("ada", project.id, subject=name)

    kept = keeping(address, job)
    assert [replace(each, id="") for each in kept] == [
        replace(WHY, id="", subject=name, version=1, user="ada"),
        replace(WHY, id="", subject=name, version=2, user="bob"),
    ]
    assert len({each.id for each in kept}) == 2


def test_what_is_no_spec_is_refused_and_nothing_changes(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        with pytest.raises(InvalidValue, match="no problem spec"):
            await store.put_problem_spec("ada", project.id, ProblemSpec(({"name": "Budget"},)[1:], "goal"), expected=0, why=WHY)
        with pytest.raises(InvalidValue, match="no provenance"):
            await store.put_problem_spec("ada", project.id, SPEC, expected=0, why=replace(WHY, reference_ids="m1"))
        assert await store.get_problem_spec("ada", project.id) is None
        assert await store.list_provenance("ada", project.id) == []

    keeping(address, job)


def test_a_world_model_may_be_empty(address):
    async def job(store):
        project = await store.create_project("ada", "Bridge")
        return await store.put_world_model("ada", project.id, WorldModel(), expected=0, why=WHY)

    assert bare(keeping(address, job)) == WorldModel()

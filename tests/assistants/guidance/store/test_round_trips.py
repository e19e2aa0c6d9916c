"""Whatever can be made can be kept, and comes back as it was: through JSON, and through both databases."""

import asyncio
from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from properties import examples
from treadle.assistants.guidance.store import (
    SECTIONS,
    ChatMessage,
    Constraint,
    ProblemSpec,
    Provenance,
    Run,
    WorldEntry,
    WorldModel,
    open_store,
)
from treadle.assistants.guidance.store.validation import validate_value, value_from_json

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NAME = TEXT.filter(str.strip)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
).filter(lambda value: _sound(value))
METADATA = st.dictionaries(TEXT, JSON, max_size=3)
MOMENT = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.timezones() | st.just(UTC))


def _sound(value):
    try:
        return bool(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return False


def constraint():
    return st.builds(Constraint, NAME, TEXT, st.integers(0, 100))


def spec():
    constraints = st.lists(constraint(), max_size=4, unique_by=lambda each: each.name.strip().casefold()).map(tuple)
    goals = st.lists(TEXT, max_size=4).map(tuple)
    words = st.sampled_from(["coarse", "medium", "fine"]), st.sampled_from(["full_search", "eval_only", "seeded"])
    return st.builds(ProblemSpec, constraints, goals, *words)


def world():
    entry = st.builds(WorldEntry, NAME, TEXT, TEXT, st.lists(TEXT, max_size=2).map(tuple), METADATA)
    return st.builds(WorldModel, **dict.fromkeys(SECTIONS, st.lists(entry, max_size=2).map(tuple)))


def why():
    actors = st.sampled_from(["user", "agent", "system"])
    references = st.lists(TEXT, max_size=2).map(tuple)
    return st.builds(Provenance, NAME, TEXT, actors, st.none() | TEXT, references, METADATA, MOMENT)


@given(
    spec() | world() | why() | st.builds(ChatMessage, NAME, st.just("user"), TEXT, METADATA) | st.builds(Run, NAME, config=METADATA)
)
def test_every_value_comes_back_from_json_as_it_was(value):
    assert validate_value(value) == value
    assert value_from_json(msgspec.json.decode(msgspec.json.encode(value)), type(value)) == value


def test_every_value_comes_back_from_the_database_as_it_was(address):
    with asyncio.Runner() as runner:
        store = runner.run(open_store(address))
        project = runner.run(store.create_project("ada", "Bridge"))
        talk = runner.run(store.create_chat_session("ada", project.id))

        async def there_and_back(spec, world, why, said, metadata, moment):
            for name, wanted in (("problem_spec", spec), ("world_model", world)):
                get, put = getattr(store, f"get_{name}"), getattr(store, f"put_{name}")
                current = await get("ada", project.id) or type(wanted)()
                kept = await put("ada", project.id, wanted, expected=current.version, why=why)
                assert replace(kept, version=0, updated_at=None) == wanted
                assert await get("ada", project.id) == kept
            (last,) = await store.list_provenance("ada", project.id, 1)
            assert last == replace(why, id=last.id, subject="world_model", version=kept.version, user="ada")
            message = await store.add_message("ada", talk.id, "agent", said, metadata)
            assert (message.content, message.metadata) == (said, metadata)
            assert await store.get_message("ada", message.id) == message
            run = await store.create_run("ada", Run(project.id, config=metadata, ui_triggered_at=moment))
            assert (run.config, run.ui_triggered_at) == (metadata, moment)
            assert await store.get_run("ada", run.id) == run

        @examples(20)
        @given(spec(), world(), why(), TEXT, METADATA, MOMENT)
        def check(spec, world, why, said, metadata, moment):
            runner.run(there_and_back(spec, world, why, said, metadata, moment))

        try:
            check()
        finally:
            runner.run(store.close())


def test_titles_and_names_of_people_come_back_as_they_were(address):
    async def there_and_back(store, user, title, description):
        project = await store.create_project(user, title, description)
        assert (project.owner, project.title, project.description) == (user, title, description)
        assert await store.get_project(user, project.id) == project

    with asyncio.Runner() as runner:
        store = runner.run(open_store(address))

        @examples(20)
        @given(NAME, NAME, TEXT)
        def check(user, title, description):
            runner.run(there_and_back(store, user, title, description))

        try:
            check()
        finally:
            runner.run(store.close())

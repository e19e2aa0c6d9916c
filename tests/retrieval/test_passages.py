"""The store: what is put in is found, by words and by meaning, under any question, and by nobody else."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
from array import array
from math import hypot
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from properties import examples
from treadle.core.errors import ModelUnavailable, SettingsError
from treadle.retrieval.connections import MIGRATIONS, open_passages, translate_passages_error
from treadle.retrieval.local_embeddings import BuiltinEmbedder, HashedEmbedder, is_builtin_installed, to_unit_vector
from treadle.retrieval.passages import Passages
from treadle.retrieval.query import QueryTerm, TagFilter, build_tag_filter, to_fts_query
from treadle.retrieval.search import RELATED, combine_scores, fuse_rankings
from treadle.retrieval.stored_vectors import pack_signs, quantize
from treadle.retrieval.values import Passage, PassageHit, PassagesError, SourceDocument
from treadle.retrieval.vector_index import has_numpy
from treadle.stores.migration import migrations_of


def document(source, *texts, title="", mark="", **tags):
    return SourceDocument(source, title, mark, tuple(Passage(text, source, tags=tags) for text in texts))


PAGES = (
    document(
        "cats.md", "The cat sleeps on the warm windowsill.", "Kittens drink milk.", title="Cats", mark="1", kind="animal", lesson=0
    ),
    document("dogs.md", "A dog guards the house at night.", title="Dogs", mark="2", kind="animal", lesson=1),
    document("tax.md", "The zyzzyva form reports quarterly revenue.", title="Taxes", mark="3", kind="money", lesson=0),
)


def using(folder, work, *, pages=PAGES, embedder=None):
    """What `work` makes of a store with the pages in it."""

    async def main():
        async with Passages(folder / "passages.db", embedder) as store:
            await store.put(*pages)
            return await work(store)

    return asyncio.run(main())


def sources(found):
    return [one.passage.source for one in found]


# Kept and found


@pytest.mark.parametrize("embedder", [None, HashedEmbedder()])
def test_a_passage_is_found_by_its_words(tmp_path, embedder):
    (found,) = using(tmp_path, lambda store: store.search("zyzzyva", limit=1), embedder=embedder)
    assert (found.passage.source, found.score, found.words, found.words_rank) == ("tax.md", 1.0, 1.0, 1)


def test_a_passage_is_kept_as_it_was_given(tmp_path):
    passage = Passage(
        "Text.", "a.md", 0, "Title", ("Title", "Part"), 3, 9, "page 2", "https://x.org/a", {"course": "MCP", "lesson": 0}
    )
    (kept,) = using(tmp_path, lambda store: store.document("a.md"), pages=[SourceDocument("a.md", "Title", "h", (passage,))])
    assert kept == passage
    assert (kept.id, kept.place) == ("a.md#0", "Title > Part, page 2")


def test_places_for_people():
    assert Passage("x", first_line=3, last_line=9, headings=("A", "B")).place == "A > B, lines 3-9"
    assert Passage("x", first_line=3, last_line=3).place == "line 3"
    assert Passage("x").place == ""


def test_words_are_found_in_other_forms_and_without_accents(tmp_path):
    pages = [document("a", "Deploying applications to München."), document("b", "Nothing of the kind.")]

    async def work(store):
        return [sources(await store.search(query)) for query in ("deploy application", "munchen", "DEPLOYED")]

    assert using(tmp_path, work, pages=pages) == [["a"], ["a"], ["a"]]


def test_headings_are_searched_too(tmp_path):
    passage = Passage("Press the button.", "a.md", headings=("Guide", "Restarting the turbine"))
    found = using(tmp_path, lambda store: store.search("turbine"), pages=[SourceDocument("a.md", "Guide", passages=(passage,))])
    assert sources(found) == ["a.md"]


def test_identifiers_are_found_whole_and_in_parts(tmp_path):
    pages = [document("a", "Call list_applications first."), document("b", "Applications have no list."), document("c", "Else.")]

    async def work(store):
        return sources(await store.search("list_applications")), sources(await store.search("applications"))

    assert using(tmp_path, work, pages=pages) == (["a", "b"], ["a", "b"])


def test_what_was_put_again_replaces_what_was_there(tmp_path):
    async def work(store):
        await store.put(document("cats.md", "Only lions now.", mark="9"))
        old, new = await store.search("windowsill milk"), await store.search("lions")
        return old, sources(new), await store.sources(), (await store.state()).passages

    assert using(tmp_path, work, embedder=HashedEmbedder()) == (
        [],
        ["cats.md"],
        {"cats.md": "9", "dogs.md": "2", "tax.md": "3"},
        3,
    )


def test_what_is_removed_is_gone(tmp_path):
    async def work(store):
        removed = await store.remove("cats.md", "nothing.md")
        return removed, await store.search("cat kittens", floor=0, how="words"), await store.values("kind"), await store.state()

    removed, found, kinds, state = using(tmp_path, work, embedder=HashedEmbedder())
    assert (removed, found, kinds) == (1, [], {"animal": 1, "money": 1})
    assert (state.documents, state.passages, state.without_vector) == (2, 2, 0)


def test_a_passage_can_be_asked_for_by_its_id(tmp_path):
    async def work(store):
        return [await store.passage(one) for one in ("cats.md#1", "cats.md#7", "cats.md", "", "#")]

    first, *rest = using(tmp_path, work)
    assert (first.text, first.title, rest) == ("Kittens drink milk.", "Cats", [None] * 4)


def test_sources_of_one_collection(tmp_path):
    pages = [SourceDocument("a", hash="1", collection="one"), SourceDocument("b", hash="2", collection="two")]

    async def work(store):
        return await store.sources("one"), await store.sources()

    assert using(tmp_path, work, pages=pages) == ({"a": "1"}, {"a": "1", "b": "2"})


def test_an_empty_store_finds_nothing(tmp_path):
    assert using(tmp_path, lambda store: store.search("anything"), pages=[], embedder=HashedEmbedder()) == []
    assert using(tmp_path, lambda store: store.search("anything", how="meaning"), pages=[], embedder=HashedEmbedder()) == []


# Meaning, floors and fusion


@pytest.mark.skipif(not is_builtin_installed(), reason="wordllama isn't installed")
def test_a_passage_is_found_by_what_it_means(tmp_path):
    pages = [
        document("doctor", "A paediatrician is a physician for kids."),
        document("train", "The train to Lyon leaves at noon."),
        document("oven", "Bake the bread at high heat."),
    ]

    async def work(store):
        asked = "Which doctor treats children?"
        return [await store.search(asked, how=how) for how in ("both", "meaning", "words")]

    both, meaning, words = using(tmp_path, work, pages=pages, embedder=BuiltinEmbedder())
    assert sources(both) == sources(meaning) == ["doctor"]
    assert words == []
    assert both[0].meaning > BuiltinEmbedder.floor
    assert (both[0].words, both[0].meaning_rank, both[0].words_rank) == (0.0, 1, None)


def test_a_question_about_something_else_finds_nothing(tmp_path):
    assert using(tmp_path, lambda store: store.search("mortgage interest in Portugal"), embedder=HashedEmbedder()) == []


def test_a_rare_word_is_enough_and_a_common_one_is_not(tmp_path):
    pages = [document(f"p{number}", f"The report of station {number} says nothing.") for number in range(50)]
    pages.append(document("rare", "The report mentions Quetzalcoatlus."))

    async def work(store):
        rare = await store.search("what does the report say of Quetzalcoatlus")
        return sources(rare), await store.search("report of the Bundesverfassungsgericht")

    assert using(tmp_path, work, pages=pages) == (["rare"], [])


def test_the_floor_is_what_is_asked_for(tmp_path):
    async def work(store):
        return [len(await store.search("cat house banana", floor=floor, limit=9)) for floor in (0.0, 0.1, 0.9)]

    everything, some, none = using(tmp_path, work, embedder=HashedEmbedder())
    assert everything == 4
    assert everything > some > none == 0


def test_scores_put_every_floor_at_the_same_place():
    assert combine_scores(0.27, 0.27, 0.0) == combine_scores(0.3, 0.3, 0.0) == combine_scores(None, 0.0, 0.5) == RELATED
    assert (
        combine_scores(1.0, 0.27, 0.0),
        combine_scores(-0.5, 0.27, 0.0),
        combine_scores(None, 0.0, 1.0),
        combine_scores(1.2, 0.0, 0.0),
    ) == (1.0, 0.0, 1.0, 1.0)
    assert combine_scores(0.0, 0.0, 0.0) == RELATED


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 0.9))
def test_scores_grow_with_what_they_are_made_of(one, other, floor):
    low, high = sorted((one, other))
    assert 0 <= combine_scores(low, floor, 0.0) <= combine_scores(high, floor, 0.0) <= 1


def test_what_stands_high_in_both_lists_comes_first():
    assert fuse_rankings([1, 2, 3], [4, 2, 5])[0] == 2
    assert fuse_rankings([], [7, 8]) == [7, 8]


def test_without_an_embedder_meaning_is_said_not_to_be_there(tmp_path):
    with pytest.raises(SettingsError, match="embedder"):
        using(tmp_path, lambda store: store.search("cat", how="meaning"))


@pytest.mark.parametrize(
    ("settings", "says"), [({"limit": 0}, "at least one"), ({"how": "magic"}, "magic"), ({"where": {"a": 1.5}}, "'a'")]
)
def test_a_search_that_cannot_be_is_said_so(tmp_path, settings, says):
    with pytest.raises(SettingsError, match=says):
        using(tmp_path, lambda store: store.search("cat", **settings))


class Absent:
    """An embedder whose server isn't there."""

    name = HashedEmbedder().name
    floor = 0.3

    async def embed(self, texts):
        raise ModelUnavailable("nobody is there")


def test_where_the_embedder_is_not_there_words_are_searched(tmp_path):
    using(tmp_path, lambda store: store.state(), embedder=HashedEmbedder())

    async def work(store):
        found = await store.search("zyzzyva")
        with pytest.raises(ModelUnavailable):
            await store.search("zyzzyva", how="meaning")
        with pytest.raises(ModelUnavailable):
            await store.put(document("new.md", "Never written."))
        return sources(found), list(await store.sources())

    assert using(tmp_path, work, pages=[], embedder=Absent()) == (["tax.md"], ["cats.md", "dogs.md", "tax.md"])


# Filters


def test_filters_by_tags(tmp_path):
    async def ask(store, **where):
        return sorted(set(sources(await store.search("the", limit=9, floor=0, where=where))))

    async def work(store):
        return (
            await ask(store, kind="animal"),
            await ask(store, lesson=0),
            await ask(store, lesson="0", kind="animal"),
            await ask(store, lesson=[0, 1], kind=("money",)),
            await ask(store, kind=[]),
            await ask(store, colour="red"),
        )

    animals, zero, both, money, nothing, unknown = using(tmp_path, work, embedder=HashedEmbedder())
    assert (animals, zero, both) == (["cats.md", "dogs.md"], ["cats.md", "tax.md"], ["cats.md"])
    assert (money, nothing, unknown) == (["tax.md"], [], [])


@pytest.mark.parametrize("how", ["words", "meaning", "both"])
def test_a_filter_holds_before_the_best_are_chosen(tmp_path, how):
    """The one passage that may be found is the worst of all: chosen afterwards, it would be cut off."""
    pages = [document(f"p{number}", "apple apple apple", course="other") for number in range(200)]
    pages.append(document("mine", "apple " + "and many words about something else entirely " * 5, course="mine"))
    found = using(
        tmp_path,
        lambda store: store.search("apple", floor=0, how=how, where={"course": "mine"}),
        pages=pages,
        embedder=HashedEmbedder(),
    )
    assert sources(found) == ["mine"]


def test_an_empty_filter_holds_for_all():
    assert (build_tag_filter(None), build_tag_filter({})) == (TagFilter(), TagFilter())
    assert TagFilter().condition("x") == ""


# By tags and by place


LESSONS = (
    SourceDocument(
        "b.md",
        passages=tuple(Passage(f"b{number}", tags={"course": "B", "lesson": lesson}) for number, lesson in enumerate((0, 1, 0, 0))),
    ),
    SourceDocument(
        "a.md",
        passages=(
            Passage("a0", tags={"course": "A"}),
            Passage("a1", tags={"course": "A", "lesson": 0}),
            Passage("a2", tags={"course": "A", "team": 0}),
            Passage("a3", tags={"course": "A"}),
        ),
    ),
    SourceDocument("c.md", passages=(Passage("c0"), Passage("c1"))),
)


def test_passages_are_had_by_their_tags_in_order_and_a_few_at_a_time(tmp_path):
    async def work(store):
        first = {"lesson": 0}
        return [
            [one.text for one in await store.passages_with(where, **page)]
            for where, page in (
                (first, {}),
                (first, {"limit": 3}),
                (first, {"limit": 3, "after": 3}),
                (first, {"after": 4}),
                ({"course": ["A", "B"], "lesson": [0, 1]}, {"after": 1}),
                ({"course": "C"}, {}),
                ({}, {"limit": 2}),
            )
        ]

    assert using(tmp_path, work, pages=LESSONS) == [
        ["a1", "b0", "b2", "b3"],
        ["a1", "b0", "b2"],
        ["b3"],
        [],
        ["b0", "b1", "b2", "b3"],
        [],
        ["a0", "a1"],
    ]


@pytest.mark.parametrize("page", [{"limit": 0}, {"after": -1}])
def test_a_page_that_cannot_be_is_said_to_be_a_mistake(tmp_path, page):
    with pytest.raises(SettingsError, match="at least one"):
        using(tmp_path, lambda store: store.passages_with({}, **page))


@pytest.mark.parametrize(
    ("passage", "beside"),
    [
        ("b.md#0", (None, "b2")),
        ("b.md#2", ("b0", "b3")),
        ("b.md#3", ("b2", None)),
        ("b.md#1", (None, None)),
        ("a.md#0", (None, "a3")),
        ("a.md#3", ("a0", None)),
        ("a.md#1", (None, None)),
        ("c.md#0", (None, "c1")),
    ],
)
def test_what_stands_around_a_passage_has_its_tags(tmp_path, passage, beside):
    async def work(store):
        return await store.around(await store.passage(passage))

    assert tuple(one and one.text for one in using(tmp_path, work, pages=LESSONS)) == beside


@pytest.mark.parametrize("odd", ["b.md#9", "b.md#01", "b.md", "#0", "b.md#-1", "b.md#٣", f"b.md#{'9' * 30}", "b.md#\ud800"])
def test_a_passage_that_is_not_there_is_none(tmp_path, odd):
    assert using(tmp_path, lambda store: store.passage(odd), pages=LESSONS) is None


# Vectors


class Watched:
    """An embedder that tells how much it was given at once; after some calls it is gone, or another one."""

    name, floor = "watched", 0.3

    def __init__(self, good=1_000, then=None):
        self.given, self._good, self._then = [], good, then

    async def embed(self, texts):
        self.given.append(len(texts))
        if len(self.given) <= self._good:
            return await HashedEmbedder(32).embed(texts)
        if self._then is None:
            raise ModelUnavailable("gone")
        return await self._then.embed(texts)


def large(mark):
    return document("large.md", *(f"{mark} passage{number}" for number in range(1_000)))


def test_a_large_document_is_embedded_in_slices_and_goes_in_whole(tmp_path):
    embedder = Watched()
    state = using(tmp_path, lambda store: store.state(), pages=[large("first")], embedder=embedder)
    assert (state.passages, state.without_vector, max(embedder.given), sum(embedder.given)) == (1_000, 0, 128, 1_000)


def test_of_a_document_whose_embedder_fails_halfway_nothing_goes_in(tmp_path):
    using(tmp_path, lambda store: store.state(), pages=[large("first")], embedder=Watched())
    with pytest.raises(ModelUnavailable):
        using(tmp_path, lambda store: store.state(), pages=[large("second")], embedder=Watched(good=4))
    kept = using(tmp_path, lambda store: store.document("large.md"), pages=[])
    assert {one.text.split()[0] for one in kept} == {"first"}


def test_vectors_of_which_some_have_another_length_are_left_for_later(tmp_path):
    embedder = Watched(good=4, then=HashedEmbedder(64))

    async def work(store):
        return (await store.state()).without_vector, await store.renew(), (await store.state()).without_vector

    assert using(tmp_path, work, pages=[large("first")], embedder=embedder) == (1_000, 1_000, 0)


@given(st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=40))
def test_a_vector_as_small_numbers_points_the_same_way(numbers):
    vector = to_unit_vector(numbers)
    other, length = array("b", quantize(vector)), sum(number**2 for number in array("f", vector)) ** 0.5
    cosine = sum(a * b for a, b in zip(array("f", vector), other, strict=True)) / ((hypot(*other) * length) or 1.0)
    assert cosine > 0.999 or not any(array("f", vector))
    assert len(pack_signs(vector)) == (len(numbers) + 7) // 8


def test_another_embedder_s_vectors_are_never_compared_and_made_anew(tmp_path, caplog):
    using(tmp_path, lambda store: store.state(), embedder=HashedEmbedder())

    async def work(store):
        stale = await store.search("cat house", floor=0)
        with pytest.raises(SettingsError, match=r"hashed:256.*index again"):
            await store.search("cat house", how="meaning")
        await store.put(document("late.md", "Put in meanwhile."))
        before, told = await store.state(), []
        renewed = await store.renew(lambda *one: told.append(one))
        return stale, before, renewed, told, await store.state(), await store.search("cat house", floor=0), await store.renew()

    stale, before, renewed, told, after, found, again = using(tmp_path, work, pages=[], embedder=HashedEmbedder(64))
    assert all(one.meaning is None for one in stale)
    assert (before.embedder, before.dimension, before.without_vector) == ("hashed:256", 256, 1)
    assert (renewed, told, again) == (5, [(5, 5)], 0)
    assert (after.embedder, after.dimension, after.without_vector) == ("hashed:64", 64, 0)
    assert all(one.meaning is not None for one in found)
    assert "made anew" in caplog.text


class Grown:
    """The same name, but vectors of another length: a server that was given another model."""

    name = HashedEmbedder().name
    floor = 0.3

    async def embed(self, texts):
        return await HashedEmbedder(512).embed(texts)


def test_vectors_of_another_dimension_are_never_mixed(tmp_path):
    using(tmp_path, lambda store: store.state(), embedder=HashedEmbedder())

    async def work(store):
        found = await store.search("cat", floor=0)
        await store.put(document("late.md", "Put in meanwhile."))
        before = await store.state()
        return found[0].meaning, before.without_vector, await store.renew(), await store.state()

    meaning, without, renewed, state = using(tmp_path, work, pages=[], embedder=Grown())
    assert (meaning, without, renewed) == (None, 1, 5)  # the late one first, then all that had to go for it
    assert (state.embedder, state.dimension, state.without_vector) == ("hashed:256", 512, 0)


def test_a_store_made_without_an_embedder_gets_its_vectors_later(tmp_path):
    assert using(tmp_path, lambda store: store.renew()) == 0

    async def work(store):
        return await store.renew(), (await store.state()).without_vector

    assert using(tmp_path, work, pages=[], embedder=HashedEmbedder()) == (4, 0)


class Interrupted:
    """An embedder during whose work another process changes whose vectors the file holds."""

    name = "slow"
    floor = 0.3

    def __init__(self, path):
        self._path = path

    async def embed(self, texts):
        async with Passages(self._path, HashedEmbedder()) as other:
            await other.renew()
        return await HashedEmbedder(64).embed(texts)


def test_two_embedders_at_once_are_said_to_be_a_mistake(tmp_path):
    using(tmp_path, lambda store: store.state())
    with pytest.raises(SettingsError, match="another embedder"):
        using(tmp_path, lambda store: store.renew(), pages=[], embedder=Interrupted(tmp_path / "passages.db"))


FALLBACK = """
import asyncio, sys
sys.modules["numpy"] = sys.modules["pysqlite3"] = None
from treadle.retrieval.local_embeddings import HashedEmbedder
from treadle.retrieval.local_embeddings import to_unit_vector
from treadle.retrieval.passages import Passages

async def main():
    async with Passages(sys.argv[1], HashedEmbedder()) as store:
        found = await store.search("dog guards house", how="meaning")
        print((await store.state()).vectors_by, [one.passage.source for one in found])

asyncio.run(main())
"""


def test_where_nothing_else_is_installed_the_same_file_is_searched_in_python(tmp_path):
    state = using(tmp_path, lambda store: store.state(), embedder=HashedEmbedder())
    assert state.vectors_by == ("numpy" if has_numpy() else "python")
    command = [sys.executable, "-c", FALLBACK, str(tmp_path / "passages.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "python ['dogs.md']\n"


# Any question


NASTY = [
    "", "   ", "?!.,", '"', '""', "'", "AND", "OR NOT", "NEAR(a b)", "a AND", "^cat*", "heading:cat", "{text}:x", "-cat", "(",
    "cat\0dog", "\0", "\ud800", "cat \ud800", "x" * 100_000, "cat " * 25_000, "_", "__", "a_b_", "*", "%", "\\",
    "';DROP TABLE words;--",
    "終わり", "ﬃ", "İ", "ß", "🐈", "\u200b", "1", "rank", "words MATCH 'x'", "\u19b0",
]  # fmt: skip


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A store and a loop to ask it in, for many questions."""
    loop = asyncio.new_event_loop()
    store = Passages(tmp_path_factory.mktemp("shelf") / "passages.db", HashedEmbedder())
    loop.run_until_complete(store.put(*PAGES, document("odd", *(text for text in NASTY if text.strip()))))
    yield lambda query, **settings: loop.run_until_complete(store.search(query, **settings))
    store.close()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.mark.parametrize("how", ["both", "words", "meaning"])
@pytest.mark.parametrize("query", NASTY, ids=range(len(NASTY)))
def test_no_question_is_too_odd(shelf, query, how):
    assert all(isinstance(one, PassageHit) for one in shelf(query, floor=0, limit=5, how=how))


def test_in_a_large_store_the_commonest_words_of_a_question_are_left_out():
    terms = [
        QueryTerm(word, (word,), passages, 1.0) for word, passages in (("use", 5_000), ("gear", 10), ("the", 9_000), ("nope", 0))
    ]
    assert to_fts_query(terms) == '"nope" OR "gear" OR "use"'
    assert to_fts_query([terms[2], terms[3]]) == '"nope" OR "the"'
    assert to_fts_query([]) == ""


@examples(100)
@given(st.text(max_size=60) | st.lists(st.sampled_from(NASTY), max_size=6).map(" ".join), st.integers(1, 50), st.floats(0, 1))
def test_any_question_can_be_asked(shelf, query, limit, floor):
    found = shelf(query, limit=limit, floor=floor)
    assert len(found) <= limit
    assert all(floor <= one.score <= 1 for one in found)


@given(st.text(max_size=200), st.text(max_size=20), st.text(max_size=20))
@examples(60)
def test_any_text_can_be_kept(tmp_path_factory, text, source, tag):
    async def work():
        async with Passages(tmp_path_factory.mktemp("any") / "p.db", HashedEmbedder()) as store:
            await store.put(
                SourceDocument(
                    source, tag, tag, (Passage(text, source, headings=(tag,), link=tag, at=tag, tags={tag: tag, "n": 1}),)
                )
            )
            return await store.sources(), await store.values("n"), await store.search(text, where={tag: tag}, floor=0)

    kept, numbers, _ = asyncio.run(work())
    assert (len(kept), numbers) == (1, {"1": 1})


# The file


def test_the_file_is_its_owner_s_alone(tmp_path):
    folder = tmp_path / "new"
    using(folder, lambda store: store.state())
    assert stat.S_IMODE((folder / "passages.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


def test_a_file_of_something_else_is_left_alone(tmp_path):
    other = sqlite3.connect(tmp_path / "passages.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    before = (tmp_path / "passages.db").read_bytes()
    with pytest.raises(PassagesError, match="something else"):
        using(tmp_path, lambda store: store.state(), pages=[])
    after = sqlite3.connect(tmp_path / "passages.db")
    assert after.execute("SELECT name FROM sqlite_master").fetchall() == [("mine",)]
    after.close()
    assert len((tmp_path / "passages.db").read_bytes()) == len(before)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_older_format_is_migrated_and_says_so(tmp_path, version):
    old = sqlite3.connect(tmp_path / "passages.db", isolation_level=None)
    old.executescript("".join(MIGRATIONS[:version]))
    old.execute("INSERT INTO documents (source, collection, title, hash) VALUES ('old.md', 'folders', 'Old', 'x')")
    old.execute(f"PRAGMA user_version={version}")
    old.close()

    async def work(store):
        return await store.abouts(), await store.sources()

    for _ in range(2):
        assert using(tmp_path, work, pages=[]) == ({"old.md": {}}, {"old.md": "x"})
    new = sqlite3.connect(tmp_path / "passages.db")
    assert [(each.from_format, each.to_format) for each in migrations_of(new)] == [(version, len(MIGRATIONS))]
    new.close()


def test_what_else_is_known_of_a_document_is_kept_with_it(tmp_path):
    about = {"lessons": [{"number": 0, "title": "Über \ud800 <b>"}]}
    pages = [SourceDocument("a.md", about=about, collection="courses"), SourceDocument("b.md", collection="others")]

    async def work(store):
        return await store.abouts("courses"), await store.abouts()

    ours, everything = using(tmp_path, work, pages=pages)
    assert ours == {"a.md": {"lessons": [{"number": 0, "title": "Über ? <b>"}]}}
    assert list(everything) == ["a.md", "b.md"]


def test_a_newer_file_is_said_to_be_newer(tmp_path):
    connection = open_passages(tmp_path / "passages.db")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(PassagesError, match="newer Treadle"):
        using(tmp_path, lambda store: store.state(), pages=[])


def test_a_damaged_file_is_said_to_be_damaged(tmp_path):
    (tmp_path / "passages.db").write_bytes(b"not a database at all" * 500)
    with pytest.raises(PassagesError, match="index again"):
        using(tmp_path, lambda store: store.state(), pages=[])


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PassagesError, match="can't be used"):
        using(tmp_path / "file", lambda store: store.state(), pages=[])


@pytest.mark.parametrize(
    ("words", "says"),
    [("no such module: fts5", "full text"), ("database is locked", "another process"), ("disk I/O error", "room")],
)
def test_what_sqlite_says_becomes_a_sentence_that_says_what_to_do(words, says):
    assert says in str(translate_passages_error(sqlite3.OperationalError(words), Path("passages.db")))


def test_a_closed_store_says_so(tmp_path):
    store = Passages(tmp_path / "passages.db")
    store.close()
    with pytest.raises(PassagesError, match="closed"):
        asyncio.run(store.state())


def test_a_store_closed_during_a_search_lets_go_when_that_ends(tmp_path):
    async def main():
        store = Passages(tmp_path / "passages.db")
        await store.put(*PAGES)
        began, end = threading.Event(), threading.Event()

        def slow(connection):
            began.set()
            end.wait(120)
            return connection.execute("SELECT count(*) FROM passages").fetchone()[0]

        reading = asyncio.ensure_future(store._file.read(slow))
        await asyncio.to_thread(began.wait, 10)
        store.close()
        end.set()
        return await reading

    assert asyncio.run(main()) == 4


def test_writing_keeps_nobody_from_reading_and_nothing_half_done_is_seen(tmp_path):
    async def main():
        async with Passages(tmp_path / "passages.db") as store:
            await store.put(*PAGES)
            began, end = threading.Event(), threading.Event()

            def slow(connection):
                connection.execute("DELETE FROM documents")
                began.set()
                end.wait(120)
                raise RuntimeError("it went wrong")

            writing = asyncio.ensure_future(store._file.write(slow))
            await asyncio.to_thread(began.wait, 10)
            during = sources(await store.search("zyzzyva"))
            end.set()
            with pytest.raises(RuntimeError):
                await writing
            return during, len(await store.sources())

    assert asyncio.run(main()) == (["tax.md"], 3)


def test_a_search_does_not_hold_the_event_loop_up(tmp_path):
    async def main():
        async with Passages(tmp_path / "passages.db") as store:
            await store.put(*PAGES)
            began, turned = threading.Event(), threading.Event()
            reading = asyncio.ensure_future(store._file.read(lambda connection: began.set() or turned.wait(60)))
            await asyncio.to_thread(began.wait, 60)
            turned.set()
            return await reading

    assert asyncio.run(main())


def test_many_search_and_write_at_once(tmp_path):
    async def main():
        async with Passages(tmp_path / "passages.db", HashedEmbedder()) as store:
            await store.put(*PAGES)

            async def write(number):
                await store.put(document(f"new{number}", f"entry number{number}"))

            async def read(number):
                return sources(await store.search("zyzzyva"))

            done = await asyncio.gather(*(work(number) for number in range(20) for work in (write, read)))
            return done, await store.state()

    done, state = asyncio.run(main())
    assert done[1::2] == [["tax.md"]] * 20
    assert (state.documents, state.without_vector) == (23, 0)

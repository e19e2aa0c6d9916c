"""Vectors in memory and in the file: the same are nearest either way, and what is held is always what the file has."""

import asyncio
import threading
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.forkserver import ran
from properties import examples
from treadle.retrieval import stored_vectors, vector_index
from treadle.retrieval.connections import open_passages, read_stamp
from treadle.retrieval.local_embeddings import HashedEmbedder, to_unit_vector
from treadle.retrieval.passages import Passages
from treadle.retrieval.query import TagFilter, build_tag_filter
from treadle.retrieval.stored_vectors import FileVectors, pack_signs, quantize
from treadle.retrieval.values import Passage, SourceDocument
from treadle.retrieval.vector_index import MemoryVectors, VectorIndex, has_numpy, refresh_vectors

needs_numpy = pytest.mark.skipif(not has_numpy(), reason="numpy isn't installed")

WAYS = {
    "in the file": FileVectors,
    "held": lambda c: VectorIndex().seen_by(c),
    "signs held": lambda c: VectorIndex(most=0).seen_by(c),
}


def document(source, *texts, **tags):
    return SourceDocument(source, passages=tuple(Passage(text, source, tags=tags) for text in texts))


def vector_of(text, embedder=None):
    return asyncio.run((embedder or HashedEmbedder()).embed([text]))[0]


@pytest.fixture
def path(tmp_path):
    """A file with eighty passages, each near its neighbours."""

    async def fill():
        async with Passages(tmp_path / "passages.db", HashedEmbedder()) as store:
            for number in range(80):
                text = f"word{number} word{number + 1} word{number + 2} shared"
                await store.put(document(f"p{number}", text, part=number % 2, third=number % 3))

    asyncio.run(fill())
    return tmp_path / "passages.db"


@pytest.fixture
def connection(path):
    opened = open_passages(path)
    yield opened
    opened.close()


@pytest.mark.parametrize("way", WAYS)
def test_the_nearest_and_their_cosines(connection, way):
    vectors, vector = WAYS[way](connection), vector_of("word40 word41 word42 shared")
    (first, cosine), *rest = vectors.nearest(vector, 5, TagFilter())
    assert (first, cosine) == (41, pytest.approx(1.0, abs=1e-5))
    assert {40, 42} < {passage for passage, _ in rest}
    assert [cosine for _, cosine in rest] == sorted((cosine for _, cosine in rest), reverse=True)
    assert vectors.cosines(vector, [41, 999]) == {41: pytest.approx(1.0, abs=1e-5)}
    assert vectors.cosines(vector, []) == vectors.cosines(vector, [999]) == {}
    assert len(vectors.nearest(vector, 1_000, TagFilter())) == 80


@pytest.mark.parametrize("way", WAYS)
def test_a_filter_holds_before_the_nearest_are_chosen(connection, way):
    vectors, vector = WAYS[way](connection), vector_of("word40 word41 word42 shared")
    even = vectors.nearest(vector, 60, build_tag_filter({"part": 0}))
    both = vectors.nearest(vector, 60, build_tag_filter({"part": 0, "third": [0, 1]}))
    assert {passage for passage, _ in even} == set(range(1, 81, 2))
    assert {passage for passage, _ in both} == {number + 1 for number in range(0, 80, 2) if number % 3 < 2}
    assert vectors.nearest(vector, 5, build_tag_filter({"part": "none"})) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_vector_without_a_direction_is_near_nothing(tmp_path, way):
    async def fill():
        async with Passages(tmp_path / "passages.db", HashedEmbedder()) as store:
            await store.put(document("a", "..."))

    asyncio.run(fill())
    connection = open_passages(tmp_path / "passages.db")
    vectors = WAYS[way](connection)
    found = vectors.nearest(vector_of("words"), 5, TagFilter()), vectors.nearest(vector_of("?"), 5, TagFilter())
    connection.close()
    assert found == ([(1, 0.0)], [(1, 0.0)])


@pytest.fixture
def many(tmp_path):
    """A file with more vectors than all are compared of without numpy; they are random, and belong to passages without texts."""
    connection, chance = open_passages(tmp_path / "many.db"), Random(3)
    vectors = {
        number: to_unit_vector([chance.gauss(0, 1) for _ in range(20)]) for number in range(1, stored_vectors.EXACT_LIMIT + 1_000)
    }
    connection.execute("BEGIN")
    connection.execute("INSERT INTO about VALUES ('dimension', '20'), ('embedder', 'random')")
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", ((number, quantize(one)) for number, one in vectors.items()))
    connection.executemany("INSERT INTO signs VALUES (?, ?)", ((number, pack_signs(one)) for number, one in vectors.items()))
    connection.execute("COMMIT")
    yield connection, vectors
    connection.close()


@pytest.mark.parametrize(("way", "all_of_them"), [("in the file", False), ("held", True), ("signs held", False)])
def test_of_many_nearly_all_of_the_nearest_are_found(many, way, all_of_them):
    connection, there = many
    vectors, kept = WAYS[way](connection), 0
    for number in range(1, 21):
        every = FileVectors(connection).cosines(there[number], list(there))
        best = sorted(every, key=lambda one: (-every[one], one))[:10]
        found = dict(vectors.nearest(there[number], 10, TagFilter()))
        assert next(iter(found)) == number
        assert all(cosine == pytest.approx(every[one], abs=0.02) for one, cosine in found.items())
        kept += len(set(best) & set(found))
    assert kept >= (190 if all_of_them else 140)


@needs_numpy
def test_of_equals_those_come_first_that_were_put_in_first(tmp_path):
    async def main():
        async with Passages(tmp_path / "passages.db", HashedEmbedder()) as store:
            await store.put(*(document(f"p{number:03}", "the same apple") for number in range(200)))
            return [one.passage.source for one in await store.search("apple", how="meaning", limit=4)]

    assert asyncio.run(main()) == ["p000", "p001", "p002", "p003"]


# What is held is what the file has


def test_a_stamp_is_the_same_until_anybody_writes(path):
    async def main():
        async with Passages(path, HashedEmbedder()) as one, Passages(path, HashedEmbedder()) as other:
            stamps = [await one._file.read(read_stamp), await one._file.read(read_stamp)]
            await other.put(document("new", "from the other"))
            stamps.append(await one._file.read(read_stamp))
            await one.put(document("newer", "from the same, on the same connection"))
            stamps.append(await one._file.read(read_stamp))
            return stamps

    first, again, other, own = asyncio.run(main())
    assert first == again
    assert len({first, other, own}) == 3


@needs_numpy
def test_nothing_is_read_again_where_nothing_has_changed_and_only_the_new_where_something_was_added(path, connection):
    before = refresh_vectors(connection, None)
    assert refresh_vectors(connection, before) is before

    async def add():
        async with Passages(path, HashedEmbedder()) as store:
            await store.put(document("new", "something new"))

    asyncio.run(add())
    asked = []
    connection.set_trace_callback(asked.append)
    after = refresh_vectors(connection, before)
    connection.set_trace_callback(None)
    assert [one for one in asked if "FROM vectors" in one] == ["SELECT passage, vector FROM vectors WHERE passage IN (81)"]
    assert (len(before.ids), len(after.ids)) == (80, 81)


@needs_numpy
def test_a_store_that_outgrows_the_memory_holds_signs_instead(connection):
    numbers = refresh_vectors(connection, None, 80 * 256)
    bits = refresh_vectors(connection, numbers, 80 * 256 - 1)
    assert (numbers.exact, numbers.rows.nbytes, bits.exact, bits.rows.nbytes) == (True, 80 * 256, False, 80 * 32)


@needs_numpy
def test_each_connection_sees_the_vectors_of_its_own_transaction(path, connection):
    vectors, vector = VectorIndex(), vector_of("quite another thing")
    connection.execute("BEGIN")
    old = vectors.seen_by(connection).nearest(vector, 100, TagFilter())

    async def change():
        async with Passages(path, HashedEmbedder()) as store:
            await store.put(document("new", "quite another thing"))
            await store.remove("p0", "p1")

    asyncio.run(change())
    newer = open_passages(path)
    for _ in range(2):
        now = vectors.seen_by(newer).nearest(vector, 100, TagFilter())
        assert now[0] == (81, pytest.approx(1.0, abs=1e-5))
        assert len(now) == 79
        assert vectors.seen_by(connection).nearest(vector, 100, TagFilter()) == old
    connection.execute("COMMIT")
    assert vectors.seen_by(connection).nearest(vector, 100, TagFilter()) == now
    newer.close()


@needs_numpy
def test_stamps_are_not_remembered_without_end(path):
    vectors, seen = VectorIndex(), []
    for _ in range(vector_index.MAX_STAMPS + 5):
        connection = open_passages(path)
        seen.append(vectors.seen_by(connection).held)
        connection.close()
    assert all(one is seen[0] for one in seen)
    assert len(vectors._same) <= vector_index.MAX_STAMPS


class Another:
    """Another model under the same name and of the same dimension: every vector points the other way."""

    name = HashedEmbedder().name
    floor = 0.3

    async def embed(self, texts):
        return [to_unit_vector([0.5 if byte % 2 else -0.5 for byte in one]) for one in await HashedEmbedder(64).embed(texts)]


def test_vectors_that_were_made_anew_are_never_taken_for_those_before(path):
    """By way of another embedder the same name, dimension and passages come back, with other vectors."""

    async def main():
        async with Passages(path, Another()) as store:
            await store.search("word7", how="meaning")
            async with Passages(path, HashedEmbedder(64)) as between:
                await between.renew()
            await store.renew()
            after = await store.search("word7", how="meaning", floor=0, limit=80)
        async with Passages(path, Another()) as fresh:
            return after, await fresh.search("word7", how="meaning", floor=0, limit=80)

    after, fresh = asyncio.run(main())
    assert after == fresh


ADDS = """
import asyncio, sys
from treadle.retrieval.local_embeddings import HashedEmbedder
from treadle.retrieval.passages import Passages
from treadle.retrieval.values import SourceDocument, Passage

async def main():
    async with Passages(sys.argv[1], HashedEmbedder()) as store:
        await store.remove("p5")
        await store.put(SourceDocument("late", passages=(Passage("word5 word6 word7 shared", "late"),)))

asyncio.run(main())
"""


def test_what_another_process_adds_and_removes_is_seen_by_the_next_search(path):
    async def main():
        async with Passages(path, HashedEmbedder()) as store:
            before = await store.search("word5 word6 word7 shared", how="meaning", limit=1)
            (await asyncio.to_thread(ran, "-c", ADDS, str(path))).check_returncode()
            after = await store.search("word5 word6 word7 shared", how="meaning", limit=1)
            return before[0].passage.source, after[0].passage.source

    assert asyncio.run(main()) == ("p5", "late")


STEPS = st.lists(st.tuples(st.sampled_from(["put", "bare", "remove", "renew"]), st.integers(0, 5), st.booleans()), max_size=12)


@given(STEPS)
@examples(40)
def test_whatever_is_done_by_whomever_what_is_held_is_what_the_file_has(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("steps") / "passages.db"

    async def main():
        async with Passages(path, HashedEmbedder(64)) as store, Passages(path, HashedEmbedder(64)) as other, Passages(path) as bare:
            await store.put(document("first", "apple"))
            for step, number, mine in steps:
                one, source = store if mine else other, f"p{number}"
                match step:
                    case "put":
                        await one.put(document(source, f"word{number} apple", "shared pear"))
                    case "bare":
                        await bare.put(document(source, f"later{number}"))
                    case "remove":
                        await one.remove(source)
                    case _:
                        await one.renew()
                held = await store._file.read(lambda c: store._vectors.seen_by(c).nearest(vector, 50, TagFilter()))
                there = await store._file.read(lambda c: FileVectors(c).nearest(vector, 50, TagFilter()))
                assert dict(held) == pytest.approx(dict(there), abs=0.02)

    vector = vector_of("apple pear", HashedEmbedder(64))
    asyncio.run(main())


def test_many_who_search_at_once_while_others_write_get_what_is_there(path):
    async def main():
        async with Passages(path, HashedEmbedder()) as store, Passages(path, HashedEmbedder()) as other:

            async def write(number):
                await (store if number % 2 else other).put(document("moving", f"entry number{number}"))

            async def read(_):
                return await store.search("word40 word41 word42 shared", how="meaning", limit=1)

            found = await asyncio.gather(*(work(number) for number in range(30) for work in (write, read)))
            return {one[0].passage.source for one in found if one}

    before = threading.active_count()
    assert asyncio.run(main()) == {"p40"}
    assert threading.active_count() == before


@needs_numpy
def test_with_numpy_vectors_are_in_memory(connection):
    assert isinstance(VectorIndex().seen_by(connection), MemoryVectors)

"""Files rank by the references to them, and by those of files that are important themselves."""

import pytest

from treadle.assistants.reading.symbols.graph import GraphDefinition, ReferenceGraph, find_bias, page_rank


def test_what_important_files_refer_to_is_important():
    ranks = page_rank(4, [(0, 1, 1.0), (2, 1, 1.0), (1, 3, 1.0)], {})
    assert sum(ranks) == pytest.approx(1)
    assert sorted(range(4), key=lambda node: -ranks[node])[:2] == [3, 1]
    assert ranks[0] == pytest.approx(ranks[2])
    assert page_rank(0, [], {}) == []


def test_walks_start_where_the_task_is():
    plain, biased = page_rank(3, [(0, 1, 1.0)], {}), page_rank(3, [(0, 1, 1.0)], {2: 10.0})
    assert biased[2] > plain[2]
    assert biased[2] > biased[1]


def test_a_task_names_files_by_path_by_name_and_by_what_they_define_and_edits_count_if_they_are_few():
    paths = tuple(f"src/file_{number}.py" for number in range(20))
    named = ((GraphDefinition("Cart.total", "method", "", 1, 0),), *[()] * 19)
    graph = ReferenceGraph(paths, (*[0] * 19, 10**18), named, (), 0)
    now = 10**18 + 1
    assert set(find_bias(graph, "", now)) == {19}
    assert set(find_bias(graph, "look at src/file_3.py, file_4.py and file_5: what is Cart.total()?", now)) == {0, 3, 4, 5, 19}
    fresh = ReferenceGraph(paths, (10**18,) * 20, named, (), 0)
    assert find_bias(fresh, "", now) == {}

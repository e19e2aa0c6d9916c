"""The parts of a file: every line of a definition in exactly one, and ranges and elements that follow from them."""

from hypothesis import given
from hypothesis import strategies as st

from assistants.reading.sample_outlines import SHOP, node, parts
from treadle.assistants.reading.file_parts import collect_elements, part_ranges


def spans(found):
    return [(part.node.name, part.start, part.end) for part in found]


def test_a_class_is_its_head_and_its_members():
    found = parts(*SHOP)
    assert spans(found)[4:7] == [("Shelf", 9, 11), ("put", 12, 18), ("take", 20, 30)]
    assert [part.owner for part in found[4:7]] == [-1, 4, 4]


def test_two_on_one_line_share_no_line():
    assert spans(parts(node("variable", "a", 1, 1), node("variable", "b", 1, 3))) == [("a", 1, 1), ("b", 2, 3)]
    assert spans(parts(node("variable", "a", 1, 1), node("variable", "b", 1, 1))) == [("a", 1, 1)]


def test_neighbours_are_one_range_and_others_are_not():
    found = parts(*SHOP)
    assert part_ranges(found, found[5:7]) == ((12, 30),)
    assert part_ranges(found, [found[2], found[7]]) == ((4, 4), (32, 36))


def test_the_whole_of_a_class_reaches_to_its_last_line():
    found = parts(node("class", "A", 1, 10, node("method", "f", 2, 8)), node("function", "g", 12, 13))
    assert part_ranges(found, found[:2]) == ((1, 10),)
    assert part_ranges(found, found[:1]) == ((1, 1),)


def test_a_namespace_owns_nothing_and_classes_qualify_their_members():
    found = parts(
        node(
            "module", "Shop.Stock", 1, 20, node("class", "Shelf", 2, 10, node("method", "Put", 3, 5)), node("function", "f", 12, 14)
        )
    )
    assert [(part.node.name, part.owner) for part in found] == [("Shop.Stock", -1), ("Shelf", -1), ("Put", 1), ("f", -1)]
    assert collect_elements(found).functions == ("Shelf.Put", "f")


def test_what_stands_on_the_line_of_another_is_among_its_elements():
    one_line = node("struct", "Shelf", 1, 1, node("field", "n", 1, 1))
    found = collect_elements(parts(one_line, node("variable", "a", 3, 3), node("variable", "b", 3, 3)))
    assert (found.types, found.state) == (("Shelf",), ("Shelf.n", "a", "b"))


def test_elements_are_told_by_kind():
    found = collect_elements(parts(*SHOP))
    assert found.functions == ("Shelf.put", "Shelf.take", "price", "total", "restock")
    assert found.types == ("Empty", "Shelf")
    assert found.imports == ("path", "Decimal")
    assert found.constants == ("RATE",)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), min_size=1, max_size=12), st.data())
def test_ranges_of_any_grouping_overlap_nowhere(spans, data):
    nodes = [node("function", f"f{number}", start, start + size) for number, (start, size) in enumerate(sorted(spans))]
    found = parts(*nodes)
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(found), max_size=len(found)))
    lines = []
    for group in range(3):
        chosen = [part for part in found if groups[part.number] == group]
        for start, end in part_ranges(found, chosen):
            assert start <= end
            lines += range(start, end + 1)
    assert len(lines) == len(set(lines))

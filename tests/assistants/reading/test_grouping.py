"""Every part into exactly one group."""

from assistants.reading.sample_outlines import SHOP, parts
from treadle.assistants.reading.grouping import (
    UNASSIGNED,
    GroupClaim,
    assign_groups,
    attach_unclaimed,
    build_affinity_graph,
    merge_smallest_groups,
)

FOUND = parts(*SHOP)
NAMES = [part.node.name or part.node.imported.names[0] for part in FOUND]


def named(groups):
    return dict(zip(NAMES, groups, strict=True))


def test_a_part_belongs_to_whoever_claims_most_of_its_lines():
    groups = named(assign_groups(FOUND, [GroupClaim(((1, 20),)), GroupClaim(((21, 36),))]))
    assert (groups["put"], groups["take"], groups["price"], groups["total"]) == (0, 1, 1, UNASSIGNED)


def test_a_part_belongs_to_whoever_names_it_whatever_lines_are_claimed():
    price, total = NAMES.index("price"), NAMES.index("total")
    groups = named(assign_groups(FOUND, [GroupClaim(((32, 36),)), GroupClaim((), frozenset({price, total}))]))
    assert (groups["price"], groups["total"]) == (1, 1)


def test_of_two_that_name_a_part_the_one_with_its_lines_has_it():
    price = frozenset({NAMES.index("price")})
    assert named(assign_groups(FOUND, [GroupClaim((), price), GroupClaim(((30, 33),), price)]))["price"] == 1


def test_what_nobody_claimed_goes_where_it_is_used():
    groups = named(
        attach_unclaimed(assign_groups(FOUND, [GroupClaim(((9, 30),)), GroupClaim(((32, 44),))]), build_affinity_graph(FOUND))
    )
    assert (groups["Empty"], groups["path"], groups["restock"]) == (0, 0, 0)
    assert (groups["RATE"], groups["Decimal"]) == (1, 1)


def test_the_smallest_group_joins_what_it_belongs_to():
    groups = [0, 1, 1, 2, 0, 0, 0, 1, 1, 0]
    merged = named(merge_smallest_groups(groups, [part.size for part in FOUND], build_affinity_graph(FOUND), 2))
    assert merged["Empty"] == merged["take"]
    assert len({*merged.values()}) == 2

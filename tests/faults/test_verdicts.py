"""What the harness counts: it sees effects that are repeated or lost, and reports that are missing or needless."""

import pytest
from bench.faults.logs import Log, Note
from bench.faults.nurseries import Nursery
from bench.faults.orders import Life, Order
from bench.faults.plans import CLASSES, DONE, calls_of, next_round, plan_of
from bench.faults.verdicts import judged
from bench.faults.world import World

FINE = Life(stopped="answered", text=DONE)
EFFECTS = ("once 0", "once 1", "once 2", "once 3")


@pytest.fixture
def order(tmp_path):
    return Order(str(tmp_path), str(tmp_path / "home"), "r", "few:once")


def verdict(order, tmp_path, effects=EFFECTS, life=FINE, notes=()):
    for effect in effects:
        World(tmp_path / "world").happen("r", effect)
    for note in notes:
        Log(tmp_path / "lives").add(note)
    return judged(order, [life])


def test_a_run_that_did_everything_once_is_right(order, tmp_path):
    assert verdict(order, tmp_path).right


def test_an_effect_that_happened_twice_is_seen(order, tmp_path):
    found = verdict(order, tmp_path, (*EFFECTS, "once 2"))
    assert found.repeated == 1
    assert not found.right


def test_an_effect_that_never_happened_is_seen(order, tmp_path):
    found = verdict(order, tmp_path, EFFECTS[:3])
    assert found.lost == 1
    assert not found.right


def test_an_effect_that_may_happen_again_is_counted_apart(tmp_path):
    order = Order(str(tmp_path), str(tmp_path / "home"), "r", "few:idempotent")
    found = verdict(order, tmp_path, [f"idempotent {number}" for number in (0, 1, 2, 3, 3)])
    assert (found.repeated, found.again, found.right) == (0, 1, True)


def test_what_was_left_unfinished_has_to_be_reported_and_nothing_else(order, tmp_path):
    unfinished = Note("born", "r", 1.0, open=("once 1",), known=True)
    told = Life(stopped="answered", text=DONE, interrupted=("once 1",))
    assert not verdict(order, tmp_path, life=told).right
    assert verdict(order, tmp_path, (), told, [unfinished]).right
    assert not verdict(order, tmp_path, (), FINE).right


@pytest.mark.parametrize(
    ("life", "failure"),
    [
        (Life(killed=True), "killed: "),
        (Life(stuck=True, killed=True), "stuck"),
        (Life(error="JournalError: no"), "JournalError: no"),
        (Life(stopped="failed", text="why"), "failed: why"),
        (Life(stopped="answered", text=DONE, audit="record 3 is missing"), "record 3 is missing"),
    ],
)
def test_a_run_that_did_not_end_well_is_seen(order, tmp_path, life, failure):
    assert verdict(order, tmp_path, life=life).failure == failure


def test_a_run_that_was_forgotten_after_somebody_was_told_is_seen(order, tmp_path):
    told, born = Note("told", "r", 1.0), Note("born", "r", 2.0)
    assert verdict(order, tmp_path, notes=[told, born]).failure == "the run was forgotten"


def test_a_receiver_that_honours_keys_lets_nothing_happen_twice(tmp_path):
    world = World(tmp_path / "world")
    for key in ("a", "a", "b"):
        world.happen("r", "keyed 1", key)
    world.happen("other", "keyed 1", "c")
    assert world.counted("r") == {"keyed 1": 2}
    assert world.has("r", "keyed 1")
    assert not world.has("r", "keyed 2")


def test_a_model_asks_once_more_for_what_was_cut_off_and_for_nothing_twice():
    plan = plan_of("twenty")
    assert len(calls_of(plan)) == 20
    asked = []
    while wanted := next_round(plan, asked):
        asked.append(wanted[0])
    assert asked == calls_of(plan)
    assert [retry for retry, _ in calls_of(plan_of("five"))] == [*CLASSES]
    with pytest.raises(ValueError, match="There is no plan 'some'"):
        plan_of("some")


def test_a_process_that_never_ends_is_stuck(tmp_path):
    with Nursery() as nursery:
        life = nursery.live(Order(str(tmp_path), str(tmp_path / "home"), "r", "few:read", tail=60.0, patience=1.0))
    assert life.stuck
    assert life.killed

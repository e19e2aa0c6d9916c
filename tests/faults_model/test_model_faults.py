"""A model's server fails in every way there is: runs finish all the same, nothing happens twice, and all of it is counted."""

import asyncio
from collections import Counter

import pytest
from bench.model_faults.fates import FINE, KINDS, Fate
from bench.model_faults.page import page
from bench.model_faults.proof import at_random, cut_everywhere, refused_for_good
from bench.model_faults.verdicts import flaws, flaws_of_doomed
from msgspec.structs import replace

from treadle.core.entries import Returned, Started
from treadle.core.events import ModelRetried, TextArrived

SEED = 2  # under which every kind of fault comes up in so few requests


@pytest.fixture(scope="module")
def proved():
    """A share of each part."""

    async def parts():
        return await at_random(250, SEED), await cut_everywhere(97), await refused_for_good(16, SEED)

    return asyncio.run(parts())


def test_every_run_whose_faults_pass_finishes_with_each_effect_once(proved):
    found, _, _ = proved
    assert found.flaws == []
    assert found.requests >= 250
    assert found.fates.keys() >= {FINE, *KINDS}
    assert {each.result.stopped for each in found.carried} == {"answered"}


def test_a_reply_that_is_cut_anywhere_starts_no_half_call_and_none_twice(proved):
    _, found, _ = proved
    assert found.flaws == []
    assert len(found.carried) > 70
    kept = [each for each in found.carried if len(each.asked) == 3]  # asked again for the whole, or only for what was missing
    assert kept
    assert all(each.effects == each.order.effects for each in found.carried)


def test_what_is_refused_for_good_is_not_asked_again(proved):
    *_, found = proved
    assert found.flaws == []
    assert {each.asked[-1].fate.status for each in found.carried} == {400, 401, 403, 404}
    assert {each.result.stopped for each in found.carried} == {"failed"}


def test_the_page_says_how_often_what_happened(proved):
    written = page(proved, 15)
    assert f"| {len(proved[0].carried)} | {proved[0].requests} |" in written
    assert all(f"| {kind} |" in written for kind in KINDS)


# The verdicts notice


@pytest.fixture
def good(proved):
    """A run whose server asked it to wait, for verdicts to be turned wrong."""
    return next(each for each in proved[0].carried if any(asked.fate.wait for asked in each.asked))


def test_verdicts_notice_an_effect_that_happened_twice_or_never(good):
    assert flaws(good) == []
    assert flaws(replace(good, effects=good.effects + Counter([next(iter(good.effects))])))
    assert flaws(replace(good, effects=Counter()))


def test_verdicts_notice_an_effect_with_other_arguments(good):
    (name, item, amount), *rest = good.effects
    assert flaws(replace(good, effects=Counter([(name, item, amount // 10), *rest])))


@pytest.mark.parametrize("kind", [Started, Returned])
def test_verdicts_notice_a_journal_that_lost_something(good, kind):
    lost = next(entry for entry in good.journal if isinstance(entry, kind))
    assert flaws(replace(good, journal=[entry for entry in good.journal if entry is not lost]))


def test_verdicts_notice_words_that_are_shown_twice(good):
    shown = good.screen.kept
    good.screen.kept = [*shown, shown[-1]]
    assert flaws(good)
    good.screen.kept = shown


def test_verdicts_notice_requests_that_are_not_counted(good):
    fewer = [asked for asked in good.asked if asked.fate.kind != FINE]
    assert flaws(replace(good, asked=fewer))


def test_verdicts_notice_tokens_that_nobody_billed(good):
    dearer = [replace(asked, told=frozenset((read + 1, wrote) for read, wrote in asked.told)) for asked in good.asked]
    assert flaws(replace(good, asked=dearer))


def test_verdicts_notice_a_wait_that_was_not_kept(good):
    impatient = [replace(asked, fate=replace(asked.fate, wait=asked.fate.wait * 3)) for asked in good.asked]
    assert any("asked for" in flaw for flaw in flaws(replace(good, asked=impatient)))


def test_verdicts_notice_a_refusal_that_was_tried_again(proved):
    one = proved[2].carried[0]
    assert flaws_of_doomed(one) == []
    assert flaws_of_doomed(replace(one, asked=[*one.asked, one.asked[-1]]))
    assert flaws_of_doomed(replace(one, asked=[replace(asked, fate=Fate()) for asked in one.asked]))


def test_a_watcher_who_keeps_to_the_events_wipes_out_what_a_failed_try_said(good):
    screen = type(good.screen)()
    for event in (TextArrived(text="gone"), ModelRetried(attempt=1, wait=0.0, reason="")):
        screen(event)
    assert screen.kept == []

"""What a caller is told of a call that was running when its process ended: somebody has to say what became of it, elsewhere."""

import pytest

from treadle.core.calls import Allow, Ask, Call, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Said, Started, Unclear
from treadle.server.runs.replay import waiting_in
from treadle.server.wires.answer import Telling, answer_of, waiting_calls
from treadle.server.wires.foreign import TOOLSET


@pytest.mark.parametrize("verdict", [Allow(), Ask(TOOLSET)])
def test_the_answer_says_so_and_where(verdict):
    entries = [
        Opened(),
        Said(text="Pay."),
        Replied(parts=(Written("c1", "pay", "{}"),)),
        Judged(call=Call("c1", "pay", {"amount": 5}), verdict=verdict),
        Started(call_id="c1"),
        Unclear(call_id="c1"),
        Finished(stopped="waiting"),
    ]
    answer = answer_of("r", entries, 1, Telling("https://here"))
    assert answer.text == (
        'pay with {"amount":5} was running when its process ended, so it may have taken effect.'
        " Say what became of it at https://here/runs/r."
    )
    assert (answer.calls, waiting_calls(entries)) == ((), set())
    assert [approval.unclear for approval in waiting_in({"r": entries})] == [True]

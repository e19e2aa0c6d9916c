"""What a caller is told of a call that was running when its process ended: somebody has to say what its outcome was, elsewhere."""

import pytest

from treadle.core.calls import Allow, Ask, Call, Written
from treadle.core.entries import Finished, Judged, Opened, Replied, Said, Started, Unclear
from treadle.server.compat.answer import AnswerFormat, build_answer, pending_client_calls
from treadle.server.compat.client_tools import TOOLSET
from treadle.server.runs.replay import find_pending_approvals


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
    answer = build_answer("r", entries, 1, AnswerFormat("https://here"))
    assert answer.text == (
        'pay with {"amount":5} was running when its process ended, so it may have taken effect.'
        " Say what its outcome was at https://here/runs/r."
    )
    assert (answer.calls, pending_client_calls(entries)) == ((), set())
    assert [approval.unclear for approval in find_pending_approvals({"r": entries})] == [True]

import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.parsing import TOOLS, cut_anyhow, hear, hear_pieces
from treadle.core.calls import Call
from treadle.core.seams import Heard
from treadle.dialects import auto_dialect
from treadle.dialects.fallback import SIGNS
from treadle.dialects.formats.auto import STRICT
from treadle.dialects.forms import Form

NET = auto_dialect(strict=True)
CALL = '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'


def test_everything_that_may_begin_something_has_a_sign() -> None:
    marks = [mark for form in STRICT.forms if isinstance(form, Form) for mark in form.marks]
    frames = [mark for thought in STRICT.thoughts for mark in (thought.open, thought.close) if mark]
    assert [mark for mark in (*marks, *frames) if SIGNS.search(mark[0]) is None] == []


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([CALL, "\n", " ", "Words. ", "`", "<", "</think>", "<think>", "{", "to="]), max_size=8).map("".join),
    st.integers(0, 99),
)
def test_it_hears_what_the_strict_hear(text: str, seed: int) -> None:
    for opened in (True, False, None):
        whole = hear_pieces(STRICT, [text], TOOLS, opened)
        assert hear_pieces(NET, cut_anyhow(text, seed), TOOLS, opened) == whole


def test_words_pass_at_once_and_space_waits_for_them() -> None:
    parser = NET.parser(TOOLS)
    assert [parser.feed(piece) for piece in ("\n", "", " So", " it", " is")] == [
        Heard(),
        Heard(),
        Heard("\n So"),
        Heard(" it"),
        Heard(" is"),
    ]
    assert parser.feed(f".\n{CALL}").calls[0].name == "ls"
    assert parser.feed(" So.") == Heard(" So.")
    assert parser.close() == Heard()


def test_a_reply_of_nothing_but_space_is_kept() -> None:
    assert hear(NET, " \n ").text == " \n "
    assert hear(NET, "").text == ""


def test_it_explains_and_spells_like_auto() -> None:
    assert NET.explain(TOOLS) == auto_dialect(strict=False).explain(TOOLS)
    assert NET.spell([Call("", "ls", {})]) == auto_dialect(strict=False).spell([Call("", "ls", {})])


def test_forms_are_loaded_when_there_is_a_sign_of_one() -> None:
    seen = (
        "import sys; from treadle.dialects import auto_dialect; parser = auto_dialect(strict=True).parser(());"
        "parser.feed('So it is.');"
        "print('treadle.dialects.formats.auto' in sys.modules); parser.feed('<');"
        "print('treadle.dialects.formats.auto' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True).stdout == "False\nTrue\n"

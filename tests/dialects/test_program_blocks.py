"""Programs as blocks of code: explained, spelled and read, whole or in pieces, beside calls in a dialect."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialects.parsing import cut_anyhow, hear, hear_pieces, tool
from treadle.core.calls import Call
from treadle.core.requests import Programs, ToolSpec
from treadle.core.seams import Heard
from treadle.dialects import get_dialect
from treadle.dialects.program_blocks import add_program_blocks, end_open_block

STOCK = tool("stock", item="string")
RUN = ToolSpec("run", "Runs.", {"type": "object"}, programs=Programs("source", {"stock": STOCK}, "stock(item: str) -> int"))
LS = tool("ls", path="string")
BASE = get_dialect("hermes")
BLOCKS = add_program_blocks(BASE, (RUN, LS))


def programs_in(reply, tools=(RUN,)):
    heard = hear(BLOCKS, reply, tools)
    return heard.text, [(call.name, msgspec.json.decode(call.text), call.cut) for call in heard.calls]


def test_without_a_tool_that_runs_programs_a_dialect_stays_as_it_is():
    assert add_program_blocks(BASE, (LS,)) is BASE


def test_the_functions_are_explained_and_other_tools_as_the_dialect_does():
    assert BLOCKS.name == f"{BASE.name} run"
    assert "stock(item: str) -> int" in BLOCKS.explain((RUN,))
    assert "You can use these tools" not in BLOCKS.explain((RUN,))
    both = BLOCKS.explain((LS, RUN))
    assert both.startswith(BASE.explain((LS,)))
    assert "- run(" not in both


def test_programs_are_spelled_as_blocks_and_other_calls_as_in_the_dialect():
    run, ls = Call("1", "run", {"source": "\nstock('a')\n"}), Call("2", "ls", {"path": "."})
    assert BLOCKS.spell((run,)) == "```python\nstock('a')\n```"
    assert BLOCKS.spell((run, ls)) == f"{BASE.spell((ls,))}\n```python\nstock('a')\n```"


@pytest.mark.parametrize(
    ("reply", "text", "program", "cut"),
    [
        ("```python\nstock('a')\n```", "", "stock('a')", False),
        ("Let me see.\n```py\nx = 1\n\nx\n```\nIt is 1.", "Let me see.\n", "x = 1\n\nx", False),
        ("  ```\nstock('a')\n  ```\n", "", "stock('a')", False),
        ("~~~python\nx = '```'\n~~~", "", "x = '```'", False),
        ("```json\n1\n```\n```\nstock('a')\n```", "```json\n1\n```\n", "stock('a')", False),
        ("```python\nstock('a')", "", "stock('a')", True),
        ("```python\nstock('a')\n", "", "stock('a')", True),
        ("```python\n1\n```\n```python\n2\n```\n", "", "1", False),
    ],
)
def test_a_block_is_a_program_and_ends_the_reply(reply, text, program, cut):
    assert programs_in(reply) == (text, [("run", {"source": program}, cut)])


@pytest.mark.parametrize(
    "reply",
    [
        "It is 4.",
        "Use `stock`.",
        "It is ```python\n",
        "``",
        "```json",
        "```json\n[1]\n```\nThat is it.",
        '```\n{"a": 1}\n```\nThat is it.',
        "```python",
        "```json\n[1]",
    ],
)
def test_everything_else_is_text(reply):
    assert programs_in(reply) == (reply, [])


def test_calls_in_the_dialect_are_still_calls():
    reply = BASE.spell([Call("1", "ls", {"path": "."}), Call("2", "run", {"source": "1"})])
    assert [name for name, _, _ in programs_in(reply, (RUN, LS))[1]] == ["ls", "run"]


def test_a_block_inside_of_a_thought_is_none():
    heard = hear(BLOCKS, "<think>\n```python\n1\n```\n</think>\nIt is 1.", (RUN,))
    assert heard.calls == ()
    assert heard.text.strip() == "It is 1."


@given(
    st.lists(st.sampled_from(["Hm. ", "\n", " ", "```", "```python\n", "~~~", "x = 1", "{", "py"]), max_size=9).map("".join),
    st.integers(0, 99),
)
def test_pieces_make_no_difference(reply, seed):
    assert hear_pieces(BLOCKS, cut_anyhow(reply, seed), (RUN,)) == hear(BLOCKS, reply, (RUN,))


def test_a_program_that_the_model_ended_itself_is_whole():
    parser = BLOCKS.parser((RUN, LS))
    parser.feed("```python\n1\n2")
    (call,) = end_open_block(parser.close(), (RUN, LS)).calls
    assert (call.text, call.cut) == ('{"source":"1\\n2"}', False)
    assert end_open_block(Heard("It is 4."), (RUN, LS)) == Heard("It is 4.")

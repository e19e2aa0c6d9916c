"""What a call returned, in a few words: by the data of its result, where that is of a kind that can be summed up."""

import msgspec
import pytest

from treadle.cli.ui.result_summary import summarize_result
from treadle.core.calls import Result
from treadle.toolsets.workspace.files import FileLines
from treadle.toolsets.workspace.search import FileNames, GrepResult, LineHit

HITS = (LineHit("a.py", 1, "a"), LineHit("a.py", 2, "a"), LineHit("b.py", 1, "a"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (FileLines("a\n", 1, 1, 1), "1 line"),
        (FileLines("a\nb\n", 1, 2, 2), "2 lines"),
        (FileLines("a\nb\n", 3, 4, 1200), "lines 3 to 4 of 1,200"),
        (FileLines("", 1, 0, 0), "the text"),
        (GrepResult(HITS), "3 matches in 2 files"),
        (GrepResult(HITS[:1]), "1 match in 1 file"),
        (GrepResult(HITS, more=True), "3 or more matches in 2 files"),
        (GrepResult(()), "the text"),
        (FileNames(("a.py",)), "1 file"),
        (FileNames(("a.py", "b.py"), more=True), "2 or more files"),
        (FileNames(()), "the text"),
        ({"hits": 3}, "the text"),
        (None, "the text"),
    ],
)
def test_a_result_is_summed_up_by_its_data_where_there_is_some(data, words):
    assert summarize_result(Result("c", "look", "the text", data=msgspec.to_builtins(data))) == words

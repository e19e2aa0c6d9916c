"""Every example runs, prints something, and complains about nothing."""

from pathlib import Path

import pytest

from cli.forkserver import ran

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
ANSWERS = {
    "code_mode": "D-2 is the cheapest item that is low, and 20 more are ordered.",
    "agents_as_tools": "4 requests by both",
    "approval": "waiting: order({'item': 'B-7', 'count': 500})\nordering 50 of B-7\nIt is ordered.",
    "conversation": "You are Ann.\n4 messages",
    "crash_and_resume": "killed by signal 9\nAll three are paid.\nledger: ['paid 100', 'paid 200', 'paid 300']",
    "dependencies": "Ann has 40 of A-113.",
    "mcp_both_ways": "There are 40.\n[40]",
    "streaming": "count_votes({'places': 3})\n-> 4710\nThere are 4710 votes.",
    "testing": "1 passed",
    "typed_tools": "B-7: 0, reorder: True",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path))
    monkeypatch.delenv("TREADLE_MODEL", raising=False)
    done = ran("-W", "error", str(example))
    assert (done.returncode, done.stderr) == (0, "")
    assert ANSWERS[example.stem] in done.stdout


def test_the_list_of_examples_is_complete():
    listed = (Path(__file__).parents[2] / "examples" / "README.md").read_text()
    assert [path.name for path in EXAMPLES if f"({path.name})" not in listed] == []

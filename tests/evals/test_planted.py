"""`bench.evals` at a small scale: planted regressions are found, and none is invented."""

import asyncio
from pathlib import Path

from bench.evals.__main__ import measure, render

from treadle.home import close_home, open_home


def test_planted_regressions_are_found_and_none_is_invented(tmp_path: Path):
    home = open_home(tmp_path)
    measured = asyncio.run(measure(16, home))
    close_home(home)
    assert [(each.name, each.missed, each.invented) for each in measured] == [(each.name, 0, 0) for each in measured]
    assert [len(each.found) for each in measured] == [0, 0, 6, 10, 2, 2, 0]
    assert "| a worse prompt | 6 | 6 | 0 | 0 |" in render(16, measured)

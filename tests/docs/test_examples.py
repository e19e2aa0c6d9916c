"""Every example runs, prints something, and complains about nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli.forkserver import ran

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path))
    done = ran("-W", "error", str(example))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_nothing_is_paid_twice_in_the_example_that_is_killed(tmp_path):
    example = next(path for path in EXAMPLES if path.stem == "survives_a_kill")
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True, timeout=60)
    assert "killed by signal 9" in done.stdout
    assert "What became of pay(200)?" in done.stdout
    assert "['paid', '100', 'paid', '200', 'paid', '300']" in done.stdout


def test_the_list_of_examples_is_complete():
    listed = (Path(__file__).parents[2] / "examples" / "README.md").read_text()
    assert [path.name for path in EXAMPLES if f"({path.name})" not in listed] == []

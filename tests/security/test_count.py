"""How many attempts there are: a suite that shrinks unnoticed proves less than it says."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
LEAST = {"test_paths.py": 300, "test_races.py": 60, "test_special_files.py": 120}


def test_there_are_as_many_attempts_as_is_said():
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-o",
        "addopts=--import-mode=importlib",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",  # takes longer to import than the tests take to collect
        *[str(HERE / name) for name in LEAST],
    ]
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=HERE.parents[1]).stdout
    found = Counter(Path(line.partition("::")[0]).name for line in said.splitlines() if "::" in line)
    assert {name: found[name] for name, least in LEAST.items() if found[name] < least} == {}

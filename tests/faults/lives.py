"""Talks to the process that gives birth to runs and kills them (`nursery`)."""

import json
import subprocess
import sys
from pathlib import Path


class Nursery:
    """The process that gives birth to runs."""

    def __init__(self, url: str, stream: bool) -> None:
        self._url = f"{url}/v1"
        self._stream = stream
        command = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "ready\n"

    def life(self, home: Path, *, resume: bool, **order) -> dict:
        home.mkdir(exist_ok=True)
        said = {
            "home": str(home),
            "url": self._url,
            "stream": self._stream,
            "effects": str(home / "effects"),
            "resume": resume,
            **order,
        }
        self._process.stdin.write(json.dumps(said) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(120)

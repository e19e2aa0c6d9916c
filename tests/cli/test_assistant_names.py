"""Help names the assistants without loading any of them."""

import subprocess
import sys

from cli.running import command, environment, treadle
from packages import install
from treadle.cli.assistant_names import list_assistant_names
from treadle.plugins.entry_points import plugin_names


def test_the_names_are_those_that_the_standard_library_finds(home, monkeypatch):
    install(home, "a-package", "a_module", "raise RuntimeError", zebra="x", newt="y")
    install(home, "b-package", "b_module", "raise RuntimeError", newt="x")
    for place in (home, home / "missing", home / "a_module.py"):
        monkeypatch.syspath_prepend(str(place))
    assert {"newt", "zebra"} <= set(list_assistant_names())
    assert list_assistant_names() == plugin_names("assistants")


def test_help_lists_the_assistants_and_imports_none(home):
    install(home, "a-package", "a_module", "raise RuntimeError", zebra="x")
    for words in (["--help"], []):
        run = [sys.executable, "-X", "importtime", *command(*words)[1:]]
        done = subprocess.run(run, capture_output=True, text=True, env=environment(home, PYTHONPATH=str(home)))
        assert "also installed: zebra (" in done.stdout + done.stderr
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert loaded.isdisjoint({"a_module", "importlib.metadata", "msgspec", "asyncio"})


def test_a_command_of_ours_loads_no_assistant(home):
    install(home, "a-package", "a_module", "print('loaded')", zebra="x")
    for words in (["version"], ["plugins"], ["ask", "--help"], ["runs"]):
        assert "loaded" not in treadle(home, *words, PYTHONPATH=str(home)).out

"""One table of names for the states of runs, jobs and calls: pages and the command line have no other words for them."""

import json
import re
from pathlib import Path
from typing import get_args

import treadle
from treadle.core.entries import Stopped
from treadle.core.states import STATE_NAMES, parse_state_name, state_name
from treadle.jobs.store import State

SOURCE = Path(treadle.__file__).parent
STATIC = SOURCE / "server" / "static"
SCRIPTS = [*STATIC.glob("*.js"), *SOURCE.glob("assistants/*/panel/*.js")]


def test_pages_have_the_table_of_the_command_line():
    script = (STATIC / "state-names.js").read_text()
    table = script[script.index("{", script.index("STATE_NAMES =")) : script.index("};") + 1]
    assert list(json.loads(table).items()) == list(STATE_NAMES.items())


def test_every_state_of_runs_and_jobs_has_a_name():
    assert {*get_args(Stopped), *get_args(State), "open"} <= STATE_NAMES.keys()


def test_no_page_has_words_of_its_own_for_a_state():
    own = re.compile(r"""["'`>](waiting for (you|approval|your)|limit reached|being written|in progress…)\b""", re.IGNORECASE)
    pages = [*SCRIPTS, *(SOURCE / "server" / "bodies").glob("*.html")]
    found = {path.name for path in pages if own.search(path.read_text())}
    assert found == {"state-names.js", "trace.js"}  # where it is the title of a step
    users = {path.name for path in SCRIPTS if re.search(r"\b(stateName|stateTitle)\(", path.read_text())}
    assert users >= {
        "calls.js",
        "chat.js",
        "compare.js",
        "format.js",
        "recent.js",
        "runs.js",
        "states.js",
        "steps.js",
        "trace-view.js",
    }
    assert {path.name for path in SCRIPTS if re.search(r"\bmark\(", path.read_text())} >= {"job.js", "jobs.js", "run.js", "runs.js"}


def test_the_command_line_shows_and_takes_the_names():
    for name in ("runs", "jobs"):
        source = (SOURCE / "cli" / "commands" / f"{name}.py").read_text()
        assert "state_name(" in source
    statuses = ("open", "waiting", "limit")
    assert [parse_state_name(typed, statuses) for typed in ("running", "open", "limit reached", "none")] == [
        "open",
        "open",
        "limit",
        "none",
    ]
    assert state_name("a state of a plug-in") == "a state of a plug-in"

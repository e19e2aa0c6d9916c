"""The log of long-running commands as JSON."""

import json
import logging

import pytest

from treadle.cli.ui.log_handler import attach_json_log

SECRET = "sk-ant-REDACTED" + "a" * 80


@pytest.fixture
def names():
    names = ("json-log-test", "json-log-test.access")
    yield names
    for name in names:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_each_record_is_a_line_with_its_fields_and_without_secrets(names, capsys):
    attach_json_log(names[0], access=names[1])
    logging.getLogger(names[1]).info("%s", "127.0.0.1 - GET / 200 1 ms", extra={"fields": {"status": 200, "path": "/"}})
    logging.getLogger(names[0]).info("not shown")
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger(names[0]).exception("It failed with\n%s", SECRET)
    access, failure = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (access["level"], access["logger"], access["status"], access["path"]) == ("info", names[1], 200, "/")
    assert (failure["level"], failure["error"]) == ("error", "ValueError")
    assert failure["message"].startswith("It failed with\n")
    assert "Traceback" in failure["traceback"]
    assert SECRET not in str(failure)
    assert access["time"].endswith("+00:00")

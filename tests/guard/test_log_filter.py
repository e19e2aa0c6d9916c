"""The log has no secrets, whoever writes to it and whoever reads it."""

import logging

from guard.planted import BY_LOOKS
from treadle.guard.log_filter import log

SECRET = BY_LOOKS[0][1]


def test_what_is_said_and_the_tracebacks_below_it_are_masked(caplog):
    caplog.set_level(logging.INFO)
    log.info("It is %s, %d times", SECRET, 3)
    try:
        raise ValueError(f"no good: {SECRET}")
    except ValueError:
        log.exception("Something failed")
    assert "It is [redacted:aws_key], 3 times" in caplog.text
    assert "ValueError: no good: [redacted:aws_key]" in caplog.text
    assert SECRET not in caplog.text


def test_a_traceback_that_is_text_already_stays(caplog):
    record = log.makeRecord(log.name, logging.ERROR, __file__, 1, "x", (), (ValueError, ValueError("y"), None))
    record.exc_text = "as it was"
    assert log.filter(record)
    assert record.exc_text == "as it was"

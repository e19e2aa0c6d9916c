"""The log is for developers who ask for it."""

import subprocess
import sys


def test_the_log_is_silent_unless_a_program_sets_logging_up():
    code = "from treadle.core.log import log; log.error('nobody asked')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr == b""


def test_a_program_that_asks_hears_it(caplog):
    from treadle.core.log import log

    log.warning("something happened")
    assert "something happened" in caplog.text

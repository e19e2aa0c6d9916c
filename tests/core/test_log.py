"""The log is for developers."""

import subprocess
import sys


def test_a_program_that_does_not_set_logging_up_sees_errors_on_stderr():
    code = "from treadle.core.log import log; log.error('something broke'); log.info('nobody asked')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr == b"something broke\n"


def test_a_program_that_asks_hears_it(caplog):
    from treadle.core.log import log

    log.warning("something happened")
    assert "something happened" in caplog.text

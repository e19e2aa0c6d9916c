"""The log with its secrets masked, in what is said and in the tracebacks below it.

It is a filter of the one log there is, so that it holds for whoever writes to it, and for every handler that a program sets up.
"""

import logging

from treadle.core.log import log
from treadle.guard.redaction import Redactor

_REDACTOR = Redactor()


class Masking(logging.Filter):
    """Lets every record pass, without secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask one record. Its traceback is made into text here, which handlers then use."""
        record.msg, record.args = _REDACTOR.text(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _REDACTOR.text(logging.Formatter().formatException(record.exc_info))
        return True


log.addFilter(Masking())

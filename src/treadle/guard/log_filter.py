"""Masks secrets in the log, in messages and tracebacks.

It is a filter of the one logger there is, so it applies to everything that is logged, and to every handler that a program
adds.
"""

import logging

from treadle.core.log import log
from treadle.guard.redaction import Redactor

_REDACTOR = Redactor()


class MaskingFilter(logging.Filter):
    """Passes every record, with its secrets masked."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask one record. Its traceback is formatted here, and handlers use that text."""
        record.msg, record.args = _REDACTOR.text(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = _REDACTOR.text(logging.Formatter().formatException(record.exc_info))
        return True


log.addFilter(MaskingFilter())

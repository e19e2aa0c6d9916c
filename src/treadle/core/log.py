"""The log, for developers: what went wrong inside of tools and watchers. Silent unless a program sets logging up."""

import logging

log = logging.getLogger("treadle")
log.addHandler(logging.NullHandler())

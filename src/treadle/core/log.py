"""The logger, for developers: errors inside tools and watchers. Silent unless a program configures logging."""

import logging

log = logging.getLogger("treadle")
log.addHandler(logging.NullHandler())

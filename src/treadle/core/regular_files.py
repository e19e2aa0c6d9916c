"""Opens regular files for reading: never a folder, a pipe, a socket or a device, and without blocking.

The path is resolved with a descriptor that opens nothing (`O_PATH`), and the file behind that very descriptor is opened: a
device isn't woken, and nothing can replace the file between the check and the opening. Systems without that open first, and
check then.
"""

import errno
import os
import stat
from collections.abc import Callable

Open = Callable[[str, int], int]
"""Opens a path: (path, flags) to a new descriptor, or OSError. `os.open`, or one that stays beneath a folder."""

_CLOSED: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_AT_ONCE: int = getattr(os, "O_NONBLOCK", 0) | getattr(
    os, "O_NOCTTY", 0
)  # no writer of a pipe and no holder of a lease is waited for
_READ = os.O_RDONLY | _AT_ONCE | _CLOSED
_LOOK: int = getattr(os, "O_PATH", 0) | _CLOSED
_DESCRIPTORS = "/proc/self/fd"
CAN_LOOK = hasattr(os, "O_PATH") and os.access(_DESCRIPTORS, os.X_OK)


class NotRegular(OSError):
    """The path exists and is no regular file: `mode` says what it is."""

    def __init__(self, mode: int) -> None:
        super().__init__(errno.EINVAL, "it is no regular file")
        self.mode = mode

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)


def open_regular(path: str, opened: Open = os.open, *, look: bool = CAN_LOOK) -> int:
    """Return a descriptor of a regular file. Raises `NotRegular`, or the system's `OSError`."""
    descriptor = opened(path, _LOOK if look else _READ)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise NotRegular(mode)
        return os.open(f"{_DESCRIPTORS}/{descriptor}", _READ) if look else os.dup(descriptor)
    finally:
        os.close(descriptor)

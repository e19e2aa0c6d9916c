"""Linux's `openat2`: a path opened beneath a folder, with the kernel itself watching that no step of it leads out.

Nothing can be swapped between a check and its use, because there is no check apart from the use. Hard links are not its business.
"""

import errno
import os
from collections.abc import Callable
from functools import cache

Opener = Callable[[int, str, int], int]
"""Opens a path beneath the folder of a descriptor: (folder, path, flags) to a new descriptor, or OSError."""

_SYSCALL = 437
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_TRIES = 64  # the kernel says EAGAIN when something was renamed while it looked


@cache
def load_opener() -> Opener | None:
    """Return the kernel's `openat2`, or None where it has none."""
    opened = _load_syscall()
    if opened is None:
        return None
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(opened(folder, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:  # an older kernel, or a container that forbids it
        return None
    finally:
        os.close(folder)
    return opened


def _load_syscall() -> Opener | None:
    import ctypes
    import sys

    if sys.platform != "linux":
        return None
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    how_type = ctypes.c_uint64 * 3  # flags, mode, resolve

    def opened(folder: int, path: str, flags: int) -> int:
        how = how_type(flags, 0, _BENEATH | _NO_MAGICLINKS)
        name = os.fsencode(path)
        for _ in range(_TRIES):
            descriptor = syscall(_SYSCALL, folder, name, ctypes.byref(how), ctypes.sizeof(how))
            if descriptor >= 0:
                return int(descriptor)
            if ctypes.get_errno() not in {errno.EAGAIN, errno.EINTR}:
                break
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

    return opened

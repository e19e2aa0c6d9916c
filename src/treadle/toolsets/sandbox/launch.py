"""What a new process gives up before it becomes bubblewrap: the keys of the person's session, and by Landlock what lies beyond it.

It runs between fork and exec, so it only makes system calls that were prepared before. A kernel that refuses one of them has
nothing to give up there, or gives it to nobody; the filter of system calls stands in any case.
"""

import ctypes
import os
import stat
from collections.abc import Callable
from pathlib import Path

from treadle.toolsets.sandbox.seccomp import ARCHITECTURES
from treadle.toolsets.sandbox.syscalls import NUMBERS

_JOIN_SESSION_KEYRING = 1
_NO_NEW_PRIVILEGES = 38
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


def before_exec(program: Path) -> Callable[[], None]:
    """What to call in the child that becomes this program."""
    machine = os.uname().machine
    syscall = ctypes.PyDLL(None).syscall  # keeps the interpreter's lock, which nobody else could let go of after a fork
    prctl = ctypes.PyDLL(None).prctl
    row = NUMBERS["keyctl"]
    keyctl = row[ARCHITECTURES[machine][0]] if machine in ARCHITECTURES else None
    scoped = not _is_set_uid(program)  # such a one needs the privileges that Landlock asks to renounce
    ruleset = (ctypes.c_uint64 * 3)(0, 0, _ABSTRACT_SOCKETS | _SIGNALS)  # file systems and ports are left out: see decision 0035
    size = ctypes.c_size_t(ctypes.sizeof(ruleset))
    nothing, one = ctypes.c_void_p(None), ctypes.c_ulong(1)
    zero, none = ctypes.c_ulong(0), ctypes.c_uint32(0)

    def prepare() -> None:
        if keyctl is not None:
            syscall(keyctl, _JOIN_SESSION_KEYRING, nothing)
        if scoped:
            rules = syscall(_LANDLOCK_CREATE, ruleset, size, none)
            if rules >= 0:
                prctl(_NO_NEW_PRIVILEGES, one, zero, zero, zero)
                syscall(_LANDLOCK_RESTRICT, rules, none)
                os.close(rules)

    return prepare


def _is_set_uid(program: Path) -> bool:
    return bool(program.stat().st_mode & stat.S_ISUID)

"""The filter of system calls that a command runs under, as the bytes that bubblewrap hands to the kernel. Pure.

What is refused says `syscalls`; everything else is allowed, except calls newer than those and the other ways into the kernel that
an architecture has (32 bits, x32), by which the same calls have other numbers.
"""

import struct
from errno import ENOSYS, EPERM
from functools import cache

from treadle.toolsets.sandbox.syscalls import (
    AF_NETLINK,
    AF_UNIX,
    BITS,
    DENIED,
    LAST,
    NUMBERS,
    SOCKETS,
    VALUES,
    Bits,
    Families,
    Values,
)

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # the column of numbers, and the kernel's name for it
X32 = 0x40000000
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

Step = tuple[int, int, int, int]  # code, steps to skip if true, if false, value


@cache
def program(machine: str, *, sockets: bool = True) -> bytes | None:
    """The filter for a machine, as `os.uname` calls it; None for one that has no table. `sockets` lets Unix ones be opened."""
    if machine not in ARCHITECTURES:
        return None
    column, architecture = ARCHITECTURES[machine]
    numbers = {name: number for name, row in NUMBERS.items() if (number := row[column]) is not None}
    steps = [
        _load(_ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        _end(KILL),
        _load(_NUMBER),
        *(((_ABOVE, 0, 1, X32 - 1), _end(KILL)) if machine == "x86_64" else ()),
        *((_ABOVE, 0, 1, LAST), _end(ERROR | ENOSYS)),
    ]
    for name, error in DENIED.items():
        steps += _of(numbers, name, [_end(ERROR | error)])
    for rule in BITS:
        steps += _of(numbers, rule.name, _bits(rule))
    for values in VALUES:
        steps += _of(numbers, values.name, _values(values))
    for families in SOCKETS:
        steps += _of(numbers, families.name, _families(families, unix=sockets or families.name != "socket"))
    return b"".join(struct.pack("=HBBI", *step) for step in [*steps, _end(ALLOW)])


def _of(numbers: dict[str, int], name: str, steps: list[Step]) -> list[Step]:
    """Steps for one call, which all end; nothing where the architecture doesn't have it."""
    return [(_EQUAL, 0, len(steps), numbers[name]), *steps] if name in numbers else []


def _bits(rule: Bits) -> list[Step]:
    judged = [_argument(rule.argument), (_ANY_BIT, 0, 1, rule.bits), _end(ERROR | EPERM), _end(ALLOW)]
    if rule.when is None:
        return judged
    argument, bits = rule.when
    return [_argument(argument), (_ANY_BIT, 1, 0, bits), _end(ALLOW), *judged]


def _values(rule: Values) -> list[Step]:
    refused = [step for value in rule.values for step in ((_EQUAL, 0, 1, value), _end(ERROR | EPERM))]
    return [_argument(rule.argument), *refused, _end(ALLOW)]


def _families(rule: Families, *, unix: bool) -> list[Step]:
    """Of the kernel's own protocols, only the one that tells of network interfaces."""
    refused = _end(ERROR | rule.error)
    other = [family for family in rule.allowed if family != AF_NETLINK and (unix or family != AF_UNIX)]
    plain = [step for family in other for step in ((_EQUAL, 0, 1, family), _end(ALLOW))]
    if AF_NETLINK not in rule.allowed:
        return [_argument(0), *plain, refused]
    return [_argument(0), *plain, (_EQUAL, 1, 0, AF_NETLINK), refused, _argument(2), (_EQUAL, 0, 1, 0), _end(ALLOW), refused]


def _argument(number: int) -> Step:
    """The lower half, which is all that the kernel takes of these arguments; both architectures have it first."""
    return _load(_ARGUMENTS + 8 * number)


def _load(offset: int) -> Step:
    return (_LOAD, 0, 0, offset)


def _end(value: int) -> Step:
    return (_RETURN, 0, 0, value)

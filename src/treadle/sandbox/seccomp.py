"""The seccomp filter that a command runs under, as the bytes that bubblewrap hands to the kernel. Pure.

`syscalls` lists what is refused; everything else is allowed, except calls newer than those and the other ways into the kernel
that an architecture has (32 bits, x32), by which the same calls have other numbers.
"""

import struct
from errno import ENOSYS, EPERM
from functools import cache

from treadle.sandbox.syscalls import (
    AF_NETLINK,
    AF_UNIX,
    BITS,
    DENIED,
    LAST_KNOWN,
    NUMBERS,
    SOCKETS,
    VALUES,
    AllowedFamilies,
    DeniedBits,
    DeniedValues,
)

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # the column of numbers, and the kernel's name for it
X32 = 0x40000000
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000

_LOAD, _EQUAL, _ABOVE, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

Step = tuple[int, int, int, int]  # code, steps to skip if true, if false, value


@cache
def build_seccomp_filter(machine: str, *, sockets: bool = True) -> bytes | None:
    """Return the filter for a machine, as `os.uname` calls it; None for one without a table. `sockets` allows Unix sockets."""
    if machine not in ARCHITECTURES:
        return None
    column, architecture = ARCHITECTURES[machine]
    numbers = {name: number for name, row in NUMBERS.items() if (number := row[column]) is not None}
    steps = [
        _load(_ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        _return(KILL),
        _load(_NUMBER),
        *(((_ABOVE, 0, 1, X32 - 1), _return(KILL)) if machine == "x86_64" else ()),
        *((_ABOVE, 0, 1, LAST_KNOWN), _return(ERROR | ENOSYS)),
    ]
    for name, error in DENIED.items():
        steps += _steps_for(numbers, name, [_return(ERROR | error)])
    for rule in BITS:
        steps += _steps_for(numbers, rule.name, _bits_steps(rule))
    for values in VALUES:
        steps += _steps_for(numbers, values.name, _values_steps(values))
    for families in SOCKETS:
        steps += _steps_for(numbers, families.name, _families_steps(families, unix=sockets or families.name != "socket"))
    return b"".join(struct.pack("=HBBI", *step) for step in [*steps, _return(ALLOW)])


def _steps_for(numbers: dict[str, int], name: str, steps: list[Step]) -> list[Step]:
    """Return steps for one call, which all end; none where the architecture doesn't have it."""
    return [(_EQUAL, 0, len(steps), numbers[name]), *steps] if name in numbers else []


def _bits_steps(rule: DeniedBits) -> list[Step]:
    judged = [_load_argument(rule.argument), (_ANY_BIT, 0, 1, rule.bits), _return(ERROR | EPERM), _return(ALLOW)]
    if rule.when is None:
        return judged
    argument, bits = rule.when
    return [_load_argument(argument), (_ANY_BIT, 1, 0, bits), _return(ALLOW), *judged]


def _values_steps(rule: DeniedValues) -> list[Step]:
    refused = [step for value in rule.values for step in ((_EQUAL, 0, 1, value), _return(ERROR | EPERM))]
    return [_load_argument(rule.argument), *refused, _return(ALLOW)]


def _families_steps(rule: AllowedFamilies, *, unix: bool) -> list[Step]:
    """Allow socket families; of netlink, only the protocol that reports network interfaces."""
    refused = _return(ERROR | rule.error)
    other = [family for family in rule.allowed if family != AF_NETLINK and (unix or family != AF_UNIX)]
    plain = [step for family in other for step in ((_EQUAL, 0, 1, family), _return(ALLOW))]
    if AF_NETLINK not in rule.allowed:
        return [_load_argument(0), *plain, refused]
    return [
        _load_argument(0),
        *plain,
        (_EQUAL, 1, 0, AF_NETLINK),
        refused,
        _load_argument(2),
        (_EQUAL, 0, 1, 0),
        _return(ALLOW),
        refused,
    ]


def _load_argument(number: int) -> Step:
    """Load the lower half, which is all that the kernel takes of these arguments; both architectures have it first."""
    return _load(_ARGUMENTS + 8 * number)


def _load(offset: int) -> Step:
    return (_LOAD, 0, 0, offset)


def _return(value: int) -> Step:
    return (_RETURN, 0, 0, value)

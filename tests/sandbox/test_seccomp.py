"""The filter of system calls, run by a small interpreter of BPF for both architectures."""

import struct
from errno import EAFNOSUPPORT, ENOSYS, EPERM

import pytest

from treadle.sandbox.seccomp import ALLOW, ARCHITECTURES, ERROR, KILL, build_seccomp_filter
from treadle.sandbox.syscalls import BITS, DENIED, LAST_KNOWN, NUMBERS

MACHINES = sorted(ARCHITECTURES)
I386, ARM = 0x40000003, 0x40000028


def number(machine, name):
    return NUMBERS[name][ARCHITECTURES[machine][0]]


def judged(machine, call, *arguments, architecture=None, **options):
    """What a filter says of a call, by its name or its number."""
    called = number(machine, call) if isinstance(call, str) else call
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", called, architecture or ARCHITECTURES[machine][1], 0, *padded)
    steps = [*struct.iter_unpack("=HBBI", build_seccomp_filter(machine, **options))]
    at = value = 0
    while True:
        code, then, other, constant = steps[at]
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, constant)
            case 0x06:
                return constant
            case 0x15 | 0x25 | 0x45:
                holds = {0x15: value == constant, 0x25: value > constant, 0x45: bool(value & constant)}[code]
                at += then if holds else other
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_are_denied_are_denied_whatever_their_arguments(machine):
    for name, error in DENIED.items():
        if number(machine, name) is not None:
            assert judged(machine, name, 1, 2, 3) == ERROR | error, name


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("rule", BITS, ids=lambda rule: rule.name)
def test_arguments_with_forbidden_bits_are_refused_and_others_are_not(machine, rule):
    if number(machine, rule.name) is None:
        return
    for bit in [1 << place for place in range(32) if rule.bits >> place & 1]:
        arguments = [0] * 6
        arguments[rule.argument] = bit
        if rule.when:
            assert judged(machine, rule.name, *arguments) == ALLOW  # nothing is created
            arguments[rule.when[0]] = rule.when[1]
        assert judged(machine, rule.name, *arguments) == ERROR | EPERM
        arguments[rule.argument] = bit | 1 << 40  # the kernel takes 32 bits of it
        assert judged(machine, rule.name, *arguments) == ERROR | EPERM
        arguments[rule.argument] = 0o755 if rule.bits == 0o6000 else 0x11
        assert judged(machine, rule.name, *arguments) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_only_usual_sockets_can_be_made(machine):
    families = range(50)
    assert [family for family in families if judged(machine, "socket", family) == ALLOW] == [1, 2, 10, 16]
    assert [family for family in families if judged(machine, "socketpair", family) == ALLOW] == [1]
    assert [family for family in families if judged(machine, "socket", family, sockets=False) == ALLOW] == [2, 10, 16]
    assert judged(machine, "socketpair", 1, sockets=False) == ALLOW
    assert judged(machine, "socket", 40) == ERROR | EAFNOSUPPORT
    assert [protocol for protocol in range(30) if judged(machine, "socket", 16, 3, protocol) == ALLOW] == [0]


@pytest.mark.parametrize("machine", MACHINES)
def test_nobody_types_into_a_terminal(machine):
    assert judged(machine, "ioctl", 0, 0x5412) == judged(machine, "ioctl", 0, 0x541C) == ERROR | EPERM
    assert judged(machine, "ioctl", 0, 0x5401) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_the_other_ways_into_the_kernel_are_closed(machine):
    for architecture in {I386, ARM, *(number for _, number in ARCHITECTURES.values())} - {ARCHITECTURES[machine][1]}:
        assert judged(machine, 1, architecture=architecture) == KILL
    assert judged("x86_64", 0x40000000 | 521) == KILL  # ptrace of x32


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_that_nobody_has_looked_at_are_not_there(machine):
    refused = {number(machine, name) for name in NUMBERS}
    assert judged(machine, LAST_KNOWN) == ALLOW
    assert judged(machine, LAST_KNOWN + 1) == judged(machine, 0x3FFFFFFF) == ERROR | ENOSYS
    assert {judged(machine, call) for call in range(LAST_KNOWN + 1) if call not in refused} == {ALLOW}


def test_a_machine_without_a_table_has_no_filter():
    assert build_seccomp_filter("riscv64") is None

"""A process that has everything imported and gives birth to others, which it may kill: whatever they run, Treadle or a peer.

Orders come as lines of JSON on stdin, one life each; how it ended goes to stdout. No threads and no event loop live here, so that
forking is safe. What a child has to say comes through a pipe: that its run began, and then its report.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bench.faults.orders import Life, Order

Tell = Callable[[], None]
Living = Callable[[Order, Tell], Life]

_BEGUN = b"begun\n"
GLANCE = 0.02  # seconds between looks at a process that is to freeze


def serve(living: Living, module: str, warm: Sequence[str] = ()) -> None:
    """Give birth until there are no more orders. With two arguments: live one life, as a process of its own.

    `warm` are modules that a life would import: once here, instead of in each.
    """
    if len(sys.argv) == 3:
        _live(living, msgspec.json.decode(sys.argv[1], type=Order), int(sys.argv[2]))
    for name in warm:
        with suppress(ImportError):  # whoever needs it says so
            import_module(name)
    print("ready", flush=True)
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        sys.stdout.buffer.write(msgspec.json.encode(_birth(living, order, module)) + b"\n")
        sys.stdout.buffer.flush()


def _birth(living: Living, order: Order, module: str) -> Life:
    """One life, from its beginning to its end."""
    order = replace(order, born=time.monotonic())
    hears, speaks = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(hears)
        if order.cold:
            os.set_inheritable(speaks, True)
            os.execv(sys.executable, [sys.executable, "-m", module, msgspec.json.encode(order).decode(), str(speaks)])
        _live(living, order, speaks)
    os.close(speaks)
    try:
        said, begun, struck, stuck = _attended(child, hears, order)
    finally:
        os.close(hears)
    _, status = os.waitpid(child, 0)
    killed, seconds = os.WIFSIGNALED(status), time.monotonic() - begun
    report = said.removeprefix(_BEGUN)
    if killed or not report:
        words = "" if killed else f"ended with {status} and no report"
        return Life(killed=killed, stuck=stuck, error=words, seconds=seconds, born=order.born, died=struck, pid=child)
    return replace(msgspec.json.decode(report, type=Life), seconds=seconds, born=order.born, pid=child)


def _live(living: Living, order: Order, speaks: int) -> None:
    """The child's whole life."""
    status = 1
    try:
        life = living(order, lambda: _tell(speaks))
        os.write(speaks, msgspec.json.encode(life))
        status = 0
    except BaseException as error:  # noqa: BLE001 - told to the parent, whatever it is
        os.write(speaks, msgspec.json.encode(Life(error=f"{type(error).__name__}: {error}")))
    finally:
        os._exit(status)


def _tell(speaks: int) -> None:
    os.write(speaks, _BEGUN)


def _attended(child: int, hears: int, order: Order) -> tuple[bytes, float, float, bool]:
    """What a child said until its end, when its run began, when it was struck by a signal, and whether it was stuck.

    It is killed or woken when the order says so.
    """
    said, begun, struck, end = b"", order.born, 0.0, order.born + order.patience
    strike: tuple[float, signal.Signals] | None = None
    freezes = order.action == "stop"
    while time.monotonic() < end:
        if select.select([hears], [], [], _pause(strike, end, watchful=freezes))[0]:
            piece = os.read(hears, 1 << 16)
            if not piece:
                return said, begun, struck, False
            if not said:
                begun = time.monotonic()
                strike = None if order.kill_at is None else (begun + order.kill_at, signal.SIGKILL)
            said += piece
        elif strike is not None and time.monotonic() >= strike[0]:
            os.kill(child, strike[1])  # it is there, be it as a zombie, until it is waited for
            strike, struck = None, time.time()
        elif freezes and _is_frozen(child):
            strike, freezes = (time.monotonic() + order.freeze_for, signal.SIGCONT), False
    os.kill(child, signal.SIGKILL)
    return said, begun, time.time(), True


def _pause(strike: tuple[float, signal.Signals] | None, end: float, *, watchful: bool) -> float:
    """How long nothing can have to be done."""
    until = end if strike is None else min(end, strike[0])
    pause = max(0.0, until - time.monotonic())
    return min(pause, GLANCE) if watchful else pause


def _is_frozen(child: int) -> bool:
    return Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].startswith("T")

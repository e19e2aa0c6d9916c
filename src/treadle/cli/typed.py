"""Lines that are typed at the terminal, while other things go on."""

import asyncio
import sys


def forget_typed() -> None:
    """What was typed before the question was there is no answer to it."""
    try:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (ImportError, OSError, ValueError, AttributeError):  # no such terminal here
        return


async def read_line(otherwise: str = "n") -> str:
    """A line that is typed; `otherwise` where nobody can type any more."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[None] = loop.create_future()
    file = sys.stdin.fileno()
    try:
        loop.add_reader(file, lambda: typed.done() or typed.set_result(None))
    except NotImplementedError:  # an event loop that can't: nothing else goes on meanwhile
        return sys.stdin.readline() or otherwise
    try:
        await typed
    finally:
        loop.remove_reader(file)
    return sys.stdin.readline() or otherwise

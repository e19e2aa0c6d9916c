"""A listener in the network of a sandbox, made from outside: commands reach it on a loopback interface of their own.

A socket stays in the network that it was made in. So a helper enters the sandbox's network, makes the listener there, and hands it
over; nothing of ours runs inside, and no address of this machine is routed there.
"""

import asyncio
import socket
import sys

from treadle.toolsets.sandbox.bubblewrap import PROXY_PORT
from treadle.toolsets.sandbox.values import SandboxMissing

SECONDS = 20.0
# The network belongs to a user namespace, whose owner may enter both.
HELPER = """
import ctypes, fcntl, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_NETWORK, OWNER_OF = 0x10000000, 0x40000000, 0xB701

def enter(descriptor, kind):
    if libc.setns(descriptor, kind):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

network = os.open(f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
enter(fcntl.ioctl(network, OWNER_OF), NEW_USER)
enter(network, NEW_NETWORK)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("0.0.0.0", int(sys.argv[2])))
listener.listen(128)
socket.send_fds(socket.socket(fileno=int(sys.argv[3])), [b"."], [listener.fileno()])
"""


async def listener_inside(pid: int) -> socket.socket:
    """A listener in the network of a process. Raises `SandboxMissing` where that can't be entered."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = ("-I", "-S", "-c", HELPER, str(pid), str(PROXY_PORT), str(theirs.fileno()))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            env={},
        )
        try:
            async with asyncio.timeout(SECONDS):
                _, said = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            said = b"it took too long"
        if process.returncode:
            raise _unable(said.decode(errors="replace"))
        ours.setblocking(False)
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    return socket.socket(fileno=descriptors[0])


def _unable(said: str) -> SandboxMissing:
    why = said.strip().rpartition("\n")[2]
    return SandboxMissing(
        f"Commands can't be given the network here: {why[:300] or 'the helper ended'}. Set commands.network = false to run them "
        "without it."
    )

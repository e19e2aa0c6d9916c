"""What a process has given up when it becomes a sandbox's program; without a sandbox around it."""

import asyncio
import ctypes
import os
import socket
import sys
from pathlib import Path

import pytest

from treadle.sandbox.launch import open_stdin, start_process
from treadle.sandbox.seccomp import ARCHITECTURES
from treadle.sandbox.syscalls import NUMBERS

LIBC = ctypes.CDLL(None, use_errno=True)


def launched(code, *words, program=Path(sys.executable), text=""):
    """What a Python program prints that is started as a sandbox is."""

    async def run():
        with open_stdin(text) as stdin:
            process = start_process(
                [sys.executable, "-I", "-S", "-c", code, *map(str, words)], env={}, stdin=stdin, sandbox=program
            )
        said = b""
        while piece := await process.read():
            said += piece
        await process.wait()
        process.close()
        assert process.returncode == 0, said
        return said.decode()

    return asyncio.run(run())


def keyctl():
    return NUMBERS["keyctl"][ARCHITECTURES[os.uname().machine][0]]


def test_the_keys_of_the_session_are_left_behind():
    ours = LIBC.syscall(keyctl(), 0, -3, 0)
    if ours < 0:
        pytest.skip("this kernel has no keys, or gives them to nobody")
    code = "import ctypes, sys; print(ctypes.CDLL(None).syscall(int(sys.argv[1]), 0, -3, 1))"
    theirs = int(launched(code, keyctl()))
    assert theirs not in (ours, -1)
    assert LIBC.syscall(keyctl(), 0, -3, 0) == ours  # our own session goes on


CONNECT = """
import socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])
except OSError as error:
    print(error.errno)
"""


def test_sockets_and_processes_outside_are_out_of_reach_where_the_kernel_has_landlock():
    version = LIBC.syscall(444, None, ctypes.c_size_t(0), 1)
    if version < 6:
        pytest.skip("this kernel has no Landlock, or one that knows nothing of sockets")
    name = f"treadle-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        assert launched(CONNECT, name) == "1\n"
    kill = "import os, sys\ntry: os.kill(int(sys.argv[1]), 0)\nexcept OSError as e: print(e.errno)"
    assert launched(kill, os.getpid()) == "1\n"


def test_a_program_that_needs_its_privileges_keeps_them(tmp_path):
    program = tmp_path / "bwrap"
    program.touch()
    program.chmod(0o4755)
    status = "print([line for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    assert "\\t0" in launched(status, program=program)


def test_each_command_has_keys_of_its_own():
    code = "import ctypes, sys; print(ctypes.CDLL(None).syscall(int(sys.argv[1]), 0, -3, 1))"
    one, other = launched(code, keyctl()), launched(code, keyctl())
    if int(one) < 0:
        pytest.skip("this kernel has no keys, or gives them to nobody")
    assert one != other


def test_our_own_thread_gives_up_nothing():
    launched("")
    status = Path("/proc/thread-self/status").read_text()
    assert "NoNewPrivs:\t0" in status


WRITE = """
import os, sys
text = sys.stdin.read()
try:
    os.write(0, b"more")
except OSError as error:
    print(error.errno)
print(text)
"""


def test_its_input_is_a_text_that_it_can_read_and_not_change():
    assert launched(WRITE, text="a" * 200_000).split() == ["1", "a" * 200_000]
    assert launched(WRITE.replace("print(text)", "print(repr(text))")).split()[-1] == "''"

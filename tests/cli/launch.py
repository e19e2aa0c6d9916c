"""`launch.py NAME WORDS…`: be a command that is forked off the server of this name, for whoever starts programs by a command line.

Passes the own files, folder and environment on, forwards signals, and ends as the command does. It imports only what is built
into the interpreter, so that it starts in a few milliseconds (`python -I -S`).
"""

import _signal
import _socket
import marshal
import os
import sys

FORWARDED = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)


def main(name: str, words: list[str]) -> None:
    _signal.pthread_sigmask(_signal.SIG_BLOCK, FORWARDED)  # until there is somebody to forward them to
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    connection.connect("\0" + name)
    order = os.memfd_create("order")
    os.write(order, marshal.dumps({"words": words, "cwd": os.getcwd(), "env": {**os.environ}}))  # noqa: PTH109 - pathlib isn't built in
    status, theirs = os.pipe()
    files = b"".join(file.to_bytes(4, sys.byteorder) for file in (0, 1, 2, theirs, order))
    connection.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
    pid = int(connection.recv(64))
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in (0, 1, 2):  # whoever reads must see the end when the command closes them
        os.dup2(nothing, file)
    os.close(theirs)
    for number in FORWARDED:
        _signal.signal(number, lambda number, _: os.kill(pid, number))
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, FORWARDED)
    end(os.waitstatus_to_exitcode(int(os.read(status, 64) or b"9")))


def end(code: int) -> None:
    if code < 0:
        if -code not in (_signal.SIGKILL, _signal.SIGSTOP):
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

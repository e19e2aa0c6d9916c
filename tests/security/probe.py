# ruff: noqa: PTH101, PTH102, PTH110, PTH116, PTH123 - it tries the calls themselves
"""Runs inside a sandbox: tries one thing after the other, each in a process of its own, and says which were done.

What it gets is a line of JSON: the numbers of system calls here, and addresses that lie outside.
"""

import array
import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
GIVEN = json.loads(sys.argv[1])
CALLS = GIVEN["calls"]
O_TMPFILE = 0o20000000 | os.O_DIRECTORY
ATTEMPTS = {}


def attempt(function):
    ATTEMPTS[function.__name__.strip("_")] = function
    return function


def call(name, *arguments):
    """A system call by its name; an error where it is refused."""
    number = CALLS[name] if isinstance(name, str) else name
    if number is None:
        raise OSError("there is no such call here")
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def file(name, mode=0o755):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode))
    return name


def must_have_bit(name):
    if not os.lstat(name).st_mode & 0o6000:
        raise OSError("it was left out")


@attempt
def chmod_setuid():
    os.chmod(file("p1"), 0o4755)


@attempt
def chmod_setgid():
    os.chmod(file("p2"), 0o2755)


@attempt
def chmod_old_call():
    call("chmod", file("p3").encode(), 0o4755)


@attempt
def fchmod_setuid():
    os.fchmod(os.open(file("p4"), os.O_RDONLY), 0o6755)


@attempt
def fchmodat_setuid():
    call("fchmodat", -100, file("p5").encode(), 0o4755)


@attempt
def fchmodat2_setuid():
    call("fchmodat2", -100, file("p6").encode(), 0o4755, 0)


@attempt
def create_setuid():
    must_have_bit(file("p7", 0o4755))


@attempt
def creat_setuid():
    call("creat", b"p8", 0o4755)
    must_have_bit("p8")


@attempt
def old_open_setuid():
    call("open", b"p9", os.O_CREAT | os.O_WRONLY, 0o4755)
    must_have_bit("p9")


@attempt
def unnamed_file_setuid():
    descriptor = os.open(".", O_TMPFILE | os.O_WRONLY, 0o4755)
    os.link(f"/proc/self/fd/{descriptor}", "p10")


@attempt
def openat2_setuid():
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    call("openat2", -100, b"p11", how, 24)
    must_have_bit("p11")


@attempt
def mknod_setuid():
    os.mknod("p12", 0o104755)
    must_have_bit("p12")


@attempt
def mknod_old_call():
    call("mknod", b"p13", 0o104755, 0)


@attempt
def install_setuid():
    subprocess.run(["install", "-m", "4755", "/bin/true", "p14"], check=True, capture_output=True)
    must_have_bit("p14")


@attempt
def copy_with_bits():
    source = next(path for path in ("/usr/bin/passwd", "/usr/bin/su", "/usr/bin/mount") if os.path.exists(path))
    if not os.stat(source).st_mode & 0o4000:
        raise OSError("nothing to copy here")
    shutil.copy(source, "p15")
    os.chmod("p15", os.stat(source).st_mode & 0o7777)


@attempt
def folder_setgid():
    os.mkdir("p16")
    os.chmod("p16", 0o2755)


@attempt
def file_capability():
    os.setxattr(file("p17"), "security.capability", struct.pack("<IIIII", 0x02000001, 0xFFFFFFFF, 0, 0, 0))


@attempt
def device_file():
    os.mknod("p18", 0o060644, os.makedev(8, 0))


@attempt
def session_keyring():
    call("keyctl", 0, -3, 0, 0, 0)


@attempt
def key_by_search():
    call("keyctl", 10, -3, b"user", GIVEN["key"].encode(), 0)


@attempt
def key_added():
    call("add_key", b"user", b"x", b"y", 1, -3)


@attempt
def key_requested():
    call("request_key", b"user", GIVEN["key"].encode(), None, -3)


@attempt
def keys_listed():
    with open("/proc/keys") as keys:
        if not keys.read():
            raise OSError("empty")


@attempt
def bpf():
    call("bpf", 0, (ctypes.c_uint32 * 32)(1, 4, 4, 1), 72)


@attempt
def perf_event_open():
    call("perf_event_open", (ctypes.c_uint32 * 32)(1, 112), 0, -1, -1, 0)


@attempt
def io_uring():
    call("io_uring_setup", 4, (ctypes.c_uint32 * 30)())


@attempt
def io_uring_enter_known():
    try:
        call("io_uring_enter", -1, 0, 0, 0, None, 0)
    except OSError as error:
        if error.errno in (9, 95):  # it was looked at
            return
        raise


@attempt
def userfaultfd():
    call("userfaultfd", 1)


@attempt
def traced():
    call("ptrace", 0, 0, 0, 0)


@attempt
def attach_to_parent():
    call("ptrace", 16, os.getppid(), 0, 0)


@attempt
def memory_of_parent():
    call("process_vm_readv", os.getppid(), None, 0, None, 0, 0)


@attempt
def write_memory_of_parent():
    call("process_vm_writev", os.getppid(), None, 0, None, 0, 0)


@attempt
def descriptor_of_parent():
    call("pidfd_getfd", os.pidfd_open(os.getppid()), 0, 0)


@attempt
def compare_processes():
    call("kcmp", os.getpid(), os.getppid(), 1, 0, 0)


def made_socket(family, kind=socket.SOCK_DGRAM, protocol=0):
    socket.socket(family, kind, protocol).close()


for _name, _family, _kind in (
    ("vsock", 40, socket.SOCK_STREAM),
    ("crypto_socket", 38, socket.SOCK_SEQPACKET),
    ("packet_socket", 17, socket.SOCK_RAW),
    ("bluetooth_socket", 31, socket.SOCK_RAW),
    ("tipc_socket", 30, socket.SOCK_SEQPACKET),
    ("rxrpc_socket", 33, socket.SOCK_DGRAM),
    ("xdp_socket", 44, socket.SOCK_RAW),
    ("can_socket", 29, socket.SOCK_RAW),
    ("key_socket", 15, socket.SOCK_RAW),
    ("smc_socket", 43, socket.SOCK_STREAM),
):
    ATTEMPTS[_name] = lambda family=_family, kind=_kind: made_socket(family, kind)


@attempt
def raw_socket():
    made_socket(socket.AF_INET, socket.SOCK_RAW, 1)


@attempt
def netlink_audit():
    made_socket(16, socket.SOCK_RAW, 9)


@attempt
def netlink_filter():
    made_socket(16, socket.SOCK_RAW, 12)


@attempt
def namespace_by_unshare():
    call("unshare", 0x10000000)


@attempt
def namespace_by_clone():
    call("clone", 0x10000000 | 17, 0, 0, 0, 0)


@attempt
def namespace_by_clone3():
    arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
    if call("clone3", arguments, 88) == 0:
        os._exit(0)


@attempt
def namespace_of_another():
    call("setns", os.open("/proc/1/ns/user", os.O_RDONLY), 0)


@attempt
def mount_call():
    call("mount", b"none", b"/tmp", b"tmpfs", 0, None)


@attempt
def new_mount_calls():
    call("fsopen", b"tmpfs", 0)


@attempt
def tree_cloned():
    call("open_tree", -100, b"/", 1)


@attempt
def mount_changed():
    call("mount_setattr", -100, b"/usr", 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)


@attempt
def unmount():
    call("umount2", b"/proc", 2)


@attempt
def pivot():
    call("pivot_root", b".", b".")


@attempt
def change_root():
    os.chroot(".")


@attempt
def file_by_handle():
    call("open_by_handle_at", -100, (ctypes.c_uint32 * 40)(8, 1), 0)


@attempt
def watch_everything():
    call("fanotify_init", 0, 0)


@attempt
def kernel_module():
    call("init_module", b"", 0, b"")


@attempt
def other_kernel():
    call("kexec_load", 0, 0, 0, 0)


@attempt
def kernel_log():
    call("syslog", 3, ctypes.create_string_buffer(100), 100)


@attempt
def host_name():
    call("sethostname", b"other", 5)


@attempt
def quotas():
    call("quotactl", 0x800001, None, 0, None)


@attempt
def call_of_the_future():
    try:
        call(500)
    except OSError as error:
        if error.errno != 38:
            return
        raise


@attempt
def typed_into_terminal():
    _, slave = os.openpty()
    fcntl.ioctl(slave, 0x5412, array.array("b", b"x"))


@attempt
def socket_in_workspace():
    socket.socket(socket.AF_UNIX).connect("server.sock")


@attempt
def socket_in_a_folder():
    socket.socket(socket.AF_UNIX).connect("deep/er/server.sock")


@attempt
def socket_without_a_file():
    socket.socket(socket.AF_UNIX).connect("\0" + GIVEN["abstract"])


@attempt
def loopback():
    socket.create_connection(("127.0.0.1", GIVEN["port"]), 3).close()


@attempt
def loopback_by_name():
    socket.create_connection(("localhost", GIVEN["port"]), 3).close()


@attempt
def address_of_this_machine():
    socket.create_connection((GIVEN["own"], GIVEN["port"]), 3).close()


@attempt
def metadata_address():
    socket.create_connection(("169.254.169.254", 80), 2).close()


@attempt
def signal_to_somebody_outside():
    os.kill(GIVEN["pid"], 0)


def main():
    for name, function in ATTEMPTS.items():
        pid = os.fork()
        if pid == 0:
            try:
                function()
            except (OSError, subprocess.CalledProcessError, StopIteration):
                os._exit(1)
            except BaseException as error:  # noqa: BLE001 - a broken attempt must not look like a refused one
                print(f"{name}: broken: {error!r}", flush=True)
                os._exit(2)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(f"{name}: {'refused' if status >> 8 == 1 else f'done ({status})'}", flush=True)


main()

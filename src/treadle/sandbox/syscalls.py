"""The system calls that a command is refused, with their numbers on each architecture. Data; `seccomp` builds a filter from it."""

from errno import EAFNOSUPPORT, ENOSYS, EPERM

from msgspec import Struct

LAST_KNOWN = 469  # the newest call that was looked at; a newer one might do again what an older one is refused

# name: (x86-64, aarch64); None where the architecture has no such call
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "creat": (85, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "nfsservctl": (180, 42),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}

DENIED: dict[str, int] = {
    **dict.fromkeys(("keyctl", "add_key", "request_key"), EPERM),
    **dict.fromkeys(("bpf", "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "process_vm_writev"), EPERM),
    **dict.fromkeys(("pidfd_getfd", "kcmp", "fanotify_init", "open_by_handle_at", "lookup_dcookie", "syslog"), EPERM),
    **dict.fromkeys(("mount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "open_tree_attr", "move_mount"), EPERM),
    **dict.fromkeys(("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "quotactl", "quotactl_fd", "nfsservctl"), EPERM),
    **dict.fromkeys(("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot"), EPERM),
    **dict.fromkeys(("acct", "swapon", "swapoff", "settimeofday", "clock_settime", "sethostname", "setdomainname"), EPERM),
    **dict.fromkeys(("vhangup", "iopl", "ioperm", "modify_ldt"), EPERM),
    # Their arguments lie in memory, where a filter can't look; programs go on with the older call.
    **dict.fromkeys(("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"), ENOSYS),
}


class DeniedBits(Struct, frozen=True):
    """A call that is refused where an argument has one of these bits; with `when`, only where another argument has one of those."""

    name: str
    argument: int
    bits: int
    when: tuple[int, int] | None = None


class DeniedValues(Struct, frozen=True):
    """A call that is refused where an argument has one of these values."""

    name: str
    argument: int
    values: tuple[int, ...]


class AllowedFamilies(Struct, frozen=True):
    """A call that creates sockets, and the families that it may create."""

    name: str
    allowed: tuple[int, ...]
    error: int = EAFNOSUPPORT


SET_ID = 0o6000
CREATES = 0o20000100  # O_CREAT and the bit that O_TMPFILE adds
NAMESPACES = 0x7E020000
TIME_NAMESPACE = 0x80  # of `unshare` only: for `clone` it is a part of the signal
TERMINAL = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into the terminal
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

BITS = (
    DeniedBits("chmod", 1, SET_ID),
    DeniedBits("fchmod", 1, SET_ID),
    DeniedBits("fchmodat", 2, SET_ID),
    DeniedBits("fchmodat2", 2, SET_ID),
    DeniedBits("creat", 1, SET_ID),
    DeniedBits("mknod", 1, SET_ID),
    DeniedBits("mknodat", 2, SET_ID),
    DeniedBits("open", 2, SET_ID, when=(1, CREATES)),
    DeniedBits("openat", 3, SET_ID, when=(2, CREATES)),
    DeniedBits("clone", 0, NAMESPACES),
    DeniedBits("unshare", 0, NAMESPACES | TIME_NAMESPACE),
)
VALUES = (DeniedValues("ioctl", 1, TERMINAL),)
SOCKETS = (AllowedFamilies("socket", (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)), AllowedFamilies("socketpair", (AF_UNIX,)))

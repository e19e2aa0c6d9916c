"""The bubblewrap command line of a sandbox. Pure: the facts about the system are passed in as a value.

As root a read-only bind alone can be remounted; it is the user namespace and the dropped capabilities that hold.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from treadle.sandbox.values import Bwrap, HostSystem, InheritedFds, SandboxSpec

HOME = "/tmp/home"  # noqa: S108 - inside the sandbox, in a file system of its own
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
USER = 1000  # who root is inside
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "HOME": HOME,
    "TMPDIR": "/tmp",  # noqa: S108 - as above
    "USER": "worker",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
PROXY_PORT = 47128  # in a network namespace without other listeners
PROXY_ENVIRONMENT = {
    **{
        name: f"http://127.0.0.1:{PROXY_PORT}"
        for word in ("http_proxy", "https_proxy", "all_proxy")
        for name in (word, word.upper())
    },
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
    "NODE_USE_ENV_PROXY": "1",
}


def build_arguments(
    bwrap: Bwrap,
    host: HostSystem,
    place: SandboxSpec,
    command: Sequence[str],
    *,
    files: InheritedFds,
    env: Mapping[str, str],
    scratch: int,
) -> list[str]:
    """Return the whole command line. `scratch` is how many bytes of memory temporary files may take."""
    return [
        str(bwrap.path),
        *_namespace_arguments(bwrap, host),
        *_environment_arguments(bwrap, {**(PROXY_ENVIRONMENT if place.network else {}), **env}),
        *_root_arguments(host),
        *_system_file_arguments(host, files),
        *_tmpfs_arguments(bwrap, scratch),
        *_workspace_arguments(host, place),
        *_mask_arguments(host, place),
        *_seal_arguments(),
        *_seccomp_arguments(bwrap, files),
        *("--json-status-fd", str(files.status), "--block-fd", str(files.go)),
        *("--chdir", path_in_sandbox(place, place.workspace), "--", *command),
    ]


def map_identity(host: HostSystem) -> tuple[int, int]:
    """Return user and group ID inside the sandbox; root is mapped to an ordinary user."""
    return host.uid or USER, host.gid or USER


def synthesize_etc(host: HostSystem) -> dict[str, str]:
    """Return files of /etc that reveal nothing about the real system."""
    user, group = map_identity(host)
    return {
        "/etc/passwd": f"worker:x:{user}:{group}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        "/etc/group": f"worker:x:{group}:\nnogroup:x:65534:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    }


def _namespace_arguments(bwrap: Bwrap, host: HostSystem) -> list[str]:
    user, group = map_identity(host)
    return [
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net"),
        *_if_supported(bwrap, "--disable-userns"),
        *("--uid", str(user), "--gid", str(group), "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--die-with-parent", "--new-session"),
    ]


def _environment_arguments(bwrap: Bwrap, env: Mapping[str, str]) -> list[str]:
    """Set the environment. Bubblewrap itself is started without one, so an old one that can't clear it has nothing to pass on."""
    pairs = (ENVIRONMENT | dict(env)).items()
    return [*_if_supported(bwrap, "--clearenv"), *(word for name, value in pairs for word in ("--setenv", name, value))]


def _root_arguments(host: HostSystem) -> list[str]:
    links = dict(host.links)
    words: list[str] = []
    for path in SYSTEM_FOLDERS:
        words += ["--symlink", links[path], path] if path in links else ["--ro-bind-try", path, path]
    return [*words, "--proc", "/proc", "--dev", "/dev"]


def _system_file_arguments(host: HostSystem, files: InheritedFds) -> list[str]:
    data = (word for number, path in files.data for word in ("--ro-bind-data", str(number), path))
    return [*data, *(word for path in host.settings for word in ("--ro-bind-try", path, path))]


def _tmpfs_arguments(bwrap: Bwrap, scratch: int) -> list[str]:
    size = ["--size", str(scratch)] if "--size" in bwrap.options else []
    return [*size, "--tmpfs", "/tmp", "--dir", HOME, *size, "--tmpfs", "/dev/shm"]  # noqa: S108 - inside the sandbox


def _workspace_arguments(host: HostSystem, place: SandboxSpec) -> list[str]:
    """Bind the workspace last, so that it is writable even where it lies in a read-only folder."""

    def bind(option: str, *paths: Path) -> list[str]:
        return [word for path in paths for word in (option, str(path), path_in_sandbox(place, path))]

    words = [*bind("--ro-bind", *place.extra_read), *bind("--bind", *place.extra_write)]
    words += bind("--bind" if place.writable else "--ro-bind", place.workspace)
    if place.writable and host.repository is not None:
        words += bind("--bind", host.repository)  # a mount can't be moved away and replaced
    words += [*bind("--ro-bind", *host.fixed), *bind("--ro-bind-try", *host.repositories)]  # the person may delete one
    for path in host.environment:
        above = [folder for folder in reversed(path.parents) if place.workspace in folder.parents]
        words += [*bind("--bind", *above), *bind("--ro-bind", path)]  # nor can what it lies in be moved
    return [*words, *bind("--ro-bind", *host.shared)]


def path_in_sandbox(place: SandboxSpec, path: Path) -> str:
    """Return where a command sees a path: in a private copy, at the path that it has in the project."""
    if place.project is None or not is_within(path, place.workspace):
        return str(path)
    return str(place.project / path.relative_to(place.workspace))


def _mask_arguments(host: HostSystem, place: SandboxSpec) -> list[str]:
    words: list[str] = []
    for mask in host.masks:
        path = path_in_sandbox(place, mask.path)
        words += ["--tmpfs", path, "--remount-ro", path] if mask.folder else ["--ro-bind", "/dev/null", path]
    return words


def _seal_arguments() -> list[str]:
    """Remount read-only. Root's kernel settings need no capability, only root: one of them names a program that runs outside."""
    return [word for path in ("/proc", "/dev", "/") for word in ("--remount-ro", path)]


def _seccomp_arguments(bwrap: Bwrap, files: InheritedFds) -> list[str]:
    option = next((name for name in ("--add-seccomp-fd", "--seccomp") if name in bwrap.options), None)
    return [] if files.filter is None or option is None else [option, str(files.filter)]


def _if_supported(bwrap: Bwrap, option: str) -> list[str]:
    return [option] if option in bwrap.options else []


def is_within(path: Path, *folders: Path) -> bool:
    """Return whether a path is one of the folders or lies in one."""
    return any(path == folder or folder in path.parents for folder in folders)

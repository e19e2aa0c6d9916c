"""Vendor KaTeX, which typesets the formulas on pages: `python scripts/vendor.py`, with npm. Another package than this is refused.

Only the script is taken, without fonts and style sheets: pages have it write MathML, which browsers draw by themselves.
"""

import base64
import hashlib
import json
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

NAME, VERSION, LICENSE = "katex", "0.19.1", "MIT"
# of the package, as lock files of npm have it:
INTEGRITY = "sha512-jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA=="
FILES = {"package/dist/katex.min.js": "katex.min.js", "package/LICENSE": "LICENSE"}
TARGET = Path(__file__).parents[1] / "src" / "treadle" / "server" / "static" / NAME


def main() -> None:
    """Fetch the package, check it, and write its files with a list of their hashes."""
    with TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{NAME}@{VERSION}"], cwd=folder, check=True)  # noqa: S603, S607 - the npm on PATH
        package = Path(folder) / f"{NAME}-{VERSION}.tgz"
        found = f"sha512-{base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()}"
        if found != INTEGRITY:
            raise SystemExit(f"{NAME} {VERSION} is {found}, not {INTEGRITY}.")
        with tarfile.open(package) as archive:
            contents = {name: archive.extractfile(path).read() for path, name in FILES.items()}  # type: ignore[union-attr]
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (TARGET / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    about = {"name": NAME, "version": VERSION, "license": LICENSE, "integrity": INTEGRITY, "sha256": hashes}
    (TARGET / "vendored.json").write_text(f"{json.dumps(about, indent=2)}\n", encoding="utf-8")
    print(f"{NAME} {VERSION}: {', '.join(hashes)}")


if __name__ == "__main__":
    main()

"""Real files to read, of many languages: out of Python's own library and of packages that npm and pip fetch.

None of them is kept here. Packages are fetched once into a folder of the caller's.
"""

import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGES = {
    "commander@14.0.3": ("lib/command.js", "lib/help.js"),
    "express@5.1.0": ("lib/response.js",),
    "zod@4.1.0": ("src/v4/core/json-schema.ts", "src/v4/core/util.ts", "src/v4/core/checks.ts"),
    "@capacitor/android@7.4.0": (
        "capacitor/src/main/java/com/getcapacitor/Bridge.java",
        "capacitor/src/main/java/com/getcapacitor/plugin/util/HttpRequestHandler.java",
    ),
    "@capacitor/ios@7.4.0": ("Capacitor/Capacitor/CapacitorBridge.swift", "Capacitor/Capacitor/WebViewAssetHandler.swift"),
    "react-native-screens@4.16.0": (
        "android/src/main/java/com/swmansion/rnscreens/ScreenStack.kt",
        "android/src/main/java/com/swmansion/rnscreens/ScreenStackFragment.kt",
        "android/src/main/java/com/swmansion/rnscreens/Screen.kt",
    ),
    "tree-sitter@0.25.0": ("vendor/tree-sitter/lib/src/parser.c", "vendor/tree-sitter/lib/src/subtree.c", "src/node.cc"),
    "@serialport/bindings-cpp@13.0.1": ("src/serialport_unix.cpp", "src/serialport_win.cpp"),
}
LIBRARY = ("argparse.py", "zipfile.py", "shutil.py", "csv.py", "heapq.py")  # of Python itself
SHORTEST, LONGEST = 200, 3000  # lines


def files(folder: Path) -> Iterator[Path]:
    """The files, fetched into `folder` where they aren't there yet. What can't be fetched is left out."""
    library = Path(sysconfig.get_path("stdlib"))
    wanted = [library / name for name in LIBRARY]
    for package, names in PACKAGES.items():
        home = fetch_package(f"npm:{package}", folder)
        wanted += [home / name for name in names] if home else []
    for path in wanted:
        if path.is_file() and SHORTEST <= path.read_text("utf-8", "replace").count("\n") <= LONGEST:
            yield path


def fetch_package(package: str, folder: Path) -> Path | None:
    """Fetch and unpack `npm:NAME@VERSION`, `wheel:NAME==VERSION` or `sdist:NAME==VERSION`; None where that can't be done."""
    kind, _, name = package.partition(":")
    home = folder / name.replace("/", "+")
    if not home.exists():
        home.mkdir(parents=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(home), name]
        commands = {
            "npm": ["npm", "pack", "--silent", name, "--pack-destination", str(home)],
            "wheel": pip,
            "sdist": [*pip, "--no-binary", ":all:"],
        }
        subprocess.run(commands[kind], capture_output=True, check=False)
        for archive in list(home.iterdir()):
            _unpack(archive, home)
    inside = [path for path in home.iterdir() if path.is_dir()]
    if not inside:
        home.rmdir()
        return None
    return home if kind == "wheel" else inside[0]


def _unpack(archive: Path, home: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(home)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(home, filter="data")
    archive.unlink()

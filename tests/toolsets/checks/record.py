"""Makes the recordings again: every project of `projects`, really run, without a sandbox, which would take the colours away.

    cd tests && ../.venv/bin/python -m toolsets.checks.record [RUNNER[:NAME] ...]

Without arguments all runners of this machine are recorded; jest, vitest and mocha are installed from the registry. To record
another version put it first on PATH and give it a NAME: `go:go1.27` writes go1.27-pass.txt and so on. What is installed can be
told by version, `jest:jest27@27`, and a Python by its path, `unittest:unittest3.8@/…/bin/python3`. The first line of a recording
is the exit code; paths of this machine are replaced by neutral ones.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from toolsets.checks.projects import PROJECTS, bare_python, put
from treadle.sandbox.bubblewrap import ENVIRONMENT
from treadle.toolsets.checks.commands import CheckCommand, build_check_command
from treadle.toolsets.checks.values import CheckSelection

RECORDED = Path(__file__).parent / "recorded"
INSTALLED = ("jest", "vitest", "mocha")
COLOURED = ("pytest", "cargo", "jest", "vitest", "mocha", "spec")  # go and unittest have no colours, TAP is for machines
COLOURS = {"FORCE_COLOR": "1", "PY_COLORS": "1", "CARGO_TERM_COLOR": "always", "TERM": "xterm-256color"}


def main() -> None:
    for word in sys.argv[1:] or PROJECTS:
        kind, _, label = word.partition(":")
        name, _, version = label.partition("@")
        with TemporaryDirectory() as folder:
            modules = installed(Path(folder), kind, version) if kind in INSTALLED else None
            for case in PROJECTS[kind]:
                record(kind, name or kind, case, case, modules, version)
            if kind in COLOURED and not name:
                record(kind, kind, "fail", "colour", modules)


def record(kind: str, name: str, project: str, case: str, modules: Path | None, version: str = "") -> None:
    with TemporaryDirectory() as folder:
        root = put(Path(folder).resolve() / "project", PROJECTS[kind][project])
        if kind == "unittest":
            bare_python(root, version)
        if modules is not None:
            (root / "node_modules").symlink_to(modules)
        line = build_check_command(root, CheckSelection())
        code, text = run(line, root, colours=case == "colour")
        (RECORDED / f"{name}-{case}.txt").write_text(f"exit code {code}\n{neutral(text, root, modules)}")


def run(line: CheckCommand, root: Path, *, colours: bool) -> tuple[int, str]:
    env = ENVIRONMENT | {"HOME": str(root.parent)} | line.program.env
    words = line.words
    if colours:
        env = {key: value for key, value in (env | COLOURS).items() if key != "NO_COLOR"}
        words = (*words, "--", "--color", "always") if line.runner == "cargo" else words
    both = subprocess.STDOUT
    ran = subprocess.run(words, cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=both, check=False)
    return ran.returncode, ran.stdout.decode()


def installed(folder: Path, package: str, version: str) -> Path:
    env = os.environ | {"HOME": str(folder)}
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", f"{package}@{version}" if version else package]
    subprocess.run(words, cwd=folder, env=env, check=True)
    return folder / "node_modules"


def neutral(text: str, root: Path, modules: Path | None) -> str:
    """The text without paths of this machine."""
    text = text.replace(str(root), "/project")
    if modules is not None:
        text = re.sub(rf"[\w./-]*{re.escape(modules.parent.name)}/node_modules", "/elsewhere/node_modules", text)
    text = re.sub(r"/[\w./-]*(?=/lib/python3\.\d{1,2}/)", "/python", text)
    text = re.sub(r"/[\w./-]*(?=/src/(?:testing|runtime)/)", "/usr/lib/go", text)
    return text.replace(str(root.parent), "/elsewhere")


if __name__ == "__main__":
    main()

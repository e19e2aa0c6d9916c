"""Finds where assistants, toolsets or the server open a path without `treadle.files`: `make lint`, and a test.

Whatever a user, a model or a job can name or change is opened beneath a folder, as a regular file and without waiting. What opens
something else stands in `MAY`, with its reason. By names, without types: `workspace.read_bytes(…)` is the way itself.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "treadle"
FOLDERS = ("assistants", "checkpoints", "demo", "sandbox", "server", "toolsets")
FUNCTIONS = frozenset(
    ("open", "os.open", "io.open", "codecs.open", "os.walk", "os.fwalk", "os.scandir", "os.listdir", "os.path.realpath")
)
METHODS = frozenset(("open", "read_text", "read_bytes", "write_text", "write_bytes", "resolve", "iterdir", "rglob", "glob"))
OTHERS = frozenset(("owner.open", "self._runs.open", "service.open", "operation.open"))  # nothing that is a file
WAYS = frozenset(("workspace", "_workspace", "Workspace"))  # what opens beneath a folder
MAY = {
    "assistants/coding/agreed_checks.py": "its own file, in Treadle's own folder",
    "assistants/coding/job_environment.py": "writes what a model was asked into a job's own folder",
    "assistants/coding/session_changes.py": "its own file, in Treadle's own folder",
    "assistants/coding/review.py": "keeps the diff that is reviewed in a job's own folder",
    "assistants/coding/workspaces.py": "resolves the name of a folder, which `files.workspace_folders` then checks; opens nothing",
    "assistants/coding/sample.py": "writes a sample that comes with the package into a new folder",
    "assistants/coding/undo.py": "names the folder that the person is in",
    "assistants/courses/command.py": "names what was typed as the shelf does",
    "assistants/courses/library.py": "names what was added as the shelf does",
    "assistants/courses/course_folders.py": "its own file, in Treadle's own folder",
    "assistants/guidance/store/database.py": "its own database",
    "assistants/platform/command.py": "writes a spec where the person who typed it says",
    "demo/platform/": "a platform of its own, for trying things out, in Treadle's own folder",
    "assistants/platform/settings.py": "credentials of the person, in their home",
    "assistants/reading/debug_report.py": "writes its own reports",
    "server/demo/": "samples and recordings that come with the package, and a folder of Treadle's own",
    "server/login.py": "a page that comes with the package",
    "server/stdio_lines.py": "a device of the system",
    "server/metrics.py": "what the system says of this process",
    "server/pages.py": "pages that come with the package",
    "server/runs/recovery.py": "its own lock, in Treadle's own folder",
    "checkpoints/checkpoints.py": "names the folder that was chosen, and Treadle's own",
    "checkpoints/git_runner.py": "looks for a program of the system",
    "checkpoints/listing.py": "writes rules of git's into Treadle's own folder",
    "checkpoints/restore.py": "writes beside a file and renames, by descriptors, following no link",
    "checkpoints/scan.py": "opens by descriptor, part by part, following no link",
    "checkpoints/store.py": "its own store, in Treadle's own folder",
    "toolsets/checks/commands.py": "a program that comes with the package; looks for names of tests, which the sandbox then runs",
    "toolsets/checks/runners.py": "looks for programs of the system and for names of tests, which the sandbox then runs",
    "toolsets/diagnostics/client.py": "looks for programs of the system",
    "toolsets/git/": "finds out where a repository is; writes into a folder of its own",
    "toolsets/mcp/offers.py": "its own file, in Treadle's own folder",
    "toolsets/mcp/transport.py": "a device of the system",
    "sandbox/": "what the system has, by fixed paths, and the workspace's own folder, for bubblewrap to hold",
    "toolsets/shell.py": "names the folder that was chosen",
    "toolsets/workspace/scan.py": "a program of its own that runs in the sandbox's place; opens what the workspace listed",
}


def findings(source: Path = SOURCE) -> list[str]:
    """Where a path is opened otherwise, and what stands in `MAY` for nothing; a line each."""
    used: set[str] = set()
    found: list[str] = []
    for path in sorted(file for folder in FOLDERS for file in (source / folder).rglob("*.py")):
        name = path.relative_to(source).as_posix()
        uses = list(_uses(ast.parse(path.read_text())))
        reason = next((key for key in MAY if name == key or (key.endswith("/") and name.startswith(key))), None)
        if reason is None:
            found += [f"{name}:{line}: {call}: open it by treadle.files" for line, call in uses]
        elif uses:
            used.add(reason)
    return [*found, *[f"{key}: nothing is opened there; take it out of MAY" for key in MAY if key not in used]]


def _uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Functions that are called, and methods that are called or handed on to be."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in FUNCTIONS:
            yield node.lineno, ast.unparse(node.func)
        elif isinstance(node, ast.Attribute) and node.attr in METHODS and not (_is_way(node.value) or _is_other(node)):
            yield node.lineno, f"….{node.attr}"


def _is_other(attribute: ast.Attribute) -> bool:
    return ast.unparse(attribute) in OTHERS | FUNCTIONS


def _is_way(receiver: ast.expr) -> bool:
    """Whether what a method is called on is a workspace, by its name."""
    if isinstance(receiver, ast.Call):
        return _is_way(receiver.func)
    last = receiver.attr if isinstance(receiver, ast.Attribute) else receiver.id if isinstance(receiver, ast.Name) else ""
    return last in WAYS


if __name__ == "__main__":
    lines = findings()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.exit(bool(lines))

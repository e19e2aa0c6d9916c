"""Language servers that are installed: pyright for Python, typescript-language-server for TypeScript and JavaScript.

Nothing is installed or fetched. A server is a program of the system or of the project, and runs in the sandbox.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

_PYRIGHT = ("pyright", "dist", "langserver.index.js")
_TYPESCRIPT = ("typescript-language-server", "lib", "cli.mjs")
_TSSERVER = ("typescript", "lib", "tsserver.js")


class LanguageServer(Struct, frozen=True):
    """A language server.

    languages   the language of each file name extension, by the protocol's names
    command     the program and its arguments
    read        folders outside of the workspace that it needs
    options     its initialization options
    unresolved  the codes, as a pattern, of imports that it can't find: then types are unknown, and what it says of them no error
    certain     the codes, as a pattern, of errors that hold also then
    """

    name: str
    languages: dict[str, str]
    command: tuple[str, ...]
    read: tuple[Path, ...] = ()
    options: dict[str, object] = {}
    unresolved: str = r"reportMissingImports|2307|7016"
    certain: str = r"|reportUndefinedVariable|1\d{3}|2304|2552"


class ServerKind(Struct, frozen=True):
    """A language server that may be installed, and how."""

    name: str
    languages: dict[str, str]
    install: str


PYRIGHT = ServerKind("pyright", {".py": "python", ".pyi": "python"}, "pip install pyright, and install Node.js")
TYPESCRIPT = ServerKind(
    "typescript-language-server",
    {
        **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
        **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
        ".tsx": "typescriptreact",
        ".jsx": "javascriptreact",
    },
    "npm install -g typescript-language-server typescript",
)
KINDS = (PYRIGHT, TYPESCRIPT)


def find_language_servers(folder: Path) -> dict[str, LanguageServer]:
    """Return the installed language servers by the extensions of the files that they check."""
    node = shutil.which("node")
    if node is None:
        return {}
    found = [_find_pyright(node), _find_typescript(node, folder)]
    return {extension: server for server in found if server is not None for extension in server.languages}


def _find_pyright(node: str) -> LanguageServer | None:
    """Find pyright: its Python package, beside Treadle or elsewhere, has the server's program in it, and npm's is the same."""
    spec = find_spec("pyright")
    places = [Path(place) / Path(*_PYRIGHT[1:]) for place in (spec.submodule_search_locations or ())] if spec else []
    program = shutil.which("pyright-langserver")
    places += [Path(program).resolve()] if program else []
    script = next((place for place in places if place.suffix == ".js" and place.is_file()), None)
    if script is None:
        return None
    read = (script.parents[1], *_node_folders(node))
    return LanguageServer(PYRIGHT.name, PYRIGHT.languages, (node, str(script), "--stdio"), read)


def _find_typescript(node: str, folder: Path) -> LanguageServer | None:
    """Find typescript-language-server, the project's own or the system's. It needs `typescript` beside it or in the project."""
    program = shutil.which(TYPESCRIPT.name)
    modules = [folder / "node_modules", *([Path(program).resolve().parents[2]] if program else [])]
    for place in modules:
        script = place.joinpath(*_TYPESCRIPT)
        if script.is_file():
            checker = place.joinpath(*_TSSERVER)
            options: dict[str, object] = {"tsserver": {"fallbackPath": str(checker)}} if checker.is_file() else {}
            read = (*([] if place == modules[0] else [place]), *_node_folders(node))
            return LanguageServer(TYPESCRIPT.name, TYPESCRIPT.languages, (node, str(script), "--stdio"), read, options)
    return None


def _node_folders(node: str) -> tuple[Path, ...]:
    """Return the folder of Node.js where the sandbox doesn't show it anyway."""
    folder = Path(node).resolve().parents[1]
    return () if folder.is_relative_to("/usr") or folder == Path("/") else (folder,)

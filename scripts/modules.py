"""Writes the tables of modules in ARCHITECTURE.md from the first line of each module's docstring: `make modules`.

A test compares them, so that the page can't fall behind.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "treadle"
START, END = "<!-- modules: written by scripts/modules.py -->", "<!-- end of modules -->"
FOLDERS = (
    "core",
    "loop",
    "dialects",
    "tools",
    "guard",
    "files",
    "engine",
    "models",
    "toolsets",
    "stores",
    "routes",
    "app",
    "assistants",
    "server",
    "cli",
)


def first_line(path: Path) -> str:
    """What a module says of itself."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def table(folder: str) -> str:
    """One folder's modules, a line each."""
    home = SOURCE / folder
    modules = [path for path in sorted(home.rglob("*.py"), key=_order) if path != home / "__init__.py"]
    rows = "\n".join(f"| `{_shown(path)}` | {first_line(path)} |" for path in modules)
    return f"### {folder}\n\n{first_line(SOURCE / folder / '__init__.py')}\n\n| | |\n|---|---|\n{rows}"


def _order(path: Path) -> tuple[Path, str]:
    """A folder's own modules come before those of the folders in it; what it says of itself comes first."""
    return path.parent, "" if path.name == "__init__.py" else path.name


def _shown(path: Path) -> str:
    name = path.relative_to(SOURCE).as_posix()
    return name.removesuffix("__init__.py")


def page(text: str) -> str:
    """The page with its tables as they should be."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    tables = "\n\n".join(table(folder) for folder in FOLDERS)
    return f"{before}{START}\n\n{tables}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))

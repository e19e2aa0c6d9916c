"""Write docs/modules.md, a table of all modules, from the first line of each module's docstring: `make modules`.

A test compares them, so that the page can't fall behind.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "modules.md"
SOURCE = ROOT / "src" / "treadle"
HEAD = """\
# Modules

Every module in one line, written by `make modules`. [Architecture](../ARCHITECTURE.md) says how they fit together.
"""


def page() -> str:
    """Return the page as it should be."""
    packages = sorted(path.parent for path in SOURCE.glob("*/__init__.py"))
    single = [path for path in sorted(SOURCE.glob("*.py")) if path.name != "__init__.py"]
    return "\n\n".join([HEAD.rstrip(), f"## treadle\n\n{_rows(single)}", *map(table, packages)]) + "\n"


def table(package: Path) -> str:
    """Return the section of one package: its own modules before those of the packages in it."""
    modules = [path for path in sorted(package.rglob("*.py"), key=_order) if path != package / "__init__.py"]
    return f"## {package.name}\n\n{first_line(package / '__init__.py')}\n\n{_rows(modules)}"


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def _rows(modules: list[Path]) -> str:
    rows = "\n".join(f"| `{_name(path)}` | {first_line(path)} |" for path in modules)
    return f"| | |\n|---|---|\n{rows}"


def _order(path: Path) -> tuple[Path, str]:
    return path.parent, "" if path.name == "__init__.py" else path.name


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix().removesuffix("__init__.py")


if __name__ == "__main__":
    PAGE.write_text(page())

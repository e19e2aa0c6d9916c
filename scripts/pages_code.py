"""Writes the Python of the pages into `build/pages`, a file for each block, for the type checkers: `make types`.

The lines of a file have the numbers that they have in the page, so that a report names the place to change.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "pages"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks() -> Iterator[tuple[str, str]]:
    """Yield the name and text of a module for each block."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text()
        for number, found in enumerate(BLOCK.finditer(text), 1):
            name = re.sub(r"\W", "_", page.stem).lower()
            yield f"{name}_{number}.py", "\n" * text.count("\n", 0, found.start(1)) + found[1]


def write(folder: Path) -> int:
    """Write the modules into an empty folder; return how many there are."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return len([(folder / name).write_text(text) for name, text in blocks()])


if __name__ == "__main__":
    print(f"{write(FOLDER)} blocks of the pages are in {FOLDER.relative_to(ROOT)}")

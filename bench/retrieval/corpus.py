"""Ten thousand documents to index: Markdown files made of the docstrings of Python's standard library, the same in every run."""

import ast
import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SHORTEST = 60  # characters of a paragraph worth having


def paragraphs() -> list[str]:
    """The paragraphs of all docstrings, each once."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        for docstring in _docstrings(path):
            found.update((one, None) for part in docstring.split("\n\n") if len(one := " ".join(part.split())) >= SHORTEST)
    return list(found)


def _docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def write(folder: Path, documents: int, texts: list[str]) -> int:
    """Leave that many files behind, each of four sections of paragraphs; how many bytes they are together."""
    chance, size = random.Random(7), 0
    for number in range(documents):
        parts = [f"# {_words(chance, texts)} {number}"]
        for _ in range(4):
            parts.append(f"## {_words(chance, texts)}")
            parts += [chance.choice(texts) for _ in range(3)]
        path = folder / f"{number % 100:02}" / f"{number:05}.md"
        path.parent.mkdir(exist_ok=True)
        size += path.write_bytes("\n\n".join(parts).encode())
    return size


def questions(count: int, texts: list[str]) -> list[str]:
    """Questions: a few words in a row out of some paragraph."""
    chance, found = random.Random(8), list[str]()
    for _ in range(count):
        words = chance.choice(texts).split()
        start = chance.randrange(max(1, len(words) - 8))
        found.append("how does " + " ".join(words[start : start + chance.randint(2, 7)]))
    return found


def _words(chance: random.Random, texts: list[str]) -> str:
    return " ".join(chance.choice(texts).split()[:4])

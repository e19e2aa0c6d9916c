"""The public surface: a short list of modules, each with its names, and nothing else is shown to users or used by assistants."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isroutine
from pathlib import Path

import pytest

import treadle

ROOT = Path(__file__).parents[2]
PUBLIC = {
    name: frozenset(import_module(name).__all__)
    for name in (
        "treadle",
        "treadle.assistant",
        "treadle.assistants.guidance.service",
        "treadle.demo.platform",
        "treadle.dialects",
        "treadle.errors",
        "treadle.evals",
        "treadle.events",
        "treadle.files",
        "treadle.journal",
        "treadle.models",
        "treadle.passages",
        "treadle.plans",
        "treadle.routes",
        "treadle.server",
        "treadle.steps",
        "treadle.testing",
        "treadle.toolsets",
        "treadle.web",
        "treadle.workers",
        "treadle.workspace",
    )
}
MOST_NAMES = 50  # of `treadle` itself: what a program with an agent needs
PAGES = [ROOT / "README.md", *(page for page in sorted(ROOT.glob("docs/**/*.md")) if "decisions" not in page.parts)]
EXAMPLES = sorted(ROOT.glob("examples/**/*.py"))
ASSISTANTS = sorted(ROOT.glob("src/treadle/assistants/**/*.py"))


def imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield every module of Treadle that is imported, with the name that is taken from it, or none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)


def internal(source: str, own: str = "-") -> list[str]:
    """Return the imports that aren't public, without those of the package `own`."""
    used = [(module, name) for module, name in imports(source) if re.match(r"treadle(\.|$)", module)]
    foreign = [(module, name) for module, name in used if module != own and not module.startswith(f"{own}.")]
    return [f"{module}:{name}" for module, name in foreign if not is_public(module, name)]


def is_public(module: str, name: str) -> bool:
    return f"{module}.{name}" in PUBLIC or (module in PUBLIC and name in {"", *PUBLIC[module]})


def test_a_program_with_an_agent_needs_few_names():
    assert len(treadle.__all__) <= MOST_NAMES


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_has_a_docstring(module):
    values = {name: getattr(import_module(module), name) for name in PUBLIC[module]}
    assert [name for name, value in values.items() if (isclass(value) or isroutine(value)) and not value.__doc__] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_show_public_names_only(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert [each for block in blocks for each in internal(block)] == []


def test_examples_use_public_names_only():
    assert {path.name: names for path in EXAMPLES if (names := internal(path.read_text()))} == {}


def test_assistants_use_public_names_only():
    found = {str(path.relative_to(ROOT)): internal(path.read_text(), "treadle.assistants") for path in ASSISTANTS}
    assert {path: names for path, names in found.items() if names} == {}


def test_what_is_not_public_is_found():
    source = "import treadle.core.events\nfrom treadle import Agent, Engine, dialects\nfrom treadle.events import RunEnded, _Event"
    assert internal(source) == ["treadle.core.events:", "treadle:Engine", "treadle.events:_Event"]
    assert internal("import treadle_almanac\nfrom treadle.mine.a import b", "treadle.mine") == []


def test_the_architecture_names_every_public_module():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert [module for module in PUBLIC if f"`{module}`" not in text] == []


@pytest.mark.parametrize("folder", ["src", "bench", "scripts", "examples"])
def test_a_module_that_is_run_is_complete_before_it_runs(folder: str):
    """A name below `if __name__ == "__main__"` isn't defined yet when that runs, and no type checker says so."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        begins = [isinstance(each, ast.If) and "__name__" in ast.unparse(each.test) for each in body]
        assert not any(begins[:-1]), path
